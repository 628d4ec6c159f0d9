"""fio --output-format=json: a job and a direction is one run; latencies in nanoseconds (microseconds before fio 3)."""

import json
from collections.abc import Iterator
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_text

from . import number, parameters, since_1970

DIRECTIONS = ("read", "write", "trim")
_PLACES = {"directory", "name", "runtime", "write_lat_log", "write_bw_log", "write_iops_log"}


def recognises(head: bytes, name: str) -> bool:
    is_fio = b'"fio version"' in head and b'"client_stats"' not in head  # of fio --client, without settings
    return is_fio and (b'"jobs"' in head or b'"global options"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    content = _json(file)
    end = since_1970(content.get("timestamp"))
    together = dict[tuple[str, object], list[dict[str, Any]]]()
    for index, job in enumerate(job for job in content["jobs"] if "jobname" in job):  # else a group's first has it
        own = job["options"] = {**content.get("global options", {}), **job.get("job options", {})}
        is_clone = str(own.get("numjobs", "1")) != "1" and "group_reporting" not in own
        together.setdefault((job["jobname"], str(own) if is_clone else index), []).append(job)
    for index, ((name, _), jobs) in enumerate(together.items()):
        options, error = jobs[0]["options"], next((job["error"] for job in jobs if job.get("error")), 0)
        directions = DIRECTIONS if "read" in jobs[0] else ("mixed",)  # of --unified_rw_reporting=1
        done = {one: [job[one] for job in jobs if (job.get(one) or {}).get("total_ios")] for one in directions}
        done = {one: several for one, several in done.items() if several}
        if error and not done:
            yield f"{name}/{index}", {"tool": "fio", "benchmark": name}, {"end": end, "exit_code": error}
        for direction, several in done.items():
            settings: dict[str, Scalar] = {"tool": "fio", "benchmark": f"{name} ({direction})"}
            settings |= parameters({one: options[one] for one in options if _is_setting(one, options)}, settings)
            measured = {"exit_code": error} if error else {"fio": content["fio version"], **_together(several)}
            yield f"{name}/{index}/{direction}", settings, {"end": end, "campaign": True, **measured}


def _together(done: list[dict[str, Any]]) -> dict[str, float | None]:
    """The results of one job, or of its clones (numjobs), which ran beside each other, without their percentiles."""
    if len(each := [_results(one) for one in done]) == 1:
        return each[0]
    of_time = [number(one["time"], of["total_ios"]) for one, of in zip(each, done, strict=True)]
    sums = {name: _sum([one[name] for one in each]) for name in ("rate", "bandwidth")}
    return {"time": number(_sum(of_time), 1 / sum(one["total_ios"] for one in done)), **sums}


def _sum(values: list[float | None]) -> float | None:
    return None if None in values else sum(value or 0.0 for value in values)


def _is_setting(name: str, options: dict[str, Any]) -> bool:  # of files a device
    return name not in _PLACES and (name != "filename" or str(options[name]).startswith("/dev/"))


def _json(file: ArtifactPath) -> Any:
    """The document, which warnings may come before, and a report for people behind."""
    text = read_text(file)
    try:
        document, end = json.JSONDecoder().raw_decode(text, max(0, text.find("{")))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(file, f"is not valid JSON: {error}") from error
    if '"fio version"' in text[end:]:
        file.note_problem("holds the output of several calls of fio, of which the first is read: keep each in a file")
    return document


def _results(done: dict[str, Any]) -> dict[str, float | None]:
    kind, unit = ("_ns", 1e-9) if "clat_ns" in done else ("", 1e-6)
    whole, completed = done.get(f"lat{kind}") or {}, done.get(f"clat{kind}") or {}
    return {
        "time": number(whole.get("mean") or None, unit),  # 0 where it wasn't measured, as by gtod_reduce
        "p99": number((whole.get("percentile") or completed.get("percentile") or {}).get("99.000000"), unit),
        "rate": number(done.get("iops")),
        "bandwidth": number(done["bw_bytes"]) if "bw_bytes" in done else number(done.get("bw"), 1024),
    }
