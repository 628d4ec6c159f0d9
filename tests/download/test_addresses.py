"""Addresses: what may be given, what is shown of it, and files that list several."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking.download import addresses
from matrix_benchmarking.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "public", "archive", "name"),
    [
        ("http://host/runs", "http://host/runs/", "", "host_runs"),
        ("HTTPS://Host:8443/a/b/", "https://host:8443/a/b/", "", "host_8443_a_b"),
        ("https://host", "https://host/", "", "host"),
        ("http://[::1]:80/x", "http://[::1]:80/x/", "", "1_80_x"),
        ("https://host/night-12.tar.gz", "https://host/night-12.tar.gz", ".tar.gz", "host_night-12"),
        ("https://host/a b.ZIP?sig=1", "https://host/a%20b.ZIP", ".zip", "host_a_20b"),
        ("s3://bucket", "s3://bucket", "", "bucket"),
        ("s3://bucket/a/b/", "s3://bucket/a/b", "", "bucket_a_b"),
        ("s3://bucket/x.tgz", "s3://bucket/x.tgz", ".tgz", "bucket_x"),
        ("file:///data/a%20b", "/data/a b", "", "data_a_b"),
        ("/data/x.tar", "/data/x.tar", ".tar", "data_x"),
    ],
)
def test_an_address_is_understood(text: str, public: str, archive: str, name: str) -> None:
    address = addresses.parse(text)
    assert (address.public, address.archive, address.name) == (public, archive, name)


def test_a_signature_is_opened_but_never_shown() -> None:
    address = addresses.parse("https://host/x.zip?X-Amz-Signature=sesame#part")
    assert address.location == "https://host/x.zip?X-Amz-Signature=sesame"
    assert "sesame" not in repr(address) + address.public + address.name


@pytest.mark.parametrize(
    "text",
    [
        "https://jane:sesame@host/runs",
        "https://sesame@host/runs",
        "http://jane:sesame@host:80",
        "https://jane:ses@me@host/x.zip?q=1",
        "https://jane:sesame@host?x",
        "s3://jane:sesame@bucket/x",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match=r"holds a user name or password.*(netrc|AWS_ACCESS_KEY_ID)") as raised:
        addresses.parse(text)
    assert "sesame" not in str(raised.value)
    assert "jane" not in str(raised.value)


def test_an_at_sign_in_a_path_is_no_credential() -> None:
    assert addresses.parse("https://host/a@b/").public == "https://host/a@b/"
    assert addresses.parse("s3://bucket/a@b").public == "s3://bucket/a@b"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "an empty address"),
        ("http://host/\nx", "control characters"),
        ("ftp://host/x", "can't download from ftp:// addresses: give a directory or an archive"),
        ("gs://bucket/x", "can't download from gs://"),
        ("simplecache::http://host/x", "can't download from simplecache::http://"),
        ("http:///x", "a web address is http://host/path"),
        ("http://host:port/x", "a web address is http://host/path"),
        ("http://[::1/x", "a web address is http://host/path"),
        ("https://host/runs?token=sesame", "has a query"),
        ("s3:///x", "an s3:// address is s3://bucket/prefix"),
        ("file://host/x", "a file:// address is file:///absolute/path"),
    ],
)
def test_what_is_no_address_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        addresses.parse(text)
    assert sentence in str(raised.value)
    assert "sesame" not in str(raised.value)


def test_a_list_gives_each_address_a_directory_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "urls"
    file.write_text(
        "# the nightly runs\n\nhttps://host/night/12\nhttps://host/night/13  thirteenth\n"
        "  # another\ns3://bucket/x  by/team\t# of the team\n"
    )
    places = addresses.read_list(file)
    assert [(place.address.public, place.subdirectory) for place in places] == [
        ("https://host/night/12/", "host_night_12"),
        ("https://host/night/13/", "thirteenth"),
        ("s3://bucket/x", "by/team"),
    ]


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (["# nothing"], ["lists no address"]),
        (["https://h/x ../up"], [":1: '../up' can't be a subdirectory: its name leads out"]),
        (["https://h/x /abs/.."], [":1: 'abs/..' can't be a subdirectory"]),
        (["https://h/x .matbench"], [":1: '.matbench' can't be a subdirectory: hidden directories"]),
        (["https://h/x a b"], [":1: more than an address and a subdirectory"]),
        (["https://h/x", "https://h/x/"], [":2: would go to h_x, where https://h/x/ goes"]),
        (["https://h/x a", "https://h/y a/b"], [":2: would go to a/b, where https://h/x/ goes (a)"]),
        (["ftp://h/x", "https://h/y", "https://u:sesame@h"], [":1: can't download from", ":3: the https:// address"]),
    ],
)
def test_every_wrong_line_of_a_list_is_named(lines: list[str], sentences: list[str], tmp_path: Path) -> None:
    file = tmp_path / "urls"
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as raised:
        addresses.read_list(file)
    said = str(raised.value).splitlines()
    assert len(said) == len(sentences)
    assert all(sentence in line for sentence, line in zip(sentences, said, strict=True))
    assert "sesame" not in str(raised.value)


def test_a_list_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere: No such file"):
        addresses.read_list(tmp_path / "nowhere")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        addresses.read_list(tmp_path / "binary")


def test_a_list_of_matrixbenchmarking_is_read(tmp_path: Path) -> None:
    (tmp_path / "urls.yaml").write_text(
        "download:\n- {url: https://host/night/12, dest_dir: expe/twelve, settings: {}}\n- files: [more.yaml]\n"
    )
    (tmp_path / "more.yaml").write_text("- url: s3://bucket/x\n- url: s3://bucket/y\n  dest_dir: y\n")
    places = addresses.read_list(tmp_path / "urls.yaml")
    assert [(place.address.public, place.subdirectory) for place in places] == [
        ("https://host/night/12/", "expe/twelve"),
        ("s3://bucket/x", "bucket_x"),
        ("s3://bucket/y", "y"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "urls.yaml: not of the form download: [{url: …, dest_dir: …}]"),
        ("download: []", "lists no address"),
        ("download: [{url: https://h/x, dest: a}]", "0.dest: extra inputs are not permitted"),
        ("download: [{url: 3}]", "0.url: input should be a valid string"),
        ("download: [{}]", "entry 1: an empty address"),
        ("download: [{url: https://h/x, dest_dir: ../up}]", "entry 1: '../up' can't be a subdirectory"),
        ("download: [{url: https://h/x, settings: {a: 1}}]", "entry 1: a download adds no settings (a): write"),
        ("download: [{files: [nowhere.yaml]}]", "nowhere.yaml: No such file"),
        ("download: [{files: [urls.yaml]}]", "entry 1: urls.yaml lists itself"),
        ("download: [{", "urls.yaml: not valid YAML in line 2"),
        ("download: [{url: https://u:sesame@h}]", "entry 1: the https:// address at h holds a user name"),
    ],
)
def test_what_is_wrong_with_such_a_list_is_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "urls.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        addresses.read_list(file)
    assert sentence in str(raised.value)
    assert "sesame" not in str(raised.value)
