"""A whole workload in one file: how fast `openssl speed` hashes, at several block sizes.

Each test directory holds settings.yaml (algorithm, block_bytes), exit_code and speed.txt, which is
what `openssl speed -bytes BLOCK_BYTES -evp ALGORITHM` printed. Try it:

    matbench parse --workload=examples/minimal_workload.py --results-dirname=data/samples/openssl_speed
"""

import re

from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, ignore_file_not_found, read_text
from matrix_benchmarking.workload import Workload

RESULT = re.compile(r"Doing \S+ for (?P<seconds>[\d.]+)s on (?P<bytes>\d+) size blocks: (?P<count>\d+)")


def parse_once(results, test_dir):
    results.speed = _parse_speed(test_dir)


@ignore_file_not_found
def _parse_speed(test_dir):
    found = RESULT.search(read_text(test_dir / "speed.txt"))
    return found and {name: float(value) for name, value in found.groupdict().items()}


@kpi.HigherBetter
@kpi.FormatDivisor(1e6, unit="MB/s", format="{:,.0f}")
@kpi.KPIMetadata(help="Bytes hashed per second", unit="bytes/s")
def hash_rate(lts_payload):
    speed = lts_payload.results.speed
    return speed["count"] * speed["bytes"] / speed["seconds"]


@kpi.LowerBetter
@kpi.Format("{:.3f}")
@kpi.KPIMetadata(help="Time to hash one block", unit="µs")
def block_time(lts_payload):
    speed = lts_payload.results.speed
    return speed["seconds"] / speed["count"] * 1e6


workload = Workload(
    name="openssl_speed",
    store=BaseStore(
        parse_once=parse_once,
        important_files=["speed.txt"],
        models_kpis=kpi.collect([hash_rate, block_time]),
    ),
    variant_keys=["algorithm"],
    group_keys=["block_bytes"],
)
