"""Settings from the names of files and directories, where the file and its reader don't say them.

What a person says, in a settings file or by ``--settings-from``, goes before what a file says; a name goes last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.plausible import is_number

from .readers import limit
from .vocabulary import SETTINGS, renamed

_QUANTIZATIONS = "nvfp4|mxfp4|fp4|fp8|mxfp8|bf16|fp16|fp32|int8|int4|awq|gptq|w8a8|w4a16|w8a16|w4a8|bnb|q4_k_m|q8_0"
_ENGINES = {"tensorrt-llm": "trtllm", "tensorrt_llm": "trtllm", "trt-llm": "trtllm", "sgl": "sglang"}
_ENGINE_NAMES = (
    "vllm|sglang|sgl|trtllm|tensorrt[-_]llm|trt-llm|trt|tgi|lmdeploy|llama\\.cpp|llamacpp|ollama|mlc-llm|atom"
)
_HARDWARE = (
    "gb200|gb300|b200|b300|h200|h100|h800|h20|gh200|a100|a800|a10g|a10|a30|a40|a6000|l40s|l40|l4|t4|v100|p100|"
    "mi210|mi250x|mi250|mi300x|mi300a|mi308x|mi325x|mi350x|mi355x|gaudi ?[23]|tpu-?v\\d\\w*|v5e|v5p|v6e|trn[12]|inf2|"
    "rtx(?:[-_ ]?(?:pro[-_ ]?)?\\d{4}(?:[-_ ]?(?:ada|ti))?)?|pro[-_ ][456]000|rngd|5090|4090|3090|orin|thor|dgx-?spark|"
    "ascend[-_ ]?910\\w*|910[bc]\\d?|metax[-_ ]?c\\d+|gfx\\d{3,4}[a-z]?"
)
_FAMILIES = (
    "(?:meta-)?llama|codellama|qwen|qwq|mistral|mixtral|ministral|gemma|phi|deepseek|dsr1|dsv3|glm|gpt-?oss|gpt-?j|falcon|"
    "kimi|granite|nemotron|command|olmo|opt(?=-?\\d)|yi(?=-?\\d)|internlm|minimax|smollm|tinyllama|vicuna|starcoder|bloom|baichuan|ernie|jamba"
)

_DATASETS = (
    "sharegpt|sonnet|random(?![-_]?seed)(?:-ids|-mm)?|burstgpt|gsm8k|mmlu|mmmu|humaneval|mt[-_]?bench|longbench|"
    "prefix[-_]repetition|generated[-_]shared[-_]prefix|vision[-_]?arena|instructcoder|mooncake|govreport"
)


def _token(expression: str) -> re.Pattern[str]:
    """Matches where neither a letter nor a digit touches it."""
    return re.compile(rf"(?<![A-Za-z0-9])(?:{expression})(?![A-Za-z0-9])", re.IGNORECASE)


_LENGTH = r"[-_=]?(?:len(?:gth)?)?[-_=]?(\d+k?)"
_RATE = r"(\d+(?:\.\d+)?|inf)"
_NUMBERED = {
    name: _token(expression)
    for name, expression in {
        **{name: rf"(?:[tped]p\d+)*{name}[-_=]?(\d+)(?:[tped]p\d+)*" for name in ("tp", "pp", "ep", "dp")},
        "gpus": r"gpus[-_=](\d+)|(\d+)[-_]?gpus",
        "concurrency": r"(?:max[-_]?)?conc(?:urrency)?[-_=]?(\d+)|c(\d+)|users[-_=]?(\d+)|(\d+)users",
        "input_length": rf"(?:isl|in|input|itkns){_LENGTH}|itl(\d+)[-_]otl\d+|random[-_](\d{{2,6}})[-_]\d+|(\d+k)\d+k",
        "output_length": rf"(?:osl|out|output|otkns|otl){_LENGTH}|random[-_]\d{{2,6}}[-_](\d{{2,6}})|\d+k(\d+k)",
        "request_rate": rf"{_RATE}(?:qps|rps)|(?:qps|rps|req[-_]?rate|request[-_]?rate)[-_=]?{_RATE}",
    }.items()
}
_IN_OR_OUT = re.compile("(?:in|out)(?:put)?[-_=]?[0-9]", re.IGNORECASE)
FEWEST_TOKENS, MOST_TOKENS = 8, 10_000_000
"""What a number behind ``in`` or ``out`` counts; beyond, it is that of a run, or a date."""
_QUANTIZATION = _token(rf"(?<!kv[-_])(?<!cache[-_])({_QUANTIZATIONS})")
_ENGINE = _token(rf"({_ENGINE_NAMES})(?:[-_ ]?v?(\d+\.\d+[\w.]*))?")
_ACCELERATOR = _token(
    rf"(?:(\d+) ?x[-_ ]?(?:(?:nvidia|amd)[-_ ])?)?({_HARDWARE})"
    r"(?:(?:[-_ ]?(?:\d+gb|hbm\d\w?|sxm\d?|pcie|nvl))*[-_ ]?x[-_ ]?(\d+))?"
)
_MODEL = _token(rf"((?:{_FAMILIES})[-_.]?\w*(?:[-.]\w+)*)")
_DISAGGREGATED = _token(r"disagg(?:regated)?|\d+p\d+d")
_NOT_DISAGGREGATED = _token("disagg[-_=]?false|aggregated")
_WORKERS = _token(r"(\d+)([xpd])tp(?:ep)?(\d+)")
_SPECULATIVE = _token(r"(mtp|eagle3?|medusa|ngram)\d*|spec[-_](?!none|dec)(\w+?)")
_DATASET = _token(f"({_DATASETS})")
_NO_MODEL = _token("output|offline|online|results?|bench(?:mark)?s?|serving|latency|throughput|baseline|date|dp[-_]mla")
_SWEEP = re.compile(r"([A-Za-z_][\w.]*)=([^=]+?)(?=-(?:BENCH--)?[A-Za-z_][\w.]*=|$)")
_DATE = re.compile(r"[-_]\d{8}(?:[-_]\d{4,6})?$")


def accelerator(name: str) -> str | None:
    """What tools and people call by a longer *name*: ``H100`` of ``NVIDIA H100-SXM-80GB``; None for no known one."""
    match = _ACCELERATOR.search(name)
    return None if match is None else str(match[2])


def complete(file: Path, above: Mapping[str, Scalar], own: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """All settings of a point: what a person says of it (*above*), else its file (*own*), else names do."""
    said = {name: value for name, value in renamed(above).items() if name != "repeat" or value or "repeat" not in own}
    return {**guessed(file, own), **own, **said}


def guessed(file: Path, own: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What names say of a point: the model's own name, and those of the file and of the directories below the root.

    Where nobody says the number of GPUs, it is what the parallelism takes.
    """
    found: dict[str, Scalar] = {}
    model = str(own.get("model", "")).rpartition("/")[2]
    for name in (*file.parts[:-1], file.stem):
        found |= in_name(name.replace(model, "-") if model else name)  # a model's name says nothing of the prompts
    if (match := _QUANTIZATION.search(str(own.get("model", "")))) is not None:
        found["quantization"] = match[1].lower()
    if (gpus := _machine(str(own.get("hw_type", ""))).get("gpus")) is not None:  # such as 4xNVIDIA_L40S
        found["gpus"] = gpus
    if "gpus" not in found and (gpus := gpus_of({**found, **own})) is not None:
        found["gpus"] = gpus
    return found


