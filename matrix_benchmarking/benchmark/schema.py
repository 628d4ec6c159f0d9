"""The benchmark file as models: everything that may stand in it, validated, and its JSON Schema.

A value that is written as ``"{name}"``, or text that holds ``{name}``, takes the setting ``name`` of each point;
``file.fill`` puts it in.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from ..config import Section
from ..filters import Scalar

Template = Annotated[str, Field(pattern=r"^\{[^{}]+\}$")]
Seconds = Annotated[float, Field(gt=0)] | Template
LoadSeconds = Annotated[float, Field(ge=1)] | Template
"""k6 runs nothing for less than a second."""

WarmUpSeconds = Literal[0] | Annotated[float, Field(ge=1)] | Template
Count = Annotated[int, Field(gt=0)] | Template
Rate = Annotated[float, Field(gt=0)] | Template
Cores = list[Annotated[int, Field(ge=0)]] | str
Words = list[str] | str

PATTERNS = {r"^\{[^{}]+\}$": "a setting in braces, such as {batch_size}"}


class SearchRange(Section):
    """Where to look for the number of virtual users with the best throughput.

    Attributes:
        start, max: the first and the highest number of virtual users that may be tried.
        p95_ms: only those count whose 95th percentile of latency is at most this.
        max_measurements: give up after so many runs, repeats included.
    """

    start: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)] = 512
    p95_ms: Annotated[float, Field(gt=0)] | None = None
    max_measurements: Annotated[int, Field(ge=1)] | None = None

    @pydantic.model_validator(mode="after")
    def _in_order(self) -> SearchRange:
        if self.start > self.max:
            raise ValueError(f"a start of at most max ({self.max})")
        return self


class Search(Section):
    """``{search: {start: 1, max: 512}}`` in the place of a setting's values."""

    search: SearchRange


class UrlTarget(Section):
    """A server that is already running.

    Attributes:
        url: its address, without the route.
        api_key_env: the environment variable that holds its key, if it wants one.
    """

    url: str
    api_key_env: str | None = None


class ProcessTarget(Section):
    """A command that is started, and stopped after its points.

    Attributes:
        command: the command and its arguments; ``{port}`` stands for the port that it has to listen on.
        directory: where it is started, relative to the benchmark file.
        environment: environment variables, beside our own.
        port: a fixed port; a free one is chosen where left out.
        host: the address that it listens on.
        ready: the route that answers 200 once it is ready.
        ready_timeout_s: how long to wait for that.
        stop_timeout_s: how long it may take to end by itself before it is killed.
        cpus: the cores that it may use, as [0, 1] or "0,1".
        versions: a command that prints the versions of what is measured: a JSON object, or one line of text.
    """

    command: Annotated[list[str], Field(min_length=1)]
    directory: str | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    port: Annotated[int, Field(ge=1, le=65535)] | Template | None = None
    host: str = "127.0.0.1"
    ready: str = "/health"
    ready_timeout_s: Seconds = 120.0
    stop_timeout_s: Seconds = 10.0
    cpus: Cores | None = None
    versions: list[str] = Field(default_factory=list)


class HFEndpointTarget(Section):
    """A Hugging Face Inference Endpoint, which is paid for as long as it runs.

    Attributes:
        repository: the model on the hub, as ``intfloat/multilingual-e5-small``.
        name: the endpoint's name; one made of the repository and a number where left out.
        namespace: the user or organisation that pays; that of the token where left out.
        framework, task, accelerator, vendor, region, instance_type, instance_size, type, revision: as
            huggingface_hub's ``create_inference_endpoint`` has them.
        custom_image: a container to run instead of the default one, as that function has it.
        env: environment variables of the container.
        min_replica, max_replica: number of machines; each is paid for.
        finally: what happens to the endpoint at the end.
        token_env: the environment variable that holds the token.
        ready_timeout_s: how long it may take to answer.
    """

    repository: str
    name: str | None = None
    namespace: str | None = None
    framework: str = "pytorch"
    task: str | None = None
    accelerator: str = "gpu"
    vendor: str = "aws"
    region: str = "us-east-1"
    instance_type: str = "{hw_type}"
    instance_size: str = "x1"
    type: str | None = None
    revision: str | None = None
    custom_image: dict[str, Any] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    min_replica: Count = 1
    max_replica: Count = 1
    finally_: Annotated[Literal["delete", "pause"], Field(alias="finally")] = "delete"
    token_env: str = "HF_TOKEN"  # noqa: S105 - a variable's name
    ready_timeout_s: Seconds = 1800.0


