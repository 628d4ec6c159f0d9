"""Listings: the pages of nginx, Apache and others; and that no text leads out of the directory, or takes long."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.download.http import parse_html
from matrix_benchmarking.files import unsafe

URL = "https://host/runs/"

NGINX = """<html><head><title>Index of /runs/</title></head><body><h1>Index of /runs/</h1><hr><pre><a href="../">../</a>
<a href="batch_8/">batch_8/</a>                                    18-Nov-2026 10:00                   -
<a href="a%20b.json">a b.json</a>                                  18-Nov-2026 10:00                 373
<a href="a_very_long_name_that_nginx_cuts_in_the_text_but_not_in_the_link.json">a_very_long_name_that_ngi..&gt;</a>
</pre><hr></body></html>"""
APACHE = """<table><tr><th valign="top"><img src="/icons/blank.gif" alt="[ICO]"></th>
<th><a href="?C=N;O=D">Name</a></th>
<th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/">Parent Directory</a></td></tr>
<tr><td><img src="/icons/folder.gif" alt="[DIR]"></td><td><a href="batch_8/">batch_8/</a></td></tr>
<tr><td><img src="/icons/text.gif" alt="[TXT]"></td><td><A class='x' HREF='x&amp;y.json'>x&amp;y.json</A></td></tr>
</table>"""


@pytest.mark.parametrize(
    ("page", "files", "directories"),
    [
        (
            NGINX,
            ["a b.json", "a_very_long_name_that_nginx_cuts_in_the_text_but_not_in_the_link.json"],
            ["batch_8"],
        ),
        (APACHE, ["x&y.json"], ["batch_8"]),
        ("<a href=bare.txt>x</a><a\nhref = 'spaced.txt'>", ["bare.txt", "spaced.txt"], []),
        ('<a href="https://host:443/runs/full.txt">', ["full.txt"], []),
        ('<a href="/runs/absolute.txt">', ["absolute.txt"], []),
        ('<a href="http://host/runs/other_scheme.txt"><a href="https://host:444/runs/other_port.txt">', [], []),
        ('<a href="x.txt?download=1"><a href="sub/?C=N">', [], []),
        ('<a href="twice"><a href="twice/">', [], ["twice"]),
    ],
)
def test_a_page_gives_the_names_in_its_directory(page: str, files: list[str], directories: list[str]) -> None:
    found = parse_html(page, URL, "")
    assert [file.name for file in found.files] == files
    assert found.directories == directories


def test_names_are_below_the_directory_that_was_listed() -> None:
    found = parse_html(NGINX, URL, "deep/er")
    assert found.directories == ["deep/er/batch_8"]
    assert found.files[0].name == "deep/er/a b.json"


LINK_PARTS = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "//",
        "\\",
        "%2e",
        "%2f",
        "%5c",
        "%00",
        "%0a",
        "?",
        "#",
        ":",
        "@",
        "host",
        "https:",
        "runs",
        "x",
        ";",
    ]
)


@given(st.lists(LINK_PARTS, max_size=8).map("".join) | st.text(max_size=40))
def test_no_link_gives_a_name_that_leads_out(link: str) -> None:
    page = f"<a href='{link}'>" if "'" not in link else f'<a href="{link}">'
    found = parse_html(page, URL, "")
    for name in [*(file.name for file in found.files), *found.directories]:
        assert unsafe(name) is None
        assert "/" not in name


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<a " * 150_000, id="tags"),
        pytest.param("<a href=" * 80_000, id="attributes"),
        pytest.param('<a href="' * 80_000, id="quotes"),
        pytest.param("<a x='" + "y" * 800_000, id="no end"),
    ],
)
def test_no_page_hangs_the_parser(page: str) -> None:
    def give_up(*arguments: object) -> None:
        raise TimeoutError("the time grows faster than the page")

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)  # such a page takes less than a second, and would take most of an hour
    try:
        assert parse_html(page, URL, "").directories == []
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
