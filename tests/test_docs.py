"""The documentation is executed: commands, code, links and the notebook.

In a ```console block a line that starts with ``$`` is a command, ``>`` continues it, and the lines below are its
output; ``…`` stands for any text, and line ends and indentation don't count. ``$ echo $?`` with its output says a
command's exit status; it is 0 elsewhere. ``$ cd DIR`` alone on its line is where the following commands are run. A
```python block on a page starts with the name of its file.

``<!-- today: 2026-11-21 -->`` on a page names the day that its outputs have where a command prints the day of its run.

``python tests/test_docs.py`` writes the outputs anew, and the notebook; what a leading ``…`` leaves out stays out.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from copies import linked_copy
from requirements import missing

from matrix_benchmarking import scaffold
from matrix_benchmarking.plotting import pictures

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("*/README.md")])
PAGES.append(REPOSITORY / "benchmarks" / "answers.md")
NAMES = [page.relative_to(REPOSITORY).as_posix() for page in PAGES]
NEEDED = ("config.yaml", "data", "projects", "examples", "docs")
NOT_RUN = ("make", "git", "pip")
WORKLOAD_PAGE = "docs/writing-a-workload.md"
NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"
WIDTH = 118
INSTALLED = Path(sys.executable).parent

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
TODAY = re.compile(r"^<!-- today: (\d{4}-\d\d-\d\d) -->$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


@dataclasses.dataclass(frozen=True)
class Step:
    """A command of a page and the output that is printed under it."""

    command: str
    output: str

    @property
    def is_status(self) -> bool:
        return self.command == "echo $?"

    @property
    def changes_to(self) -> str | None:
        found = re.fullmatch(r"cd (\S+)", self.command)
        return found and found[1]


def blocks(page: str, language: str) -> list[str]:
    return [content for kind, content in BLOCK.findall(page) if kind == language]


def steps(block: str) -> list[Step]:
    """The commands of a console block."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [Step("\n".join(command), "\n".join(output)) for command, output in found]


def run(command: str, directory: Path, matbench: Path) -> tuple[int, str]:
    """Exit status and output, both streams in one, of a shell command in *directory*; *matbench* heads its PATH."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MATBENCH_")}
    environment["PATH"] = os.pathsep.join([str(matbench), str(INSTALLED), environment["PATH"]])
    environment["XDG_CACHE_HOME"] = str(directory / ".cache")
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those that are installed here are none of the page's
    environment["PYTHONPATH"] = str(REPOSITORY / "tests" / "quiet_machine")
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout


def is_run(command: str) -> bool:
    return command.split()[0] not in NOT_RUN


def copy_checkout(directory: Path) -> None:
    """What the commands of the pages need, without caches."""
    for name in NEEDED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=shutil.ignore_patterns("__pycache__", ".matbench_*"))
        else:
            shutil.copy(source, directory / name)


def write_code(page: str, directory: Path) -> set[str]:
    """Write the python blocks of a page, those of one file one after the other; gives the files' names."""
    files: dict[str, list[str]] = {}
    for block in blocks(page, "python"):
        name, _, code = block.partition("\n")
        files.setdefault(name.removeprefix("# "), []).append(code)
    for name, parts in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("\n\n".join(parts), encoding="utf-8")
    return set(files)


def executed(page: str, directory: Path, matbench: Path = INSTALLED) -> Iterator[tuple[Step, int, str]]:
    """Each step of a page, in a copy of the checkout, with its real status and output, today being the page's day."""
    write_code(page, directory)
    status, first_day = 0, _day()
    for step in (step for block in blocks(page, "console") for step in steps(block) if is_run(step.command)):
        if step.is_status:
            yield step, 0, f"{status}\n"
        elif step.changes_to:
            directory = (directory / step.changes_to).resolve(strict=True)
            yield step, 0, ""
        else:
            status, output = run(step.command, directory, matbench)
            yield step, status, on_the_day_of(page, output, first_day, _day())


def on_the_day_of(page: str, output: str, *days: str) -> str:
    """*output* with the page's day, if it has one, in the place of the *days* on which its commands ran."""
    today = TODAY.search(page)
    return re.sub("|".join(days), today[1], output) if today else output


