"""Real files with parts of them replaced by something else, or cut off: each is read, or is a sentence of its own."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.matrix import Matrix

FILES = [
    *("no-licence/vllm/serve_v0.25.1.json", "no-licence/vllm/sweep_summary_v0.25.1.json"),
    *("no-licence/sglang/agg_n100_in128_out128_c32.jsonl", "guidellm/guidellm_v0.8_schema2_constant.json"),
    *("no-licence/guidellm/v0.5_schema1_sanity.json", "aiperf/0.13/profile_export_aiperf.json"),
    *("aiperf/profile_export_aiperf_schema_2025.json", "inference-perf/lifecycle_multimodal_2026.yaml"),
    *("inference-perf/vllm/results/stage_3_lifecycle_metrics.json", "llm-d-benchmark/br_v0_1_example.yaml"),
    *("inferencex/glm-5/glm5_fp8_vllm_tp8_isl1024_osl128_conc16.json", "llm-d-benchmark/br_v0_2_1_example.yaml"),
]
INSTEAD: list[Any] = [
    *(None, "", "x", -1, 0, 1e400, float("nan"), 10**30, True, [], {}, [1, "a", None], {"a": {}}, "NaN", "inf", [[]]),
    *("<script>alert(1)</script>", "../../etc/passwd", {"mean": "x"}, "9" * 5000),
]


def places(content: object, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = (
        content.items() if isinstance(content, dict) else enumerate(content[:5]) if isinstance(content, list) else ()
    )
    for key, value in inner:
        yield (*above, key)
        yield from places(value, (*above, key))


def mutate(content: Any, draw: random.Random) -> None:
    everything = list(places(content))
    depth = draw.choice([1, 2, 3, 5, 9])
    chosen = [place for place in everything if len(place) <= depth] or everything
    for *way, last in (draw.choice(chosen) for _ in range(draw.choice([1, 1, 3, 10]))):
        inner = content
        try:
            for key in way:
                inner = inner[key]
            inner[last] = copy.deepcopy(draw.choice(INSTEAD))
        except (TypeError, KeyError, IndexError):
            continue  # something above was replaced just now


@pytest.mark.parametrize("name", FILES)
def test_no_mutation_of_a_file_is_an_internal_error(
    formats: Path, tmp_path: Path, parsed: Callable[..., Matrix], name: str
) -> None:
    text = (formats / name).read_text()
    load = yaml.safe_load if name.endswith(".yaml") else json.loads
    said: list[str] = []
    for seed in range(6):
        draw = random.Random(f"{name} {seed}")
        content = load(text)
        mutate(content, draw)
        written = yaml.safe_dump(content) if name.endswith(".yaml") else json.dumps(content)
        directory = tmp_path / str(seed)
        directory.mkdir()
        end = draw.randrange(len(written)) if draw.random() < 0.15 else None
        (directory / Path(name).name).write_text(written[:end])
        try:
            matrix = parsed(directory, prices={"H100": 2.0})
        except MatbenchError:
            continue
        for entry in (*matrix, *matrix.unfinished):
            said += [problem.reason for problem in entry.problems]
            said += [*entry.missing_kpis.values(), *entry.warnings, *entry.implausible]
    assert [each for each in said if "Error" in each or ".py" in each] == []
