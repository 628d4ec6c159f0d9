"""A Hugging Face Inference Endpoint: created, waited for, and torn down for certain, since it costs money."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..bucket import BucketPath
from ..errors import needing
from . import leases, schema
from .leases import WEB_ADDRESS, Lease, read_leases
from .targets import Endpoint, Target, TargetError, bearer

if TYPE_CHECKING:
    from huggingface_hub import HfApi, InferenceEndpoint


LONGEST_NAME = 32
POLL_S, CHECK_S, BACKOFF_S = 5.0, 30.0, 2.0
ATTEMPTS = 5
STARTING = ("pending", "initializing", "updating")
SCALED_TO_ZERO = "scaledToZero"
AT_REST: Mapping[str, Literal["pause", "scale_to_zero"]] = {"paused": "pause", SCALED_TO_ZERO: "scale_to_zero"}
"""The states without a machine that is paid for, and how they are asked for."""
NOT_FOUND, CONFLICT, SERVER_ERRORS = 404, 409, 500
_NO_ANSWER = (KeyError, TypeError, ValueError)
"""What huggingface_hub raises where an answer with status 200 is not of the service's form."""


class HFEndpoint(Target):
    """An endpoint that is made for the benchmark, or is there, as *spec* says; its lease is kept in *results*.

    And in the *bucket*, where results go there.
    """

    def __init__(
        self,
        spec: schema.HFEndpointTarget | schema.ExistingEndpointTarget,
        results: Path,
        usd_per_hour: float | None,
        bucket: BucketPath | None = None,
    ) -> None:
        self._spec, self._results, self._usd_per_hour, self._bucket = spec, results, usd_per_hour, bucket
        self._lease: Lease | None = None
        self._next_check = 0.0

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        spec = self._spec
        self._log, self._keep_on, self._headers = log, keep_on, bearer(spec.token_env)
        api = api_of(spec.token_env)
        namespace = spec.namespace or _namespace(api)
        if isinstance(spec, schema.ExistingEndpointTarget):
            found = _found(api, spec.name, namespace)
            if found is None:
                missing = f"there is no endpoint '{spec.name}' in {namespace}"
                raise TargetError(f"the endpoint '{spec.name}' can't be used: {missing}")
            name, repository = spec.name, str(found.repository)
            finally_, described = AT_REST.get(str(found.status), "leave"), {"existing": True, **_known(found.raw)}
        else:
            name, repository, finally_ = spec.name or _new_name(spec.repository), spec.repository, spec.finally_
            if _found(api, name, namespace) is not None:  # it is somebody's, and must not be torn down
                raise TargetError(
                    f"there is an endpoint '{name}' in {namespace} already: leave the name out, choose another, or say "
                    f"that this one may be used: target: {{existing_hf_endpoint: {{name: {name}}}}}"
                )
            described = spec.model_dump(mode="json", by_alias=True, exclude={"env", "token_env", "custom_image"})
            described |= {"custom_image": image["url"]} if (image := spec.custom_image) and "url" in image else {}
        self._lease = lease = Lease(
            name=name,
            namespace=namespace,
            repository=repository,
            finally_=finally_,
            token_env=spec.token_env,
            created=time.time(),
            usd_per_hour=self._usd_per_hour,
            path=self._results / leases.DIRECTORY / f"{namespace}__{name}.json",
            bucket=self._bucket,
        )
        if finally_ != "leave":
            leases.keep(lease)
        try:
            if isinstance(spec, schema.HFEndpointTarget):
                self._create(api, spec, lease)
            url = self._wait(api, lease)
        except BaseException:
            self.stop()
            raise
        self._next_check = time.monotonic() + CHECK_S
        return Endpoint(url=url, headers=self._headers, description={"kind": "hf_endpoint", **described, "name": name})

    def check(self) -> None:
        if self._lease is None or time.monotonic() < self._next_check:
            return
        lease = self._lease
        api = api_of(lease.token_env)
        try:
            state = str(api.get_inference_endpoint(lease.name, namespace=lease.namespace).status)
        except _http_errors():
            state = "running"  # the API may be away for a moment without the endpoint being so
        if state == SCALED_TO_ZERO:
            self._wait(api, lease)
        elif state not in ("running", *STARTING):
            raise TargetError(f"the endpoint '{lease.name}' is {state}")
        self._next_check = time.monotonic() + CHECK_S

    def stop(self) -> None:
        if self._lease is not None:
            if self._lease.finally_ != "leave":
                tear_down(self._lease)
            self._lease = None

    def _create(self, api: HfApi, spec: schema.HFEndpointTarget, lease: Lease) -> None:
        ours = {"repository", "name", "namespace", "finally_", "token_env", "ready_timeout_s"}
        options = {name: value for name, value in spec.model_dump(exclude=ours).items() if value not in (None, {})}
        try:
            api.create_inference_endpoint(lease.name, repository=lease.repository, namespace=lease.namespace, **options)
        except _http_errors() as error:
            if _status(error) == CONFLICT:  # somebody else's: it is not ours to tear down
                leases.forget(lease)
                self._lease = None
            raise TargetError(f"the endpoint '{lease.name}' could not be created: {_told(error)}") from error

    def _wait(self, api: HfApi, lease: Lease) -> str:
        """Wake the endpoint where it rests, and wait until it runs and the model behind it answers; its URL."""

        def url_or_state() -> tuple[str | None, str]:
            try:
                endpoint = api.get_inference_endpoint(lease.name, namespace=lease.namespace)
            except _http_errors() as error:
                return None, _told(error)
            state, url = str(endpoint.status), (endpoint.url or "").rstrip("/")
            if state in AT_REST:
                return None, self._wake(api, lease, state, url)
            if state not in (*STARTING, "running"):
                message = endpoint.raw.get("status", {}).get("message") or "no reason is given"
                raise TargetError(f"the endpoint '{lease.name}' is {state}: {message}")
            return (url or None) if state == "running" else None, state

        url = self._until(url_or_state, f"the endpoint '{lease.name}' was not ready")

        def answer() -> tuple[str | None, str]:
            status, said = self._ask(url)  # a gateway may still say 502 or 503 when the API says running
            return (url if status < SERVER_ERRORS else None), said

        return self._until(answer, f"{url} doesn't answer")

    def _wake(self, api: HfApi, lease: Lease, state: str, url: str) -> str:
        """A request wakes one that is scaled to zero, and only its owners one that is paused; what was done."""
        if state == SCALED_TO_ZERO and url:
            return f"{state}: {self._ask(url)[1]}"
        try:
            api.resume_inference_endpoint(lease.name, namespace=lease.namespace)
        except _http_errors() as error:
            if (_status(error) or SERVER_ERRORS) < SERVER_ERRORS:
                raise TargetError(
                    f"the endpoint '{lease.name}' is {state} and can't be resumed: {_told(error)}"
                ) from error
            return _told(error)
        return f"{state}: resumed"

    def _ask(self, url: str) -> tuple[int, str]:
        """The status of GET /health, 503 where nothing answers; that in words."""
        import httpx

        try:
            status = httpx.get(f"{url}/health", headers=self._headers, timeout=30.0, trust_env=False).status_code
        except httpx.HTTPError as error:
            return 503, type(error).__name__
        return status, f"GET /health answers {status}"

    def _until(self, ask: Callable[[], tuple[str | None, str]], otherwise: str) -> str:
        """Ask for a value until there is one; what is said in its place goes to the log."""
        timeout_s, said = float(self._spec.ready_timeout_s), ""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found, state = ask()
            if state != said:
                with self._log.open("a", encoding="utf-8") as stream:
                    stream.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {state}\n")
                said = state
            if found is not None:
                return found
            self._keep_on()
            pause_ends = time.monotonic() + POLL_S
            while (left_s := pause_ends - time.monotonic()) > 0:
                time.sleep(min(left_s, 0.5))
                self._keep_on()
        raise TargetError(f"{otherwise} after {timeout_s:.0f} s: {said}")


