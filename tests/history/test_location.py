"""Locations, credentials, and what is said about wrong ones."""

from __future__ import annotations

import pytest

from matrix_benchmarking.config import OpenSearch
from matrix_benchmarking.history import HistoryError, SQLiteLocation, location
from matrix_benchmarking.history.opensearch_location import Credentials, of_instance


def parsed(text, environment=None, **options):
    return location.parse(text, environment or {}, **options)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sqlite:///matbench.db", "matbench.db"),
        ("sqlite:////var/h.db", "/var/h.db"),
        ("sqlite:///a b/ü.db", "a b/ü.db"),
    ],
)
def test_sqlite_locations(text, path):
    found, warnings = parsed(text)
    assert isinstance(found, SQLiteLocation)
    assert (str(found.path), str(found), warnings) == (path, text, [])


@pytest.mark.parametrize(
    ("text", "url", "index"),
    [
        ("https://host:9200/", "https://host:9200", "matbench"),
        ("https://host", "https://host:443", "matbench"),
        ("http://localhost", "http://localhost:9200", "matbench"),
        ("https://host:9200/runs", "https://host:9200", "runs"),
        ("https://host/search/runs/", "https://host:443/search", "runs"),
        ("https://[::1]:9200/runs", "https://[::1]:9200", "runs"),
    ],
)
def test_opensearch_locations(text, url, index):
    found, warnings = parsed(text)
    assert (found.url, found.index, warnings) == (url, index, [])
    assert str(found) == f"{url}/{index}"


def test_an_index_is_prefix_and_index():
    found, _ = parsed("https://host:9200", configured=OpenSearch(index="runs", index_prefix="psap-"))
    assert (found.index, found.alarm_index) == ("psap-runs", "psap-runs-alarms")
    found, _ = parsed("https://host:9200/mine", configured=OpenSearch(index="configured"))
    assert (found.url, found.index) == ("https://host:9200", "mine")  # the more explicit one
    environment = {"MATBENCH_OPENSEARCH_SMOKE_URL": "https://host:9200/search/"}
    found, _ = of_instance("smoke", environment, OpenSearch(index="runs"))
    assert (found.url, found.index) == ("https://host:9200/search", "runs")
    found, _ = of_instance("smoke", environment)
    assert (found.url, found.index) == ("https://host:9200", "search")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("matbench.db", r"did you mean sqlite:///matbench\.db\?"),
        ("sqlite://matbench.db", r"did you mean sqlite:///matbench\.db\?"),
        ("sqlite:///", "names no file"),
        ("sqlite:///dir/", "names no file"),
        ("postgres://host/db", "is no location of a history"),
        ("https://user:secret@host:9200", "holds a user name or password"),
        ("https://user@host:9200", "holds a user name or password"),
        ("https://", "is no URL of an OpenSearch server"),
        ("https://host:port/", "no valid host and port"),
        ("https://host:99999/", "no valid host and port"),
        ("opensearch://admin:secret@host/x", "holds a user name or password"),
        ("HTTPS://admin:secret@host/x", "holds a user name or password"),
        (" https://admin:secret@host/x", "holds a user name or password"),
        ("admin:secret@host:9200", "holds a user name or password"),
        ("https://admin:secret#1@host:9200/x", "holds a user name or password"),
        ("https://admin:12?secret@host:9200/x", "holds a user name or password"),
        ("https://host:9200/x?password=secret", "is no URL of an OpenSearch server"),
        ("ftp://host/x#secret", "is no location of a history"),
        ("https://host/index?x=1", "is no URL of an OpenSearch server"),
        ("https://host/UPPER", "can't be the name of an index"),
        ("https://host/_all", "can't be the name of an index"),
        ("https://host/a*", "can't be the name of an index"),
        ("", "is no location of a history"),
    ],
)
def test_a_wrong_location_is_a_sentence_without_secrets(text, sentence):
    with pytest.raises(HistoryError, match=sentence) as caught:
        parsed(text)
    assert "secret" not in str(caught.value)


def test_the_scheme_may_be_in_capitals():
    found, _ = parsed("HTTPS://Host:9200/runs")
    assert (found.url, found.index) == ("https://host:9200", "runs")