def _day() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def agrees(printed: str, real: str) -> bool:
    """True if *real* is *printed*, with any text for ``…``; white space counts as one space."""
    parts = [re.escape(" ".join(part.split())) for part in printed.split("…")]
    return re.fullmatch(" ?.*? ?".join(parts), " ".join(real.split())) is not None


def test_a_page_with_a_day_of_its_own_is_right_on_every_day() -> None:
    page, printed = "<!-- today: 2026-11-21 -->\n", "raised on 2028-02-29, of 2025-01-01"
    assert on_the_day_of(page, printed, "2028-02-28", "2028-02-29") == "raised on 2026-11-21, of 2025-01-01"
    assert on_the_day_of("", printed, "2028-02-29") == printed


def of_all_pages(language: str) -> list[str]:
    return [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page.read_text("utf-8"), language)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands of the pages need; it stays as it is."""
    copy_checkout(directory := tmp_path_factory.mktemp("checkout"))
    return directory


@pytest.mark.parametrize("name", of_all_pages("console"))
def test_commands_print_what_the_page_says_with_the_status_that_it_says(
    name: str, checkout: Path, forked_matbench: Path, tmp_path: Path
) -> None:
    page = (REPOSITORY / name).read_text(encoding="utf-8")
    linked_copy(checkout, tmp_path)
    previous: tuple[Step, int] | None = None
    for step, status, output in executed(page, tmp_path, forked_matbench):
        if previous is not None and previous[1] != 0:
            assert step.is_status, f"$ {previous[0].command}\nexits with {previous[1]}, and the page doesn't say so"
        assert agrees(step.output, output), f"$ {step.command}\nprinted:\n{output}\nthe page says:\n{step.output}"
        previous = step, status
    assert previous is None or previous[1] == 0


@pytest.mark.parametrize("name", of_all_pages("python"))
def test_code_is_a_file_that_a_command_of_the_page_uses(name: str, tmp_path: Path) -> None:
    page = (REPOSITORY / name).read_text(encoding="utf-8")
    commands = "\n".join(step.command for block in blocks(page, "console") for step in steps(block))
    files = write_code(page, tmp_path)
    assert files
    assert all(file in commands for file in files)


def test_the_page_shows_the_workload_that_matbench_new_writes() -> None:
    shown = blocks((REPOSITORY / WORKLOAD_PAGE).read_text(encoding="utf-8"), "python")[0]
    written = scaffold.standalone("hash_bench", Path()).files[Path("hash_bench/workload.py")]
    assert shown.partition("\n")[2] == written.decode()


@pytest.mark.parametrize("name", NAMES)
def test_every_link_within_the_repository_resolves(name: str) -> None:
    page = REPOSITORY / name
    broken = []
    for target in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        address = urllib.parse.urlsplit(target)
        if address.scheme:
            continue
        file = (page.parent / urllib.parse.unquote(address.path)).resolve() if address.path else page
        anchored = not address.fragment or address.fragment in anchors(file)
        if not (file.is_relative_to(REPOSITORY) and file.exists() and anchored):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", sorted(REPOSITORY.glob("docs/*.md")), ids=lambda page: page.name)
def test_each_table_begins_with_its_header_so_no_row_is_shown_as_text(page: Path) -> None:
    groups = [group.splitlines() for group in re.split(r"\n\s*\n", page.read_text())]
    broken = [group[0] for group in groups if group[0].startswith("|") and (len(group) < 2 or "---" not in group[1])]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a Markdown page get."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8")) if page.suffix == ".md" else ""
    headings = (re.sub(r"[`*]", "", heading).strip().lower() for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def test_the_readme_says_what_it_is_in_ten_lines() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    introduction = text.partition("\n## ")[0].splitlines()[1:]
    assert 0 < len([line for line in introduction if line.strip()]) <= 10


def test_a_newcomer_with_a_table_is_sent_to_the_command_that_reads_it() -> None:
    for page, section in (("README.md", "Your own data"), ("docs/getting-started.md", "Your own results")):
        text = (REPOSITORY / page).read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
        assert "matbench import" in text.partition("\n## ")[0]


def test_the_hooks_before_a_commit_are_what_make_lint_runs() -> None:
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert [hook["entry"] for hook in hooks] == re.findall(r"^\t\$\(BIN\)/(.*)$", recipe, re.MULTILINE)


def test_each_demonstration_writes_its_own_report_and_says_what_it_installs() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    recipes = dict.fromkeys(("demo", "demo-live", "$(VENV)/installed", "$(VENV)/installed-for-live"), "")
    for name in recipes:
        (recipes[name],) = re.findall(rf"^{re.escape(name)}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "--report-dest" not in re.findall(r"visualize .*", recipes["demo"])[0]
    assert "--report-dest=report/live" in recipes["demo-live"]
    for name in ("$(VENV)/installed", "$(VENV)/installed-for-live"):
        assert recipes[name].startswith('\t@echo "Installing ')


def test_the_committed_notebook_was_executed_and_is_small() -> None:
    assert NOTEBOOK.stat().st_size < 200_000
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))


def test_the_notebook_runs_and_still_says_what_it_said(checkout: Path, tmp_path: Path) -> None:
    try:
        import nbclient  # noqa: F401
    except ImportError:
        missing("nbclient; run `make test`, which installs it")
    assert _texts(execute_notebook(linked_copy(checkout, tmp_path))) == _texts(_read_notebook())


def execute_notebook(directory: Path) -> Any:
    """The committed notebook, run anew in *directory*, a copy of the checkout."""
    import nbclient

    notebook = _read_notebook()
    resources = {"metadata": {"path": str(directory / "docs")}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    return notebook


def _read_notebook() -> Any:
    import nbformat

    return nbformat.read(NOTEBOOK, as_version=4)


def _outputs(notebook: Any) -> Iterator[Any]:
    return (output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)


def _texts(notebook: Any) -> list[str]:
    """The plain text that the code cells answered with."""
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in _outputs(notebook)]


def update(path: Path) -> None:
    """Write the outputs on a page anew."""
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        copy_checkout(Path(directory))
        real = [(step, output) for step, _, output in executed(page, Path(directory))]
    position = 0
    for step, output in real:
        prompt = "$ " + step.command.replace("\n", "\n> ")
        start = page.index(f"{prompt}\n", position) + len(prompt) + 1
        assert page.startswith(step.output, start)
        if step.output != "…" and not agrees(step.output, output):
            page = page[:start] + shown(step.output, output) + page[start + len(step.output) :].lstrip("\n")
        position = start
    path.write_text(page, encoding="utf-8")


def shown(printed: str, real: str) -> str:
    """*real* as it is printed on a page: from where *printed* starts, long sentences wrapped."""
    lines = [line.rstrip() for line in real.splitlines()]
    kept, first = [], printed.partition("\n")[2][:8]
    if printed.startswith("…\n"):
        kept = ["…"]
        lines = lines[next((number for number, line in enumerate(lines) if line.startswith(first)), 0) :]
    for line in lines:
        is_table = line[:1] in "┏┃┡│└" or line.startswith("  ")
        kept += [line] if is_table else textwrap.wrap(line, WIDTH, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in kept)


def update_notebook() -> None:
    """Execute the notebook and keep it, with a picture of each figure for viewers that don't run plotly."""
    import nbformat

    with tempfile.TemporaryDirectory() as directory:
        copy_checkout(Path(directory))
        notebook = execute_notebook(Path(directory))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    for output in _outputs(notebook):
        figure = output.get("data", {}).get("application/vnd.plotly.v1+json")
        if figure is not None:
            output["data"]["image/png"] = base64.b64encode(picture(figure)).decode()
    nbformat.write(notebook, NOTEBOOK)


def picture(figure: dict[str, Any]) -> bytes:
    """A plotly figure as PNG, drawn by Chromium."""
    import plotly.graph_objects as go
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=pictures.find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 940, "height": 420})
        page.set_content(go.Figure(data=figure["data"], layout=figure["layout"]).to_html(include_plotlyjs=True))
        image = page.locator(".plotly-graph-div").screenshot()
        browser.close()
    return image


if __name__ == "__main__":
    for changed in PAGES:
        update(changed)
    update_notebook()
