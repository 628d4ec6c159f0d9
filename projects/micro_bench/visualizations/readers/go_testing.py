"""go test -bench, as text or with -json: ns/op, B/op, MB/s; lines of the same name (-count) are repeats."""

import contextlib
import re
from collections.abc import Iterator

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part

from . import FIELDS, note_others, printed, scalar

_LINE, _PASSED = re.compile(r"Benchmark(\S+)\s+(\d+)\s+(\S.*)"), re.compile(r"PASS|ok\s.*")
_FIELDS = re.compile(
    r"(?:(?:[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|NaN|[-+]?Inf)\s+\S+\s*)+"
)  # else a program printed the line
_TORN, _REST = re.compile(r"Benchmark\S++(?!\s+\d+\s)"), re.compile(r"\s*\d+\s+[\d.]+ ns/op")
_IN_HEAD = re.compile(rb"(^|[\n\"])Benchmark\S*(\s|\\t)|\"Action\":\"(start|output|run)\"")
_CONFIGURATION, _PROCS = re.compile(r"(goos|goarch|pkg|cpu): (.+)"), re.compile(r"(.+)-([1-9]\d{0,2})")
_RESULTS = {"ns/op": "time", "MB/s": "bandwidth", "B/op": "allocated", "allocs/op": "allocations"}
_FACTORS, _FAILED = {"ns/op": 1e-9, "MB/s": 1e6}, re.compile(r"--- FAIL: \S+|^FAIL\b.*")


def recognises(head: bytes, name: str) -> bool:
    return _IN_HEAD.search(head) is not None and (b" ns/op" in head or b"goos: " in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    configuration, counts, names, failed, is_open = dict[str, str](), dict[str, int](), set[str](), "", False
    units = set[str]()
    with contextlib.suppress(ArtifactError):  # raised again below, where it is
        lines = map(_LINE.fullmatch, printed(file, _TORN, _REST))
        names.update(match[1] for match in lines if match and _FIELDS.match(match[3]))
    names = _bases(file, names)
    for line in printed(file, _TORN, _REST):
        if said := _CONFIGURATION.fullmatch(line):
            configuration[said[1]], is_open = said[2], True  # lines alone, as people pick them out, have no end either
            counts[line] = counts.get(line, -1) + 1
        elif (failure := _FAILED.search(line)) or _PASSED.fullmatch(line):
            is_open, failed = False, failed or (failure[0] if failure else "")
        elif (match := _LINE.fullmatch(line)) and (found := _FIELDS.match(match[3])):
            fields = found[0].split()
            name = f"{configuration.get('pkg', '')}.{match[1]}".lstrip(".")
            repeat = counts[name] = counts.get(name, -1) + 1
            units.update(fields[1::2])
            settings = {"tool": "go", **_named(match[1], names, configuration), "repeat": repeat}
            yield f"{name}/{repeat}", settings, _results(fields, int(match[2]), configuration)
        elif match:  # without a unit, or without a number
            is_open = True
    note_others(file, units - _RESULTS.keys())
    if any(count for said, count in counts.items() if said.startswith("pkg: ")):
        file.note("has several outputs of one package, which count as one campaign: keep those of two builds apart")
    if failed or is_open:
        what = f"says {' '.join(failed.split())}: what failed has no result"
        raise ArtifactError(file, what if failed else "is cut off: neither PASS nor FAIL ends it")


def _bases(file: ArtifactPath, names: set[str]) -> set[str]:
    """The *names* without GOMAXPROCS, if they have it: where it is 1 a sub-benchmark may end with a size.

    No function's name has a ``-``, and ``n=64-2`` has its value before; what ``size-64`` is a note says.
    """
    parts = [match.groups() for match in map(_PROCS.fullmatch, names) if match is not None]
    numbers, is_whole = {int(number) for _, number in parts}, any("/" not in name for name in names)
    is_known = is_whole or all("=" in base.rpartition("/")[2] or base[-1].isdigit() for base, _ in parts)
    if len(parts) < len(names) or is_known or len(numbers) == 1:
        return {base for base, _ in parts} if len(parts) == len(names) else names
    are_few = all(number & (number - 1) == 0 and number <= 32 for number in numbers)
    taken = "taken for GOMAXPROCS: -cpu=1,… tells" if are_few else "parts of their names, which aren't compared"
    file.note(f"the numbers at the end of {min(names)} and {len(names) - 1} more are {taken}")
    return {base for base, _ in parts} if are_few else names


def _named(name: str, names: set[str], configuration: dict[str, str]) -> dict[str, Scalar]:
    """``Sort/size=100-2`` as settings; at the end is GOMAXPROCS, where what is before it is one of the *names*."""
    name, procs = match.groups() if (match := _PROCS.fullmatch(name)) and match[1] in names else (name, "1")
    steps = [step.partition("=") for step in name.split("/")]
    settings: dict[str, Scalar] = {"benchmark": name, "procs": int(procs)}
    settings |= {to: configuration[of] for of, to in (("pkg", "package"), ("cpu", "machine")) if of in configuration}
    return settings | {f"parameter_{to}" if to in settings else to: scalar(value) for to, sign, value in steps if sign}


def _results(fields: list[str], iterations: int, configuration: dict[str, str]) -> dict[str, object]:
    results: dict[str, object] = {"iterations": iterations, "cpu": configuration.get("cpu"), "campaign": True}
    for value, unit in zip(fields[::2], fields[1::2], strict=False):
        results[_RESULTS.get(unit) or f"{'metric_' * (unit in FIELDS)}{unit}"] = float(value) * _FACTORS.get(unit, 1)
    return results