@pytest.mark.parametrize("url", ["https://u:secret#1@host:9200", "https://u:secret@host"])
def test_an_instances_url_with_a_password_is_not_shown(url):
    with pytest.raises(HistoryError, match="holds a user name or password") as caught:
        of_instance("smoke", {"MATBENCH_OPENSEARCH_SMOKE_URL": url})
    assert "secret" not in str(caught.value)


def test_credentials_come_from_the_environment():
    environment = {
        "MATBENCH_OPENSEARCH_USERNAME": "ann",
        "MATBENCH_OPENSEARCH_PASSWORD": "top-secret",
        "MATBENCH_OPENSEARCH_CA_CERTS": "/ca.pem",
    }
    found, _ = parsed("https://host", environment)
    assert found.access == Credentials(None, "ann", "top-secret", "/ca.pem", True)
    assert "top-secret" not in repr(found)
    found, _ = parsed("https://host", environment, username="bob")
    assert found.access.username == "bob"


def test_an_instance_has_credentials_of_its_own():
    environment = {
        "MATBENCH_OPENSEARCH_PASSWORD": "not this",
        "MATBENCH_OPENSEARCH_SMOKE_TEST_URL": "https://smoke:9200/",
        "MATBENCH_OPENSEARCH_SMOKE_TEST_USERNAME": "ann",
        "MATBENCH_OPENSEARCH_SMOKE_TEST_PASSWORD": "top-secret",
    }
    found, _ = of_instance("smoke-test", environment, OpenSearch(index="runs"))
    assert (found.url, found.index) == ("https://smoke:9200", "runs")
    assert (found.access.username, found.access.password) == ("ann", "top-secret")


def test_an_instance_can_stand_in_a_file(tmp_path):
    path = tmp_path / "credentials.yaml"
    path.write_text("smoke:\n  url: https://smoke:9200/\n  username: ann\n  password: top-secret\n")
    path.chmod(0o600)
    environment = {"MATBENCH_OPENSEARCH_CREDENTIALS": str(path), "MATBENCH_OPENSEARCH_SMOKE_USERNAME": "bob"}
    found, warnings = of_instance("smoke", environment)
    assert (found.access.username, found.access.password, warnings) == ("bob", "top-secret", [])
    path.chmod(0o644)
    _, warnings = of_instance("smoke", environment)
    assert warnings == [f"{path} holds a password and can be read by others: chmod 600 {path}"]


@pytest.mark.parametrize(
    "content", ["smoke: text", "smoke: {url: 5}", "smoke: {user: ann, password: top-secret}", "smoke: [top-secret]"]
)
def test_a_wrong_file_of_credentials_is_a_sentence_without_secrets(tmp_path, content):
    path = tmp_path / "credentials.yaml"
    path.write_text(content)
    with pytest.raises(HistoryError, match="'smoke' is not a mapping") as caught:
        of_instance("smoke", {"MATBENCH_OPENSEARCH_CREDENTIALS": str(path)})
    assert "top-secret" not in str(caught.value)


def test_an_unknown_instance_says_what_to_set():
    with pytest.raises(HistoryError, match="set MATBENCH_OPENSEARCH_SMOKE_URL"):
        of_instance("smoke", {})
    with pytest.raises(HistoryError, match="the URL of the OpenSearch instance 'smoke' is not known"):
        of_instance("smoke", {"MATBENCH_OPENSEARCH_SMOKE_USERNAME": "ann"})


def test_what_is_insecure_is_said_each_time():
    environment = {"MATBENCH_OPENSEARCH_USERNAME": "ann", "MATBENCH_OPENSEARCH_PASSWORD": "top-secret"}
    assert parsed("http://host", environment)[1] == [
        "the password goes to http://host:9200 unencrypted: use https",
    ]
    assert parsed("http://localhost", environment)[1] == []
    assert parsed("http://127.0.0.1", environment)[1] == []
    _, (warning,) = parsed("https://host", environment | {"MATBENCH_OPENSEARCH_VERIFY_CERTS": "false"})
    assert "is not verified" in warning
    assert parsed("https://host", environment | {"MATBENCH_OPENSEARCH_VERIFY_CERTS": "yes"})[1] == []
    with pytest.raises(HistoryError, match="VERIFY_CERTS is 'perhaps'"):
        parsed("https://host", {"MATBENCH_OPENSEARCH_VERIFY_CERTS": "perhaps"})
