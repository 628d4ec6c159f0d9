"""How fast the application is with many runs, as a person sees it: in a real browser, against a floor in the same run.

Start: from the start of ``matbench visualize`` on a parsed tree until the page's shell and until the verdict are there.
The floor is a Dash application with one line of text, started the same way.

Filter: from the click on a value until the selectors' counts, the verdict and the page are there again and painted. The
floor is the same click in a Dash application whose callback answers at once with one line of text.

People: fifty, each of whom chooses another filter every ten seconds, for a minute; how long until the verdict and the
page of what was chosen are answered, beside the same of one person alone.

Many at once: 200 requests for one page, until the last is answered; and a page beside 300 connections that never finish
their request.

    python benchmarks/app.py [--runs 10080] [--rounds 5] [--tree DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import large_tree

from matrix_benchmarking import filters, store
from matrix_benchmarking.plotting import pictures
from matrix_benchmarking.workload import load

PAGES = ("", "?show=cost-analysis", "?show=kpi-overview", "?show=error-report")
AT_ONCE, HALF_OPEN = 200, 300
PEOPLE, EVERY_S, PERIODS = 50, 10.0, 6
ALONE = 30  # filters of one person
PAGE = (("content", "children"), ("controls", "children"), ("title", "data"))
FRAME = (("selectors", "children"), ("headline", "children"), ("tabs", "children"))
HELLO = """
import sys
from dash import Dash, Input, Output, html
from waitress.server import create_server
app = Dash("floor")
app.layout = html.Div([html.Main(html.Button("go", id="go"), id="main"), html.Div(id="headline")])
app.callback(Output("headline", "children"), Input("go", "n_clicks"))(lambda clicks: f"clicked {clicks}")
server = create_server(app.server, host="127.0.0.1", port=0)
print(f"http://127.0.0.1:{server.socket.getsockname()[1]}", flush=True)
server.run()
"""
CLICK = """async ([selector, done]) => {
  const element = document.querySelector(selector);
  const start = performance.now();
  element.click();
  const isDone = new Function("return " + done);
  await new Promise((resolve) => {
    const look = () => (isDone() ? resolve() : requestAnimationFrame(look));
    requestAnimationFrame(look);
  });
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - start;
}"""
IDLE = "!document.querySelector('[data-dash-is-loading=true]')"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_080, help="runs of the tree")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of which the median counts")
    parser.add_argument("--tree", type=Path, help="keep the tree here, and use it again")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        tree = options.tree or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="matbench-app-")))
        if not any(tree.glob("*")):
            large_tree.build(tree, options.runs)
        matrix = store.parse_tree(load("encoder_bench"), tree, options={"prices": {}})  # as the command does
        browser = stack.enter_context(chromium())
        command = [sys.executable, "-m", "matrix_benchmarking", "visualize", f"--results-dirname={tree}"]
        command += ["--workload=encoder_bench", "--port=0"]
        floor = [sys.executable, "-c", HELLO]
        print(f"{len(matrix):,} runs, medians of {options.rounds}")
        measure_start(browser, command, floor, options.rounds)
        measure_filters(browser, command, floor, options.rounds)
        measure_people(command, matrix.settings)
        measure_many(command)


def measure_start(browser: Any, command: list[str], floor: list[str], rounds: int) -> None:
    """Print the times from the start of the process."""
    shells, verdicts, floors = [], [], []
    for _ in range(rounds):
        floors.append(start_times(browser, floor)[0])
        shell, verdict = start_times(browser, command)
        shells.append(shell)
        verdicts.append(verdict)
    least = statistics.median(floors)
    for name, values in (("shell", shells), ("verdict", verdicts)):
        middle = statistics.median(values)
        print(f"start to {name:8} {middle:6.2f} s  {middle / least:5.2f} × the floor")
    print(f"floor             {least:6.2f} s")


def start_times(browser: Any, command: list[str]) -> tuple[float, float]:
    """Seconds until the shell is there, and until there is text where the verdict belongs."""
    began = time.perf_counter()
    with served(command) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("#main")
        shell = time.perf_counter() - began
        page.wait_for_selector("#headline .lead, #headline:not(:empty)")
        verdict = time.perf_counter() - began
        page.close()
    return shell, verdict


def measure_filters(browser: Any, command: list[str], floor: list[str], rounds: int) -> None:
    """Print the times from a click on a value."""
    with served(floor) as address:
        page = browser.new_page(bypass_csp=True)
        page.goto(address)
        page.wait_for_selector("#go")
        times = []
        for number in range(1, 2 * rounds + 1):
            done = f"document.querySelector('#headline').innerText === 'clicked {number}'"
            times.append(page.evaluate(CLICK, ["#go", done]))
        least = statistics.median(times)
        page.close()
    print(f"filter, floor     {least:6.0f} ms")
    with served(command) as address:
        for query in PAGES:
            times = filter_times(browser, f"{address}/{query}", rounds)
            middle, worst = statistics.median(times), max(times)
            name = query or "first page"
            print(f"filter {name:24} {middle:6.0f} ms, at worst {worst:4.0f} ms  {middle / least:5.1f} × the floor")


def filter_times(browser: Any, address: str, rounds: int) -> list[float]:
    """Milliseconds of clicks on values of different settings, one after the other."""
    page = browser.new_page(bypass_csp=True, viewport={"width": 1400, "height": 900})
    page.goto(address)
    page.wait_for_selector("#content h1")
    page.wait_for_selector("#progress:has-text('read at')")
    page.wait_for_timeout(2000)
    times = []
    for number in range(rounds):
        for facet in ("hw_type", "image", "vus"):
            options = f"li.facet[data-name={facet}] a.option"
            position = number % 3 + 1
            state = page.get_attribute(f"{options}:nth-of-type({position})", "aria-checked")
            wanted = "false" if state == "true" else "true"
            done = f"document.querySelector('{options}:nth-of-type({position})[aria-checked={wanted}]') && {IDLE}"
            times.append(page.evaluate(CLICK, [f"{options}:nth-of-type({position})", done]))
            page.wait_for_timeout(400)
    page.close()
    return times


def measure_people(command: list[str], settings: Mapping[str, Sequence[object]]) -> None:
    """Print how long people wait, of whom each has other filters than all others."""
    several = [(name, values) for name, values in settings.items() if len(values) > 1]
    chance = random.Random(50)

    def query() -> str:
        chosen = {
            name: [filters.value(value) for value in chance.sample(list(values), max(1, len(values) // 2))]
            for name, values in chance.sample(several, 2)
        }
        return f"?filters={urllib.parse.quote(filters.written(chosen))}"

    def wait(address: tuple[str, str], search: str) -> float:
        began = time.perf_counter()
        with ThreadPoolExecutor(2) as both:
            list(both.map(lambda outputs: seconds_of(*address, outputs, search), (FRAME, PAGE)))
        return time.perf_counter() - began

    def person(address: tuple[str, str], searches: Sequence[str], start: float) -> list[float]:
        found = []
        for number, search in enumerate(searches):
            time.sleep(max(0.0, start + number * EVERY_S - time.perf_counter()))
            found.append(wait(address, search))
        return found

    with served(command) as where, ThreadPoolExecutor(PEOPLE) as executor:
        address = read(where)
        alone = [wait(address, query()) for _ in range(ALONE)]
        now = time.perf_counter()
        starts = [now + EVERY_S * chance.random() for _ in range(PEOPLE)]
        asked = [[query() for _ in range(PERIODS)] for _ in starts]
        found = executor.map(lambda one: person(address, *one), zip(asked, starts, strict=True))
        together = [one for times in found for one in times]
    least, middle = statistics.median(alone) * 1000, statistics.median(together) * 1000
    worst = statistics.quantiles(together, n=20)[-1] * 1000
    print(f"one person        {least:6.0f} ms")
    print(f"{PEOPLE} people         {middle:6.0f} ms, 95 % within {worst:.0f} ms  {middle / least:5.1f} × one person's")


def read(address: str) -> tuple[str, str]:
    """Host and port of a server, as soon as it has read the tree."""
    host, port = address.removeprefix("http://").split(":")
    while seconds_of(host, port, PAGE) > 1.0:
        time.sleep(1.0)
    time.sleep(4.0)  # after what the index says is shown, the tree itself is read
    return host, port


def measure_many(command: list[str]) -> None:
    """Print the times of many requests at once."""
    with served(command) as address, contextlib.ExitStack() as stack:
        host, port = read(address)
        print(f"one page             {seconds_of(host, port, PAGE):6.2f} s")
        began = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as executor:
            list(executor.map(lambda _: seconds_of(host, port, PAGE), range(AT_ONCE)))
        print(f"{AT_ONCE} pages at once    {time.perf_counter() - began:6.2f} s")
        for _ in range(HALF_OPEN):
            stack.enter_context(socket.create_connection((host, int(port)))).sendall(b"GET / HTTP/1.1\r\nHost: ")
        print(f"beside {HALF_OPEN} half-open {seconds_of(host, port, PAGE):6.2f} s")


def seconds_of(host: str, port: str, outputs: Sequence[tuple[str, str]], search: str = "") -> float:
    """How long it takes until these *outputs* of an address are answered."""
    began = time.perf_counter()
    answer_of(host, port, outputs, search)
    return time.perf_counter() - began


def answer_of(host: str, port: str, outputs: Sequence[tuple[str, str]], search: str = "") -> bytes:
    """What is answered, where it is asked for as the page's script does."""
    body: dict[str, Any] = {
        "output": f"..{'...'.join('.'.join(one) for one in outputs)}..",
        "outputs": [{"id": name, "property": what} for name, what in outputs],
        "inputs": [{"id": "request", "property": "data", "value": {"search": search, "parts": []}}],
    }
    if outputs is FRAME:
        body["inputs"].append({"id": "checked", "property": "data"})
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    connection.request("POST", "/_dash-update-component", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status == 200, answer.status
    return content


@contextlib.contextmanager
def served(command: list[str]) -> Iterator[str]:
    """The address of the server that *command* starts, until it is ended."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, "the server said no address"
        yield found.group()
    finally:
        process.terminate()  # a job in the background ignores SIGINT
        process.wait()


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=pictures.find_browser(), args=["--no-sandbox"])
        yield browser
        browser.close()


if __name__ == "__main__":
    main()
