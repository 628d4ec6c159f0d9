"""Makes the pictures in docs/images from the samples, of the application and of pages: python docs/screenshots.py

With a directory it takes every page of every sample there, at three widths, light and dark, to look at:
python docs/screenshots.py build/pages

It needs Chromium and Pillow, which makes the files small.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from matrix_benchmarking.plotting import pictures

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = Path(__file__).with_name("images")
COLOURS = 128
MATBENCH = [sys.executable, "-m", "matrix_benchmarking"]
WAIT_MS, LONGEST_MS = 3000, 120_000
PAGES = {
    "app-best-configuration": ("", "light", 1200, 980),
    "app-filtered": ("?show=cost-analysis&filters=image=onnx-fp32:onnx-int8,hw_type=cpu-1", "dark", 1200, 1180),
    "app-limit": ("?cfg.limit=20", "light", 1200, 980),
    "app-compare": ("?show=compare&cfg.setting=image&cfg.old=onnx-fp32&cfg.new=onnx-int8", "light", 1200, 860),
    "app-run": ("RUN", "light", 1200, 1250),
    "app-two-runs": ("BESIDE", "light", 1200, 1250),
    "app-narrow": ("?show=sanity-checks", "dark", 420, 860),
}
WRITTEN = {"best-configuration": ("encoder_bench", "index"), "serving-steps": ("serving_bench", "steps")}
"""The workload and the page of each picture of a written report."""


def main() -> None:
    """Start the application on the sample, and take each picture."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        browser = playwright.chromium.launch(executable_path=pictures.find_browser(), args=["--no-sandbox"])
        for name, (workload, written) in WRITTEN.items():
            report = Path(directory, workload)
            given = ["--generate", f"--workload={workload}", f"--results-dirname=data/samples/{workload}"]
            command = [sys.executable, "-m", "matrix_benchmarking", "visualize", *given, f"--report-dest={report}"]
            subprocess.run(command, cwd=REPOSITORY, check=True)
            page = browser.new_page(viewport={"width": 1200, "height": 1200})
            page.set_default_timeout(LONGEST_MS)
            page.goto((report / f"{written}.html").as_uri())
            page.wait_for_timeout(WAIT_MS)
            save(page.screenshot(full_page=written != "index"), IMAGES / f"{name}.png")
        browser.close()
    of_the_application()


WIDTHS, SCHEMES = (400, 1400, 1920), ("light", "dark")
SAMPLES = {name: [f"--workload={name}", f"--results-dirname=data/samples/{name}"]
           for name in ("encoder_bench", "llm_bench", "micro_bench", "serving_bench", "training_bench")}  # fmt: skip
RELEASES = "data/samples/encoder_history/history.jsonl.gz"


def of_every_page(destination: Path) -> None:
    """Every page of every sample, and of the recorded releases, into *destination*."""
    from playwright.sync_api import sync_playwright

    destination.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        history = f"--history=sqlite:///{directory}/releases.db"
        subprocess.run([*MATBENCH, "history", "import", RELEASES, history], cwd=REPOSITORY, check=True)
        browser = playwright.chromium.launch(executable_path=pictures.find_browser(), args=["--no-sandbox"])
        for name, given in {**SAMPLES, "releases": ["--workload=encoder_bench", history]}.items():
            with application(given) as address:
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
                        page.goto(address)
                        page.locator("#tabs a").first.wait_for()
                        links = page.eval_on_selector_all("#tabs .page-link", "all => all.map(one => one.search)")
                        for link in links:
                            page.goto(f"{address}/{link}")
                            page.wait_for_timeout(WAIT_MS // 3)
                            of = link.partition("show=")[2] or "first"
                            page.screenshot(path=destination / f"{name}-{of}-{width}-{scheme}.png")
                        page.close()
        browser.close()


@contextlib.contextmanager
def application(given: list[str]) -> Iterator[str]:
    """The address of an application that is ended again."""
    process = subprocess.Popen(
        [*MATBENCH, "visualize", *given, "--port=0"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found.group()
    finally:
        process.terminate()
        process.wait()


def of_the_application() -> None:
    """The pictures of PAGES."""
    from playwright.sync_api import sync_playwright

    with application(SAMPLES["encoder_bench"]) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=pictures.find_browser(), args=["--no-sandbox"])
        for name, (query, scheme, width, height) in PAGES.items():
            size = {"width": width, "height": height}
            page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            page.set_default_timeout(LONGEST_MS)
            take(page, address, query, IMAGES / f"{name}.png")
            page.close()
        browser.close()


def take(page: Any, address: str, query: str, path: Path) -> None:
    """One picture of what is in the window."""
    page.goto(f"{address}/{'' if query.isupper() else query}")
    page.wait_for_selector("#content h1")
    if query.isupper():
        page.get_by_role("link", name="cpu-1/onnx-int8/batch_32/vus_32__repeat_0").first.click()
        page.get_by_text("Put another run beside it").wait_for()
    if query == "BESIDE":
        page.get_by_label("Another run").fill("cpu-1/onnx-fp32/batch_32/vus_32__repeat_1")
        page.get_by_label("Another run").press("Enter")
        page.get_by_text("What differs from").wait_for()
    page.mouse.move(1, 1)
    page.wait_for_timeout(WAIT_MS)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(WAIT_MS)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    save(page.screenshot(), path)


def save(content: bytes, path: Path) -> None:
    """The picture with few colours."""
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("directory", type=Path, nargs="?", help="where all pages go; docs/images unless given")
    chosen = options.parse_args().directory
    main() if chosen is None else of_every_page(chosen)
