"""JMH -rf json: the unit is in scoreUnit, such as us/op or ops/us; each iteration of each fork is a repeat."""

from collections.abc import Iterator
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import SECONDS, number, parameters, repeats, texts_of


def recognises(head: bytes, name: str) -> bool:
    return b'"jmhVersion"' in head or (b'"primaryMetric"' in head and b'"warmupIterations"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    dropped, content = [], read_json(file)
    texts = texts_of([result.get("params") or {} for result in content])
    for index, result in enumerate(content):
        primary = result["primaryMetric"]
        name, unit = _unit(primary["scoreUnit"])
        given = [result["mode"], *(f"{name}={value}" for name, value in (result.get("params") or {}).items())]
        settings = {
            "tool": "JMH",
            "benchmark": f"{result['benchmark']} ({', '.join(given)})",
            "mode": result["mode"],
            "measure": name,
            "threads": result.get("threads", 1),
        }
        settings |= (
            {"jdk": jdk.removeprefix("1.").split(".")[0]} if (jdk := str(result.get("jdkVersion") or "")) else {}
        )
        tuned = [one for one in result.get("jvmArgs") or () if one.startswith("-X")]  # not paths of a job
        settings |= {"jvm_args": " ".join(tuned)} if tuned else {}
        settings |= parameters(result.get("params"), settings, texts)
        results = {"jdk": result.get("jdkVersion"), "forks": result.get("forks"), **_besides(result)}
        scores = [score for fork in primary.get("rawData") or () for score in fork]
        samples = [known for score in scores if (known := number(score, unit)) is not None]
        if len(samples) < len(scores):
            odd = next(score for score in scores if number(score) is None)
            dropped.append(
                f"{len(scores) - len(samples)} of {len(scores)} samples of {settings['benchmark']} are {odd!r}"
            )
        if samples:
            yield from repeats(f"{index}", settings, name, samples, results)
        else:  # the mode "sample" keeps a histogram of single operations, which are no runs
            tail = number(primary.get("scorePercentiles", {}).get("99.0"), unit)
            yield f"{index}", settings, {**results, name: number(primary["score"], unit), "p99": tail}
    if dropped:
        raise ArtifactError(file, f"has samples that are no numbers, and were left out: {'; '.join(dropped)}")


def _unit(text: str) -> tuple[str, float]:
    """Which result a score is, and what makes base units of it."""
    above, _, below = text.partition("/")
    if above == "ops":
        return "rate", 1 / SECONDS[below]
    if below == "op" and above in SECONDS:
        return "time", SECONDS[above]
    raise ValueError(f"the unit '{text}' is neither time per operation nor operations per time")


def _besides(result: dict[str, Any]) -> dict[str, float | None]:
    """What the profiler ``-prof gc`` measured."""
    secondary = result.get("secondaryMetrics") or {}
    given = next((secondary[name] for name in secondary if name.endswith("gc.alloc.rate.norm")), None)
    return {"allocated": number(given["score"])} if given and given["scoreUnit"] == "B/op" else {}
