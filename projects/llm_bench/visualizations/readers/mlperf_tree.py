"""What a submission's tree and its descriptions say of a run of MLPerf: system, engine, numbers of weights, power."""

from __future__ import annotations

import datetime as dt
import glob
import re
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking.store import ArtifactPath, load_json

from . import as_number, number

SCENARIOS = {
    name.lower(): name
    for name in ("Offline", "Server", "Interactive", "SingleStream", "MultiStream", "MultiStreamFree")
}


def settings_of(file: ArtifactPath) -> tuple[dict[str, object], dict[str, Mapping[str, object]]]:
    """What ``division/submitter/results/system/benchmark/scenario/performance/run_1`` says, and the description.

    Compliance runs lie in ``compliance``, before round 0.7 in ``audit``, with their test's name below the scenario.
    """
    steps = file.path.parts[:-1]
    places = [
        place
        for place, step in enumerate(steps[:-3])
        if step in ("results", "compliance", "audit") and steps[place + 3].lower() in SCENARIOS
    ]
    if not places:
        return {}, {}
    at = places[-1]
    rest = steps[at + 4 :]
    found: dict[str, object] = {
        "system": steps[at + 1],
        "model": steps[at + 2],
        "scenario": SCENARIOS[steps[at + 3].lower()],
        "submitter": steps[at - 1] if at else None,
        "division": steps[at - 2] if at > 1 and steps[at - 2] in ("closed", "open", "network") else None,
    }
    test = next((step for step in rest if step.startswith("TEST")), None)
    if "ranging" in rest:
        found["purpose"] = "ranging of the power meter"
    elif test is not None or steps[at] != "results":
        found["purpose"] = " ".join(filter(None, ("compliance", test)))
    repeat = next((step for step in rest if re.fullmatch(r"run_[1-9]\d{0,5}", step)), "run_1")
    found["repeat"] = int(repeat.removeprefix("run_")) - 1 or None
    submission = file / ("../" * (len(steps) - at + 1))
    scenario = file / ("../" * (len(steps) - at - 3))  # with measurements.json since round 5.0
    own = glob.escape(f"measurements/{'/'.join(steps[at + 1 : at + 4])}/{steps[at + 1]}")
    config: dict[str, Mapping[str, object]] = {}
    if (described := json_of(submission / f"systems/{steps[at + 1]}.json")) is not None:
        config["the system's description"] = _of_system(described)
    for path in (scenario / "measurements.json", *submission.glob(f"{own}*.json")):
        weights = (json_of(path) or {}).get("weight_data_types")
        if isinstance(weights, str):
            config["the weights' description"] = {"quantization": weights.lower()}
            break
    return found, config


def json_of(path: ArtifactPath) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    try:
        described = load_json(path.read_bytes())
    except ValueError as error:
        path.note_problem(f"is not valid JSON: {error}")
        return None
    return described if isinstance(described, dict) else None


def moment(value: object, ahead: float = 0.0) -> dt.datetime | None:
    """``07-26-2024 17:09:33.653`` of a clock that has to be put *ahead* by so many seconds to be UTC."""
    try:
        told = dt.datetime.strptime(str(value), "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=dt.UTC)
        return told + dt.timedelta(seconds=ahead)
    except (ValueError, OverflowError):
        return None


def zone(file: ArtifactPath, who: str) -> float:
    """How far the clock of the power meter's ``server`` or ``client`` is behind UTC, in s."""
    return number((json_of(file / f"../../power/{who}.json") or {}).get("timezone")) or 0.0


def system_power(file: ArtifactPath, start: dt.datetime | None, end: dt.datetime | None, ahead: float) -> float | None:
    """The mean of the samples within the run that the power meter wrote beside its logs, in W."""
    samples = file / "../spl.txt"
    if start is None or end is None or not samples.is_file():
        return None
    watts = []
    with samples.open("r", encoding="utf-8", errors="replace") as stream:
        while line := stream.readline(_LINE):
            match = _SAMPLE.match(line)
            if match is not None and (at := moment(match[1], ahead)) is not None and start < at < end:
                watts.append(float(match[2]))
    return sum(watts) / len(watts) if any(watts) else None


_SAMPLE = re.compile(r"Time,([^,]+),Watts,(\d+(?:\.\d+)?)(?=,|\s|$)")
_LINE = 1 << 12


_ENGINES = {
    "trtllm": r"TensorRT[-_ ]LLM",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt": "TensorRT",
    "openvino": "OpenVINO",
    "onnxruntime": r"ONNX ?Runtime|onnxruntime",
    "deepsparse": "DeepSparse",
    "tflite": "TFLite|TensorFlow Lite",
    "jetstream": "JetStream",
    "flax": "flax",
    "pytorch": "PyTorch|torch",
    "tensorflow": "TensorFlow",
    "jax": "jax",
}
"""What serves, in the order in which it counts where several are named."""


def _of_system(described: Mapping[str, Any]) -> dict[str, object]:
    per_node, nodes = (as_number(described.get(name)) for name in ("accelerators_per_node", "number_of_nodes"))
    gpus = per_node * nodes if isinstance(per_node, int) and isinstance(nodes, int) and nodes > 0 else per_node
    framework = str(described.get("framework") or "")
    hardware, processor = (_named(described.get(f"{name}_model_name")) for name in ("accelerator", "host_processor"))
    return {
        "hw_type": hardware or processor,
        "gpus": gpus if isinstance(gpus, int) and gpus > 0 else None,
        **_engine(framework),
        "framework": framework or None,
        "processor": processor,
    }


def _named(value: object) -> object:
    return None if str(value).strip().lower() in ("", "n/a", "na", "-", "none", "0", "undefined") else value


def _engine(framework: str) -> dict[str, object]:
    for engine, names in _ENGINES.items():
        found = re.search(rf"(?<![A-Za-z])(?:{names})(?![A-Za-z])[-_ :=]*v?(\d+(?:\.\w+)*)?", framework, re.IGNORECASE)
        if found is not None:
            return {"engine": engine, "version": found[1]}
    return {}
