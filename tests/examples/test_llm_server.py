"""The example server of language models: no batch changes an answer, what makes no sense is refused, and under the real
aiperf a release that is slower is found.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from requirements import missing

from matrix_benchmarking import store
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

pytestmark = pytest.mark.xdist_group("aiperf")
WORKLOAD = "projects.llm_bench.visualizations"
MODULES = ("decoder", "batching", "releases")


@pytest.fixture
def modules(repository: Path) -> Iterator[dict[str, Any]]:
    """The server's modules, whose names other examples have, too."""
    if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("uvicorn") is None:
        missing("onnxruntime and uvicorn, for the example server")
    directory = str(repository / "examples" / "llm_server")
    kept = {name: sys.modules.pop(name, None) for name in MODULES}
    sys.path.insert(0, directory)
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(directory)
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update({name: module for name, module in kept.items() if module is not None})


def answers(
    modules: dict[str, Any], prompts: list[Any], lengths: list[int], slots: int, release: str
) -> list[list[int]]:
    """What each prompt is answered with, all of them sent at once."""
    shape = modules["decoder"].Shape(layers=2, heads=2, width=32, window=64)
    decoder = modules["decoder"].Decoder(slots, shape=shape, page=modules["releases"].page_of(release))
    batcher = modules["batching"].Batcher(decoder, slots)
    told: list[list[int]] = [[] for _ in prompts]
    done = [0]

    def teller(place: int) -> Callable[[int | None], None]:
        def tell(token: int | None) -> None:
            if token is None:
                done[0] += 1
            else:
                told[place].append(token)

        return tell

    for place, (prompt, length) in enumerate(zip(prompts, lengths, strict=True)):
        batcher.submit(modules["batching"].Request(prompt, length, teller(place)))
    batcher.start()
    deadline = time.monotonic() + 30
    while done[0] < len(prompts) and time.monotonic() < deadline:
        time.sleep(0.005)
    return told


def test_an_answer_is_the_same_in_whichever_batch_and_release(modules: dict[str, Any]) -> None:
    random = np.random.default_rng(7)
    prompts = [random.integers(0, 256, size) for size in (3, 17, 9, 30, 1, 12, 5)]
    lengths = [20, 4, 1, 25, 12, 7, 30]
    alone = answers(modules, prompts, lengths, 1, "0.2.0")
    assert [len(each) for each in alone] == lengths
    assert len({tuple(each[:4]) for each in alone}) > 1  # the prompt matters
    assert answers(modules, prompts, lengths, 3, "0.2.0") == alone
    assert answers(modules, prompts, lengths, 3, "0.3.0") == alone


@contextlib.contextmanager
def serving(repository: Path, *arguments: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "server.py", f"--port={port}", *arguments]
    process = subprocess.Popen(command, cwd=repository / "examples" / "llm_server")
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def ask(url: str, body: object) -> tuple[int, bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/chat/completions", data), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


HELLO = [{"role": "user", "content": "hello"}]


def test_it_streams_what_it_answers_at_once_and_refuses_what_makes_no_sense(repository: Path, modules: Any) -> None:
    with serving(repository, "--max-batch-size=2") as url:
        status, body = ask(url, {"messages": HELLO, "max_tokens": 9})
        whole = json.loads(body)
        assert (status, whole["usage"]["prompt_tokens"], whole["usage"]["completion_tokens"]) == (200, 5, 9)
        text = whole["choices"][0]["message"]["content"]
        assert len(text) == 9
        streamed = {"messages": HELLO, "max_tokens": 9, "stream": True, "stream_options": {"include_usage": True}}
        lines = ask(url, streamed)[1].decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        events = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
        assert "".join(event["choices"][0]["delta"]["content"] for event in events[:-1]) == text
        assert events[-1]["usage"]["total_tokens"] == 14
        messages = ({"messages": []}, {"messages": [{"content": 3}]})
        lengths = ({"messages": HELLO, "max_tokens": "x"}, {"messages": HELLO, "max_tokens": 10_000})
        for wrong in (b"{", b"[" * 100_000, [], *messages, *lengths):
            status, body = ask(url, wrong)
            assert (status, json.loads(body)["error"]["type"]) == (400, "invalid_request_error"), wrong
        assert ask(url, {"messages": HELLO})[0] == 200


@pytest.mark.parametrize("argument", ["--release=new", "--max-batch-size=0"])
def test_arguments_that_make_no_sense_are_a_sentence(repository: Path, modules: Any, argument: str) -> None:
    command = [sys.executable, "server.py", "--port=1", argument]
    ended = subprocess.run(
        command, cwd=repository / "examples" / "llm_server", capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_under_aiperf_the_release_that_is_slower_is_found(
    repository: Path, modules: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Path(sys.executable).parent.parent / "aiperf" / "bin"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}:{own}")
    if shutil.which("aiperf") is None:
        missing("aiperf; run `make test`, which installs it")
    content = yaml.safe_load((repository / "examples" / "llm_aiperf.yaml").read_text())
    content["expe"]["releases"] |= {"concurrency": 8, "repeat": 1}
    content["target"]["process"] |= {"directory": str(repository / "examples" / "llm_server"), "cpus": ""}
    content["load"] |= {"directory": str(repository / "examples"), "cpus": "", "timeout_s": 400}  # tests run beside it
    fewer = {"--request-count=100": "--request-count=24", "--warmup-request-count=8": "--warmup-request-count=2"}
    content["load"]["command"] = [fewer.get(word, word) for word in content["load"]["command"]]
    (tmp_path / "short.yaml").write_text(yaml.safe_dump(content))
    results = tmp_path / "results"
    assert main(["benchmark", str(tmp_path / "short.yaml"), f"--results-dirname={results}", "--run"]) == 0
    matrix = store.parse_tree(load(WORKLOAD), results, options={"prices": {}})
    assert len(matrix) == 2
    for entry in matrix:
        assert entry.problems == ()
        assert (entry.settings["tool"], entry.settings["concurrency"], entry.kpis["requests"]) == ("aiperf", 8, 24)
        assert entry.kpis["output_length_mean"] == 32
        assert entry.campaign is not None
    slow, fast = (
        np.mean([entry.kpis["tpot_p50"] for entry in matrix if entry.settings["version"] == version])
        for version in ("0.3.0", "0.2.0")
    )
    assert slow > 1.15 * fast
    capsys.readouterr()
    arguments = [f"--workload={WORKLOAD}", f"--results-dirname={results}"]
    assert main(["compare", *arguments, "0.2.0", "0.3.0"]) in (0, 1)
    assert "against 0.2.0" in capsys.readouterr().out
    assert main(["visualize", *arguments, "--generate", f"--report-dest={tmp_path / 'report'}"]) == 0
    assert "example-server" in (tmp_path / "report" / "serving.html").read_text()
