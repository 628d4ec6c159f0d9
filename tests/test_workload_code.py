"""A workload in a file of its own: what can't be one is said in a line, and what it imports is part of its source."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from matrix_benchmarking import workload_code
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.workload import load

ROOT = Path(__file__).resolve().parents[1]
MINE = """
import sys
sys.path.insert(0, __file__.rpartition("/")[0])
from matrix_benchmarking import kpi
from matrix_benchmarking.workload import BaseStore, Workload
from helping import factor

def parse(results, test_dir):
    results.rate = factor() * float((test_dir / "rate").read_text())

@kpi.HigherBetter
@kpi.KPIMetadata(help="rate", unit="1/s")
def rate(lts_payload):
    return lts_payload.results.rate

store = BaseStore(parse_once=parse, important_files=["rate"], models_kpis=kpi.collect([rate]))
workload = Workload(name="mine", store=store)
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("directory.py", "workload file 'directory.py' can't be read: Is a directory"),
        ("broken.py", "workload file 'broken.py' is a link to 'nowhere', which doesn't exist"),
        ("loop.py", "workload file 'loop.py' can't be read: Too many levels of symbolic links"),
        ("pipe.py", "workload file 'pipe.py' can't be read: not a regular file"),
        ("empty.py", "workload file 'empty.py' is empty"),
        ("binary.py", "workload file 'binary.py' is not a text"),
        ("nowhere.py", "workload file 'nowhere.py' not found"),
        ("empty.py/mine.py", "workload file 'empty.py/mine.py' not found"),
        ("a\0b.py", "workload file 'a\0b.py' not found"),
        ("a" * 300 + ".py", f"workload file '{'a' * 300}.py' can't be read: File name too long"),
        ("latin.py", "workload 'latin.py' can't be loaded: SyntaxError: (unicode error) 'utf-8' codec can't decode"),
        ("wrong.py", "workload 'wrong.py' can't be loaded: SyntaxError: invalid syntax (wrong.py, line 1)"),
        ("fails.py", "workload 'fails.py' can't be loaded: ZeroDivisionError: division by zero (fails.py, line 2)"),
        ("number.py", "number.py has no Workload in a variable called 'workload'"),
        ("./mine.PY", "workload './mine.PY' not found"),
    ],
)
def test_what_cannot_be_a_workload_file_is_said_in_a_line(
    name: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("directory.py").mkdir()
    Path("broken.py").symlink_to("nowhere")
    Path("loop.py").symlink_to("loop.py")
    os.mkfifo("pipe.py")
    for file, content in {
        "empty.py": b"\n \n",
        "binary.py": b"\x7fELF\0\0",
        "latin.py": b"x = '\xff'",
        "wrong.py": b"def f(:",
        "fails.py": b"x = 1\nx / 0\n",
        "number.py": b"\xef\xbb\xbfworkload = 3",
    }.items():
        Path(file).write_bytes(content)
    with pytest.raises(WorkloadError) as caught:
        load(name)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(workload_code, "read_regular", refuse)  # to root, all is readable
    with pytest.raises(WorkloadError, match=r"^workload file '.*mine\.py' can't be read: Permission denied$"):
        load(str(tmp_path / "mine.py"))


def test_sources_are_the_file_and_what_it_imports_from_beside_it(tmp_path: Path) -> None:
    files = {
        "mine.py": "import json, one, pack.inner.deep as d\nimport numpy\ndef parse():\n    from two import f\n",
        "one.py": "import mine\nimport three",
        "two.py": "from . import nothing\nfrom ....... import far",
        "three.py": "not python (",
        "unused.py": "",
        "pack/__init__.py": "from .near import *",
        "pack/near.py": "from .. import beside\nfrom .inner import other, missing",
        "pack/unused.py": "",
        "pack/inner/deep.py": "",
        "pack/inner/other.py": "import one",
        "beside.py": "",
    }
    for name, code in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    found = [str(path.relative_to(tmp_path)) for path in workload_code.sources(tmp_path / "mine.py")]
    assert found == sorted(name for name in files if "unused" not in name)


def test_what_lies_beside_an_installed_module_is_no_source_of_it() -> None:
    assert pytest.__file__ is not None
    installed = Path(pytest.__file__).parents[1] / "mine.py"
    assert workload_code.sources(installed) == [installed]


def test_what_lies_in_an_environment_below_a_file_is_no_source_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "env" / "site-packages"
    monkeypatch.setattr(workload_code, "_INSTALLED", {packages})
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages), str(tmp_path / "own")])
    for name in ("env/site-packages/theirs.py", "own/mine.py", "main.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import theirs, mine, matrix_benchmarking.kpi", encoding="utf-8")
    assert workload_code.sources(tmp_path / "main.py") == [tmp_path / "main.py", tmp_path / "own/mine.py"]