def gpus_of(settings: Mapping[str, Scalar]) -> int | None:
    """``tp × pp × dp``, where what isn't known is 1; None without the first, and where prefill and decode run apart."""
    if not isinstance(settings.get("tp"), int) or settings.get("disaggregated"):
        return None
    sizes = [size for name in ("tp", "pp", "dp") if isinstance(size := settings.get(name), int) and size > 0]
    return math.prod(sizes)


def in_name(name: str) -> dict[str, Scalar]:
    """The settings that the *name* of a file, without its suffix, or of a directory says."""
    found: dict[str, Scalar] = {}
    for setting, expression in _NUMBERED.items():
        if (match := expression.search(name)) is not None:
            number = _number(next(group for group in match.groups() if group))
            if not _IN_OR_OUT.match(match[0]) or (is_number(number) and FEWEST_TOKENS <= number <= MOST_TOKENS):
                found[setting] = number
    if (match := _ENGINE.search(name)) is not None:
        engine = match[1].lower()
        found["engine"] = _ENGINES.get(engine, engine)
        if match[2]:
            found["version"] = match[2]
    found |= _machine(name) | _workers(name)
    for setting, expression in (("quantization", _QUANTIZATION), ("dataset", _DATASET)):
        if (match := expression.search(name)) is not None:
            found[setting] = match[1].lower()
    if (match := _SPECULATIVE.search(name)) is not None:
        found["speculative"] = (match[1] or match[2]).lower()
    if _DISAGGREGATED.search(name) or _NOT_DISAGGREGATED.search(name):
        found["disaggregated"] = _NOT_DISAGGREGATED.search(name) is None
    if "=" in name and ("SERVE--" in name or "BENCH--" in name):
        swept = {key.removeprefix("SERVE--").removeprefix("BENCH--"): value for key, value in _pairs(name)}
        found |= renamed(swept)
    elif (model := _model(name)) is not None:
        found["model"] = model
    return found