def tear_down(lease: Lease) -> str:
    """Delete or pause the endpoint of a lease, make sure of it, and remove the lease; a sentence on what happened.

    TargetError: it could not be confirmed. The lease stays, for the next attempt.
    """
    place = f"{WEB_ADDRESS}/{lease.namespace}/endpoints/{lease.name}"
    reason = ""
    try:
        api = api_of(lease.token_env)
    except TargetError as error:
        raise TargetError(f"the endpoint '{lease.name}' may still cost money ({place}): {error}") from error
    for attempt in range(ATTEMPTS):
        try:
            done = _try_to_end(api, lease)
        except _http_errors() as error:
            reason = _told(error)
        else:
            if done is not None:
                leases.forget(lease)
                return f"{done} endpoint '{lease.name}' ({lease.cost()})"
            reason = f"the service doesn't confirm that it will {lease.finally_} it"
        time.sleep(BACKOFF_S * attempt)
    raise TargetError(
        f"the endpoint '{lease.name}' may still cost money: {reason}. Look at {place}, or try again with "
        f"matbench benchmark --cleanup --results-dirname={lease.bucket or lease.path.parents[2]}"
    )


def cleanup(results: Path, bucket: BucketPath | None = None) -> list[str]:
    """Try to tear down all that the leases of *results*, and of a *bucket*, name.

    Gives a sentence for each, in a TargetError where one stays.
    """
    sentences: list[str] = []
    problems: list[str] = []
    for lease in read_leases(results, bucket):
        try:
            sentences.append(tear_down(lease))
        except TargetError as error:
            problems.append(str(error))
    if problems:
        raise TargetError("\n".join([*sentences, *problems]))
    return sentences


