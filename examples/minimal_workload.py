"""A whole workload in one file: how fast `openssl speed` hashes, at several block sizes.

Each test directory holds settings.yaml (algorithm, block_bytes), exit_code and speed.txt, which is
what `openssl speed -bytes BLOCK_BYTES -evp ALGORITHM` printed. Try it:

    matbench parse --workload=examples/minimal_workload.py --results-dirname=data/samples/openssl_speed
"""

import re

from matrix_benchmarking.kpi import collect, field_kpi
from matrix_benchmarking.store import BaseStore, ignore_file_not_found, read_text
from matrix_benchmarking.workload import Workload

RESULT = re.compile(r"Doing \S+ for ([\d.]+)s on (\d+) size blocks: (\d+)")


@ignore_file_not_found
def parse_once(results, test_dir):
    seconds, block_bytes, blocks = map(float, RESULT.search(read_text(test_dir / "speed.txt")).groups())
    results.mb_per_s = blocks * block_bytes / seconds / 1e6
    results.block_us = seconds / blocks * 1e6


hash_rate = field_kpi("mb_per_s", help="10⁶ bytes hashed per second", unit="MB/s", better="higher", format="{:,.0f}")
block_time = field_kpi("block_us", help="Time to hash one block", unit="µs", better="lower", format="{:.3f}")

workload = Workload(
    name="openssl_speed",
    store=BaseStore(parse_once=parse_once, important_files=["speed.txt"], models_kpis=collect()),
    variant_keys=["algorithm"],
    group_keys=["block_bytes"],
)
