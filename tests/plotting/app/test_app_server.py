"""The server: its address, who may ask it, what it sends, and files over HTTP."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pandas
import pytest
from builders import speed_workload

from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app import access, data, server
from matrix_benchmarking.plotting.app.data import Source
from matrix_benchmarking.workload import Workload

WORKLOAD = "--workload=encoder_bench"
HERE = {"Host": "127.0.0.1:8050"}


@pytest.fixture(scope="module")
def client(
    encoder_workload: Workload, sample_matrix: Matrix, sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    source = Source(encoder_workload, "results", [sample], lambda progress: sample_matrix)
    app = server.make_app(source, tmp_path_factory.mktemp("report"), frozenset({"bench.example"}))
    return app.server.test_client()


class TestAddresses:
    """Which port is taken, and how the address reads."""

    def test_the_next_port_is_taken_where_the_first_is_not_free(self) -> None:
        with server.bound() as first, server.bound() as second:
            ports = [one.getsockname()[1] for one in (first, second)]
            assert ports[0] != ports[1]
            assert all(port >= server.PORT for port in ports)
            assert server.address(second) == f"http://127.0.0.1:{ports[1]}"

    def test_a_port_that_was_asked_for_and_is_not_free_is_an_error(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            sentence = f"cannot listen on 127.0.0.1, port {port}: .*in use"
            with pytest.raises(MatbenchError, match=sentence), server.bound(port=port):
                pass

    def test_a_host_that_is_not_here_is_an_error(self) -> None:
        with pytest.raises(MatbenchError, match=r"cannot listen on nowhere\.invalid"), server.bound("nowhere.invalid"):
            pass

    def test_an_address_of_version_6_is_in_brackets(self) -> None:
        try:
            with server.bound("::1", 0) as listener:
                assert server.address(listener).startswith("http://[::1]:")
        except MatbenchError:
            assert not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists()


class TestWhoMayAsk:
    """Pages of other sites can't, even if their name leads to this machine."""

    @pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:8050", "[::1]:8050", "bench.example:8050"])
    def test_this_machine_s_names_are_answered(self, client: Any, host: str) -> None:
        assert client.get("/", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8050", "127.0.0.1.evil.example", ""])
    def test_other_names_are_not(self, client: Any, host: str) -> None:
        assert client.get("/", headers={"Host": host}).status_code == 403

    def test_one_that_listens_everywhere_answers_to_numbers_and_its_own_name(self) -> None:
        everywhere = frozenset({"0.0.0.0"})
        assert access._is_own_name("192.0.2.2", everywhere)
        assert access._is_own_name(socket.gethostname().lower(), everywhere)
        assert not access._is_own_name("evil.example", everywhere)
        assert not access._is_own_name("192.0.2.2", frozenset({"127.0.0.1"}))

    def test_a_request_from_another_page_is_not(self, client: Any) -> None:
        for origin in ("http://evil.example", "http://127.0.0.1:9999", "null"):
            answer = client.post("/_dash-update-component", headers={**HERE, "Origin": origin}, json={})
            assert answer.status_code == 403, origin


class TestWhatIsSent:
    """Nothing runs but the application's own scripts; artifacts never do."""

    def test_a_page_may_load_nothing_from_elsewhere(self, client: Any) -> None:
        answer = client.get("/", headers=HERE)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe-inline'; " not in policy.partition("style-src")[0]
        assert "http://" not in answer.text.replace("http://www.w3.org", "")
        assert "https://" not in answer.text

    def test_a_text_is_sent_as_text_and_in_a_sandbox(self, client: Any, sample_matrix: Matrix) -> None:
        entry = sample_matrix.entries[0]
        answer = client.get(f"/artifact/{entry.test_uuid}/002__k6__run/summary.json", headers=HERE)
        assert answer.status_code == 200
        assert answer.mimetype == "text/plain"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert answer.data == (entry.location / "002__k6__run" / "summary.json").read_bytes()
        answer.close()

    @pytest.mark.parametrize(
        "name",
        [
            "../../../../../etc/passwd",
            "..%2f..%2f..%2f..%2fetc/passwd",
            "%2e%2e/%2e%2e/README.md",
            "/etc/passwd",
            "absent",
        ],
    )
    def test_nothing_outside_of_the_test_is_sent(self, client: Any, sample_matrix: Matrix, name: str) -> None:
        answer = client.get(f"/artifact/{sample_matrix.entries[0].test_uuid}/{name}", headers=HERE)
        # An address that is no artifact's leads to the application, which has no files.
        assert answer.status_code in (404, 308) or "<!DOCTYPE html>" in answer.text[:200]
        assert "root:x:" not in answer.text

    def test_a_file_of_an_unknown_run_is_not_there(self, client: Any) -> None:
        answer = client.get("/artifact/nobody/settings.yaml", headers=HERE)
        assert answer.status_code == 404
        assert answer.text.startswith("there is no run 'nobody'")


class TestManyAtOnce:
    """Connections that ask nothing keep nobody out."""

    def test_a_page_is_answered_beside_hundreds_of_connections_that_never_finish_their_request(
        self, application: Any, sample: Path
    ) -> None:
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(application(f"--results-dirname={sample}", WORKLOAD, "--port=0"))
            host, _, port = place.removeprefix("http://").partition(":")
            for number in range(300):
                half_open = stack.enter_context(socket.create_connection((host, int(port))))
                half_open.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-" if number % 2 else b"")
            assert urllib.request.urlopen(f"{place}/", timeout=30).status == 200

    def test_a_connection_that_asks_nothing_is_closed_after_a_while(self, application: Any, sample: Path) -> None:
        with application(f"--results-dirname={sample}", WORKLOAD, "--port=0") as place:
            host, _, port = place.removeprefix("http://").partition(":")
            with socket.create_connection((host, int(port)), timeout=60) as idle:
                idle.sendall(b"GET / HTTP/1.1\r\n")
                assert idle.recv(1) == b""


class TestWhoMayWrite:
    """What a proxy forwards is refused by the server as it is started, not by its parts alone."""

    def test_a_request_that_a_proxy_forwards_is_refused(self, application: Any, sample: Path) -> None:
        with application(f"--results-dirname={sample}", WORKLOAD, "--port=0", "--allow-writing") as place:

            def get(path: str) -> str:
                with urllib.request.urlopen(f"{place}{path}", timeout=30) as answer:
                    return str(answer.read().decode())

            token = re.findall(r'"data-token": ?"([^"]+)"', get("/_dash-layout"))[0]
            callbacks = json.loads(get("/_dash-dependencies"))
            output = next(one["output"] for one in callbacks if "notice.children" in one["output"])
            names = [one.rpartition(".") for one in output.strip(".").split("...")]
            deal = {"do": "deal", "action": "resolved", "ids": ["b61e"], "reason": "r", "until": "", "token": token}
            body = {
                "output": output,
                "outputs": [{"id": name, "property": what} for name, _, what in names],
                "inputs": [{"id": "event", "property": "data", "value": deal}],
                "state": [{"id": "address", "property": "search", "value": ""}],
            }

            def said(**headers: str) -> str:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                request = urllib.request.Request(
                    f"{place}{server.CALLBACK}",
                    json.dumps(body).encode(),
                    {"Content-Type": "application/json", "Origin": place, **named},
                )
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return str(answer.read().decode())

            assert "no history whose alarms" in said()
            for name in ("X_Forwarded_For", "X_Forwarded_Proto", "Forwarded", "Via", "X_Real_IP"):
                assert "this machine alone" in said(**{name: "192.0.2.1"}), name


WHEN_THE_DATA_START = """
import sys
from builders import speed_workload
from matrix_benchmarking.plotting.app import data
def look(_=None):
    print("pandas" in sys.modules and hasattr(sys.modules["pandas"], "NaT"), of.has_pandas.is_set(), has_template())
def has_template():  # in which two figures at once would make the same parts
    io = sys.modules.get("plotly.io")
    return io is not None and bool(io.templates["plotly"].data._compound_array_props.get("bar"))
of = data.Data(data.Source(speed_workload(), "results", [], look, look))
of.start()
of.join(60)
"""


def test_pandas_and_plotlys_template_are_there_after_the_index_was_read_and_whole_before_the_tests_are() -> None:
    tests = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    done = subprocess.run(
        [sys.executable, "-c", WHEN_THE_DATA_START], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False False\nTrue True True\n"


def test_what_draws_figures_waits_until_pandas_is_imported_and_the_layout_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[data.Data] = []
    monkeypatch.setattr(data.Data, "start", lambda self: started.append(self))
    monkeypatch.setattr(data.Data, "watch", lambda self: None)
    source = data.Source(speed_workload(), "results", [], lambda progress: Matrix([]))
    client = server.make_app(source, tmp_path / "report").server.test_client
    assert [client().get(path).status_code for path in ("/", "/_dash-layout", "/_dash-dependencies")] == [200] * 3
    answered: list[int] = []
    names = ("content.children", "controls.children", "title.data")
    body = {
        "output": f"..{'...'.join(names)}..",
        "outputs": [dict(zip(("id", "property"), name.split("."), strict=True)) for name in names],
        "inputs": [{"id": "request", "property": "data", "value": {"search": "", "parts": []}}],
    }
    ask = functools.partial(client().post, "/_dash-update-component", json=body)
    asking = threading.Thread(target=lambda: answered.append(ask().status_code))
    asking.start()
    asking.join(0.3)
    assert answered == []
    started[0].has_pandas.set()
    asking.join(30)
    assert answered == [200]


class TestTables:
    """What is shown goes into a notebook or a spreadsheet."""

    ASKED = "show=explore&cfg.x=vus&cfg.y=throughput&filters=image=onnx-int8,hw_type=cpu-1,batch_size=8"

    @pytest.fixture(autouse=True)
    def read(self, client: Any) -> None:
        """Wait until the tree is read."""
        end = time.monotonic() + 60
        while client.get("/runs.csv", headers=HERE).status_code == 404 and time.monotonic() < end:
            time.sleep(0.05)

    @staticmethod
    def frame(client: Any, address: str) -> pandas.DataFrame:
        answer = client.get(address, headers=HERE)
        assert answer.status_code == 200, answer.text
        read = pandas.read_parquet if ".parquet" in address else pandas.read_csv
        return read(io.BytesIO(answer.data))

    def test_the_table_of_explore_has_its_points_and_the_runs_behind_it_are_all_of_them(
        self, client: Any, sample_matrix: Matrix
    ) -> None:
        shown = self.frame(client, f"/table.parquet?{self.ASKED}")
        assert list(shown.columns) == ["vus", *(f"{name} (inputs/s)" for name in ("throughput", "Low", "High")), "Runs"]
        assert list(shown["vus"]) == [1, 4, 8, 16, 32]
        behind = self.frame(client, f"/runs.parquet?{self.ASKED}")
        assert len(behind) == shown["Runs"].sum()
        means = behind.groupby("vus")["throughput"].mean()
        assert list(shown["throughput (inputs/s)"]) == pytest.approx(list(means))
        assert len(self.frame(client, "/runs.csv")) == len(sample_matrix)
        pandas.testing.assert_frame_equal(self.frame(client, f"/table.csv?{self.ASKED}"), shown, check_dtype=False)

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ("/table.parquet?show=check", "'report: Check' has no table to take along"),
            ("/table.parquet?show=nowhere", "there is no report or plot 'nowhere'"),
            ("/table.parquet", "there is no report or plot ''"),
            ("/runs.xlsx", "a table is written as .parquet or .csv"),
            ("/runs.csv?filters=nothing=1", "nothing"),
        ],
    )
    def test_what_can_t_be_had_is_a_sentence(self, client: Any, address: str, said: str) -> None:
        answer = client.get(address, headers=HERE)
        assert answer.status_code == 404
        assert said in answer.text
        assert answer.text.count("\n") == 1