FROM_BELOW = MINE.replace('"/")[0]', '"/")[0] + "/lib"')


@pytest.mark.parametrize(("code", "where"), [(MINE, ""), (FROM_BELOW, "lib")], ids=["beside", "below"])
def test_an_edit_of_what_a_workload_file_imports_makes_caches_stale(tmp_path: Path, code: str, where: str) -> None:
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    helping = tmp_path / where / "helping.py"
    helping.parent.mkdir(exist_ok=True)
    run = tmp_path / "results" / "run"
    run.mkdir(parents=True)
    (run / "settings.yaml").write_text("batch: 1", encoding="utf-8")
    (run / "exit_code").write_text("0", encoding="utf-8")
    (run / "rate").write_text("10", encoding="utf-8")

    def rate(factor: str) -> float:
        helping.write_text(f"def factor(): return {factor}", encoding="utf-8")
        os.utime(helping, (1e9, 1e9))  # as if it were edited within the same second
        command = [sys.executable, "-m", "matrix_benchmarking", "parse", "--workload=mine.py"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run(
            [*command, "--results-dirname=results", "--output-matrix=matrix.json"],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
        )
        (entry,) = json.loads((tmp_path / "matrix.json").read_text())
        return float(entry["results"]["rate"])

    assert [rate("1"), rate("1"), rate("2")] == [10.0, 10.0, 20.0]
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_file_imports_what_lies_beside_it_as_it_is_now(tmp_path: Path) -> None:
    code = "from .helping import name\nfrom matrix_benchmarking.workload import BaseStore, Workload\n"
    code += "workload = Workload(name=name, store=BaseStore(parse_once=lambda results, test_dir: None))\n"
    for place, name in (("one", "first"), ("two", "second"), ("one", "third")):
        directory = tmp_path / place
        directory.mkdir(exist_ok=True)
        (directory / "mine.py").write_text(code)
        (directory / "helping.py").write_text(f"name = {name!r}\n")
        found = load(str(directory / "mine.py"))
        assert (found.name, found.source) == (name, directory / "mine.py")
        assert workload_code.sources(directory / "mine.py") == [directory / "helping.py", directory / "mine.py"]


def test_another_commit_of_what_reads_for_a_workload_is_another_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same version: what an earlier commit's readers kept was taken for what today's would read."""
    engine = Path(shutil.copytree(ROOT / "matrix_benchmarking", tmp_path / "engine"))
    monkeypatch.setattr(workload_code, "_ENGINE", engine)

    def digest() -> bytes:
        workload_code._reading_digest.cache_clear()
        return workload_code.source_digest(None)

    before = digest()
    (engine / "commands" / "parse.py").write_text("")
    assert digest() == before
    with (engine / "store" / "tables.py").open("a") as stream:
        stream.write("# reads otherwise\n")
    assert digest() != before
    workload_code._reading_digest.cache_clear()


def test_a_file_is_loaded_while_other_threads_import(tmp_path: Path) -> None:
    store = "BaseStore(parse_once=lambda results, test_dir: None)"
    imported = "from matrix_benchmarking.workload import BaseStore, Workload"
    (tmp_path / "one.py").write_text(f"{imported}\nworkload = Workload(name='one', store={store})\n")
    is_over = threading.Event()

    def imports() -> None:
        for number in itertools.takewhile(lambda _: not is_over.is_set(), itertools.count()):
            sys.modules[f"made_{number % 1000}"] = sys
            sys.modules.pop(f"made_{(number + 500) % 1000}", None)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=imports)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(30):
            assert load(str(tmp_path / "one.py")).name == "one"
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)
        for name in [name for name in list(sys.modules) if name.startswith("made_")]:
            del sys.modules[name]
