"""fio --output-format=json: a job and a direction is one run; latencies in nanoseconds (microseconds before fio 3)."""

import collections
import datetime as dt
from collections.abc import Iterator
from typing import Any

import msgspec

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_text

from . import number, parameters

DIRECTIONS = ("read", "write", "trim")
_PLACES = {"directory", "name", "runtime", "write_lat_log", "write_bw_log", "write_iops_log"}


def recognises(head: bytes, name: str) -> bool:
    return b'"fio version"' in head and (b'"jobs"' in head or b'"global options"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    content = _json(file)
    moment = number(content.get("timestamp"))
    end = None if moment is None else dt.datetime.fromtimestamp(moment, dt.UTC)
    at_once = collections.Counter(job["jobname"] for job in content["jobs"] if _is_one_of_several(job, content))
    for index, job in enumerate(content["jobs"]):
        options = {**content.get("global options", {}), **job.get("job options", {})}
        if job.get("error") and not any((job.get(one) or {}).get("total_ios") for one in DIRECTIONS):
            settings: dict[str, Scalar] = {"tool": "fio", "benchmark": job["jobname"]}
            yield f"{job['jobname']}/{index}", settings, {"end": end, "exit_code": job["error"]}
        for direction in DIRECTIONS:
            done = job.get(direction) or {}
            if not done.get("total_ios"):
                continue
            settings = {"tool": "fio", "benchmark": f"{job['jobname']} ({direction})"}
            settings |= parameters({name: options[name] for name in options if _is_setting(name, options)}, settings)
            if at_once[job["jobname"]] > 1:  # they ran beside each other: each is a part of one measurement, no repeat
                settings["job"] = index
            results = {"end": end, "fio": content["fio version"], **_results(done), "campaign": True}
            if job.get("error"):
                results = {"end": end, "exit_code": job["error"]}
            yield f"{job['jobname']}/{index}/{direction}", settings, results


def _is_one_of_several(job: dict[str, Any], content: dict[str, Any]) -> bool:
    """Whether the job has clones (numjobs) that are told one by one."""
    options = {**content.get("global options", {}), **job.get("job options", {})}
    return str(options.get("numjobs", "1")) != "1" and "group_reporting" not in options


def _is_setting(name: str, options: dict[str, Any]) -> bool:
    """Where a file lies is none; a device is."""
    return name not in _PLACES and (name != "filename" or str(options[name]).startswith("/dev/"))


def _json(file: ArtifactPath) -> Any:
    """The document, which warnings may come before."""
    text = read_text(file)
    try:
        return msgspec.json.decode(text[max(0, text.find("{")) :])
    except msgspec.DecodeError as error:
        raise ArtifactError(file, f"is not valid JSON: {error}") from error


def _results(done: dict[str, Any]) -> dict[str, object]:
    of_completion = "clat_ns" if "clat_ns" in done else "clat"
    unit = 1e-9 if of_completion == "clat_ns" else 1e-6
    whole = done.get("lat_ns" if unit == 1e-9 else "lat") or {}
    return {
        "time": number(whole.get("mean"), unit),
        "p99": number((done.get(of_completion) or {}).get("percentile", {}).get("99.000000"), unit),
        "rate": number(done.get("iops")),
        "bandwidth": number(done["bw_bytes"]) if "bw_bytes" in done else number(done.get("bw"), 1024),
    }
