"""The benchmark file's search, targets and commands as models, and the templates in it.

``{name}`` in a text stands for a setting, ``{{`` and ``}}`` for braces. A text that is nothing but ``{name}`` becomes
the setting itself, so that a number stays a number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import pydantic
from pydantic import Field

from ..config import Section
from ..errors import ConfigError, did_you_mean
from ..filters import Scalar, exact
from ..validation import dotted, mismatches

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
M = TypeVar("M", bound=pydantic.BaseModel)

Template = Annotated[str, Field(pattern=r"^\{[^{}]+\}$")]
Seconds = Annotated[float, Field(gt=0)] | Template
Count = Annotated[int, Field(gt=0)] | Template
Cores = list[Annotated[int, Field(ge=0)]] | str
Words = list[str] | str


def _as_text(value: object, info: pydantic.ValidationInfo) -> object:
    """Numbers and booleans as they are written; null only where it is a setting's value, as in a command."""
    return exact(value) if isinstance(value, bool | int | float) or (value is None and info.context) else value


Text = Annotated[str, pydantic.BeforeValidator(_as_text, json_schema_input_type=Scalar)]
Environment = dict[str, Text]

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
    environment: Environment = Field(default_factory=dict)
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
        scale_to_zero_timeout: minutes without a request after which the service takes all machines away.
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
    env: Environment = Field(default_factory=dict)
    min_replica: Annotated[int, Field(ge=0)] | Template = 1
    max_replica: Count = 1
    scale_to_zero_timeout: Count | None = None
    finally_: Annotated[Literal["delete", "pause"], Field(alias="finally")] = "delete"
    token_env: str = "HF_TOKEN"  # noqa: S105 - a variable's name
    ready_timeout_s: Seconds = 1800.0


class ExistingEndpointTarget(Section):
    """An Inference Endpoint that is there: measured as it is, woken if it rests, and left as it was found.

    Attributes:
        name: the endpoint's name.
        namespace, token_env, ready_timeout_s: as of one that is created.
    """

    name: str
    namespace: str | None = None
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
    existing_hf_endpoint: ExistingEndpointTarget | None = None
    usd_per_hour: Annotated[float, Field(ge=0)] | Template | None = None

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> Target:
        if sum(kind is not None for kind in (self.url, self.process, self.hf_endpoint, self.existing_hf_endpoint)) != 1:
            raise ValueError("exactly one of url, process, hf_endpoint and existing_hf_endpoint")
        return self

    @property
    def is_paid(self) -> bool:
        return self.hf_endpoint is not None or self.existing_hf_endpoint is not None


class LoadSection(Section):
    """The section ``load`` of a benchmark file, of which each load driver has a model of its own.

    Attributes:
        driver: the load driver's name; the workload's first one is meant where left out.
        aside: the fields that say nothing of how a point is measured.
    """

    aside: ClassVar[set[str]] = {"driver"}

    driver: str | None = None

    def check(self) -> None:
        """Raise ConfigError where a point's load, its settings filled in, can't be."""

    def expected_s(self) -> float | None:
        """About how long a point takes; None where nothing tells."""
        return None


class Command(LoadSection):
    """Any command that measures a point: a load generator on the target, or a benchmark without one.

    Attributes:
        command: the command and its arguments, with settings, ``{url}``, ``{port}`` and ``{test_dir}`` in braces; one
            line for a shell if ``shell``.
        shell: run it by /bin/sh. Settings are quoted for it.
        directory: where it runs, relative to the benchmark file; the test directory where left out.
        warm_up: a command that is run before it and isn't measured.
        warm_up_s: for how long the command itself warms up, which isn't measured either.
        timeout_s: kill it after so long.
        duration_s: what a point takes, for the estimate.
        monitor: watch the machine while it runs.
        cpus: the cores that it may use.
        results: files that it has to leave, as names or globs; they are moved to the test directory.
    """

    aside: ClassVar[set[str]] = {"driver", "timeout_s", "duration_s", "monitor", "results"}

    command: Words
    shell: bool = False
    directory: str | None = None
    warm_up: Words | None = None
    warm_up_s: Annotated[float, Field(ge=0)] | Template = 0.0
    timeout_s: Seconds | None = None
    duration_s: Seconds | None = None
    monitor: bool = True
    cpus: Cores | None = None
    results: list[str] = Field(default_factory=list)

    def check(self) -> None:
        for pattern in self.results:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts or not Path(pattern).parts:
                raise ConfigError(f"results: '{pattern}' is no file below the directory that the command runs in")

    def expected_s(self) -> float | None:
        return None if self.duration_s is None else float(self.duration_s)


class Script(Command):
    """An arbitrary command for each point: the same as a load's, watched only if asked for.

    Attributes:
        monitor: watch the machine while it runs, as under a load.
    """

    monitor: bool = False


def named_in(value: Any) -> set[str]:
    """The settings that *value* (text, or a list or mapping of it) names."""
    if isinstance(value, str):
        return {match[1] for match in _PART.finditer(value) if match[1] is not None}
    if isinstance(value, Mapping):
        return set().union(*(named_in(item) for item in value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*(named_in(item) for item in value))
    return set()


def fill(value: Any, settings: Mapping[str, Any], keep: Collection[str] = ()) -> Any:
    """*value* with *settings* put in; names in *keep* are left for later."""
    if isinstance(value, str):
        whole = _PART.fullmatch(value)
        if whole and whole[1] is not None and whole[1] not in keep:
            return _setting(whole[1], settings, value)
        return _PART.sub(lambda match: _replacement(match, settings, keep, value), value)
    if isinstance(value, Mapping):
        return {key: fill(item, settings, keep) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # In a command every word is text.
        filled = [fill(item, settings, keep) for item in value]
        words = all(isinstance(item, str) for item in value)
        return [exact(item) for item in filled] if words else filled
    return value


def fill_model(model: M, settings: Mapping[str, Any], where: str, keep: Collection[str] = ()) -> M:
    """*model*, its defaults included, with *settings* put in, validated again; *where* names it in errors."""
    try:
        content = fill(model.model_dump(by_alias=True), settings, keep)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    try:
        return type(model).model_validate(content, context={"filled": True})
    except pydantic.ValidationError as error:
        sentences = [f"{where}.{dotted(each.path)}: {each.reason}" for each in mismatches(error, content, PATTERNS)]
        raise ConfigError("\n".join(sentences)) from error


def _replacement(match: re.Match[str], settings: Mapping[str, Any], keep: Collection[str], text: str) -> str:
    if match[0] in ("{{", "}}"):
        return match[0][0]
    if match[1] is None:
        raise ConfigError(f"'{text}' has a single '{match[0]}': write '{match[0] * 2}' for a brace")
    return match[0] if match[1] in keep else exact(_setting(match[1], settings, text))


def _setting(name: str, settings: Mapping[str, Any], text: str) -> Any:
    if name not in settings:
        hint = did_you_mean(name, settings) if re.fullmatch(r"\w+", name) else "write {{ and }} for braces"
        raise ConfigError(f"'{text}' names a setting '{name}' that the point doesn't have: {hint}")
    return settings[name]