class Target(Section):
    """What is benchmarked: exactly one of the kinds.

    Attributes:
        usd_per_hour: its price, for estimates and ``--max-usd``; known prices by vendor and hw_type where left out.
    """

    url: UrlTarget | str | None = None
    process: ProcessTarget | None = None
    hf_endpoint: HFEndpointTarget | None = None
    usd_per_hour: Annotated[float, Field(ge=0)] | Template | None = None

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> Target:
        given = [kind for kind in ("url", "process", "hf_endpoint") if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError("exactly one of url, process and hf_endpoint")
        return self


class Load(Section):
    """How a point is loaded: by ``vus`` virtual users for a time or a number of requests, or at a rate.

    Attributes:
        task: ``embedding``, ``classification`` or ``vision_embedding``.
        route: where requests are posted to; the task's usual route where left out.
        model: name of the model in the requests.
        inputs: file of texts (one a line), .jsonl of ``{"input": …, "label": …}``, or directory of images.
        inputs_per_request: texts or images in a request.
        vus: virtual users, each with one request in flight; with a rate, the most that may be used.
        duration_s: how long the load is, not counting the warm-up; at least a second.
        requests: a fixed number of requests, shared by the virtual users, in at most ``duration_s``.
        rate: requests per second, sent whether or not earlier ones were answered (the open model).
        warm_up_s: uncounted load before it; none with 0.
        request_timeout_s: a request that takes longer has failed.
        cpus: the cores that k6 may use.
        script: an own k6 script instead of ours; it gets the same environment.
    """

    task: str = "{task}"
    route: str | None = None
    model: str = "{model}"
    inputs: str
    inputs_per_request: Count | None = None
    vus: Count = "{vus}"
    duration_s: LoadSeconds = 30.0
    requests: Count | None = None
    rate: Rate | None = None
    warm_up_s: WarmUpSeconds = 5.0
    request_timeout_s: Seconds = 60.0
    cpus: Cores | None = None
    script: str | None = None


class Reference(Section):
    """What the answers are compared with: a file of answers, or the engine at these settings.

    Attributes:
        settings: settings that, put over those of a point, give the reference engine, as {image: onnx-fp32}.
        file: answers kept before.
    """

    settings: dict[str, Scalar] | None = None
    file: str | None = None

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> Reference:
        if (self.settings is None) == (self.file is None):
            raise ValueError("exactly one of settings and file")
        return self


class Answers(Section):
    """Whether the answers are right.

    Attributes:
        reference: what they are compared with.
        inputs: how many of the load's inputs are asked for it; none with 0.
        keep: how many of the answers are kept in the test directory.
    """

    reference: Reference | None = None
    inputs: Annotated[int, Field(ge=0)] = 64
    keep: Annotated[int, Field(ge=0)] = 4


class Script(Section):
    """An arbitrary command for each point instead of a target and a load.

    Attributes:
        command: the command and its arguments, with settings in braces; one line for a shell if ``shell``.
        shell: run it by /bin/sh. Settings are quoted for it.
        directory: where it runs, relative to the benchmark file; the test directory where left out.
        timeout_s: kill it after so long.
        duration_s: what a point takes, for the estimate.
        monitor: watch the machine while it runs, as under a load.
    """

    command: Words
    shell: bool = False
    directory: str | None = None
    timeout_s: Seconds | None = None
    duration_s: Seconds | None = None
    monitor: bool = False