def api_of(token_env: str) -> HfApi:
    """The client of the service; TargetError if huggingface_hub is not installed, or there is no token."""
    token = bearer(token_env)["Authorization"].removeprefix("Bearer ")
    with needing("an Inference Endpoint", "benchmark", TargetError):
        from huggingface_hub import HfApi
    return HfApi(token=token)


def _try_to_end(api: HfApi, lease: Lease) -> str | None:
    """Ask for the end, and whether it has come: what happened, or None."""
    state = _state(api, lease)
    if state is None:
        return "already gone:"
    if lease.finally_ != "delete":
        ask = api.pause_inference_endpoint if lease.finally_ == "pause" else api.scale_to_zero_inference_endpoint
        if state not in AT_REST:
            ask(lease.name, namespace=lease.namespace)
        done = "paused" if lease.finally_ == "pause" else "scaled to zero"
        return done if _state(api, lease) in (None, *AT_REST) else None
    api.delete_inference_endpoint(lease.name, namespace=lease.namespace)
    return "deleted" if _state(api, lease) is None else None


def _state(api: HfApi, lease: Lease) -> str | None:
    """The endpoint's status; None if there is no such endpoint.

    A 404 alone doesn't say so: a token without rights gets one too. The namespace's own list has to be without it.
    """
    try:
        return str(api.get_inference_endpoint(lease.name, namespace=lease.namespace).status)
    except _http_errors() as error:
        if _status(error) != NOT_FOUND:
            raise
    listed = {endpoint.name: endpoint for endpoint in api.list_inference_endpoints(namespace=lease.namespace)}
    return str(listed[lease.name].status) if lease.name in listed else None


def _found(api: HfApi, name: str, namespace: str) -> InferenceEndpoint | None:
    """The endpoint of this name; None where there is none. TargetError: the service doesn't say."""
    try:
        return api.get_inference_endpoint(name, namespace=namespace)
    except _http_errors() as error:
        if _status(error) == NOT_FOUND:
            return None
        raise TargetError(f"the Inference Endpoints of {namespace} can't be used: {_told(error)}") from error


def _known(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of an endpoint that was found; its environment and secrets are its owner's."""
    model, compute, provider = (raw.get(part) or {} for part in ("model", "compute", "provider"))
    known = {name: model.get(name) for name in ("repository", "revision", "framework", "task")}
    known |= {"accelerator": compute.get("accelerator"), "instance_type": compute.get("instanceType")}
    known |= {
        "instance_size": compute.get("instanceSize"),
        **{name: provider.get(name) for name in ("vendor", "region")},
    }
    return {name: value for name, value in known.items() if value is not None}


def _namespace(api: HfApi) -> str:
    try:
        return str(api.whoami()["name"])
    except _http_errors() as error:
        raise TargetError(
            f"whose token it is can't be found out, so give target.hf_endpoint.namespace: {_told(error)}"
        ) from error


def _new_name(repository: str) -> str:
    """A name that nobody has: lower case letters, digits and dashes, at most 32 of them."""
    suffix = secrets.token_hex(4)
    model = re.sub(r"[^a-z0-9]+", "-", repository.rpartition("/")[2].lower()).strip("-")
    return f"mb-{model[: LONGEST_NAME - len(suffix) - 4].rstrip('-')}-{suffix}"


def _http_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises for an error of the service or of the network, or for an answer that is none."""
    from huggingface_hub.errors import HfHubHTTPError

    # Its bases are the HTTP library's own errors, whichever library that is in this version.
    return (HfHubHTTPError, *HfHubHTTPError.__bases__, *_NO_ANSWER)


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _told(error: Exception) -> str:
    """What the service said, in one line."""
    if isinstance(error, _NO_ANSWER):
        return f"the service gave an answer that can't be understood ({type(error).__name__}: {str(error)[:100]})"
    message = getattr(error, "server_message", None) or str(error).partition("\n")[0] or type(error).__name__
    status = _status(error)
    return f"{message} (status {status})" if status is not None and str(status) not in message else str(message)