def _machine(name: str) -> dict[str, Scalar]:
    """The accelerator, and how many, unless *name* has several."""
    machines = list(_ACCELERATOR.finditer(name))
    if len({match[2].upper() for match in machines}) != 1:
        return {}
    count = machines[0][1] or machines[0][3]
    return {"hw_type": machines[0][2].upper(), **({"gpus": int(count)} if count else {})}


def _workers(name: str) -> dict[str, Scalar]:
    """``2xtp4``: two servers of four; ``1ptp2-3dtp2``: one for prefill and three for decode, of two each."""
    workers = _WORKERS.findall(name)
    found: dict[str, Scalar] = {"gpus": sum(int(count) * int(tp) for count, _, tp in workers)} if workers else {}
    if len({tp for _, _, tp in workers}) == 1:
        found["tp"] = int(workers[0][2])
    return found | ({"disaggregated": True} if any(role in "pdPD" for _, role, _ in workers) else {})


def _pairs(name: str) -> Iterator[tuple[str, Scalar]]:
    """``SERVE--max_num_seqs=4-BENCH--max_concurrency=2`` as settings."""
    for half in re.split(r"-?(?:SERVE|BENCH)--", name):
        for key, text in _SWEEP.findall(half):
            yield key.replace(".", "_"), limit(text)


def _model(name: str) -> str | None:
    match = _MODEL.search(_DATE.sub("", name))
    if match is None:
        return None
    words = re.split(r"(?<=\w)_(?=[a-z]+\d+$|(?:tp|isl|conc)\d)", match[1], maxsplit=1)[0]
    tokens = (*_NUMBERED.values(), _ENGINE, _ACCELERATOR, _DATASET, _NO_MODEL)
    ends = [found.start() for each in tokens if (found := each.search(words, 1)) is not None]
    model = words[: min(ends, default=len(words))].rstrip("-_.")
    model = re.sub(f"_(?:{_QUANTIZATIONS})$", "", model, flags=re.IGNORECASE)
    return model if len(model) > 2 and model not in SETTINGS else None


def _number(text: str) -> Scalar:
    """``8k`` tokens are 8,192, as people mean it."""
    return int(text[:-1]) * 1024 if text[-1] in "kK" else limit(text)
