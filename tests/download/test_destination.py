"""The destination: never left, never taken from somebody else, always whole files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matrix_benchmarking.download.fetch import Destination
from matrix_benchmarking.download.source import File, Trouble
from matrix_benchmarking.download_record import is_downloaded
from matrix_benchmarking.errors import OutputError

Capture = pytest.CaptureFixture[str]


def test_a_link_to_a_directory_in_the_destination_is_not_written_through(tree, directory, download, capsys: Capture):
    outside = directory / "outside"
    outside.mkdir()
    Path("here").mkdir()
    os.symlink(outside, "here/batch_8")
    assert download(tree, "--mode=all") == 2
    assert "here/batch_8: it is a link; remove it or choose another destination" in capsys.readouterr().err
    assert not list(outside.iterdir())


def test_a_link_in_the_place_of_the_books_is_not_written_through(tree, directory, download, capsys: Capture) -> None:
    outside = directory / "outside"
    outside.mkdir()
    Path("here").mkdir()
    os.symlink(outside, "here/.matbench")
    assert download(tree, "--mode=all") == 2
    assert "it is a link" in capsys.readouterr().err
    assert not list(outside.iterdir())


def test_a_link_in_the_place_of_a_fetched_file_is_replaced_not_followed(tree, directory, download) -> None:
    assert download(tree, "--mode=all") == 0
    (directory / "precious").write_text("precious")
    name = next(tree.rglob("exit_code")).relative_to(tree)
    Path("here", name).unlink()
    os.symlink(directory / "precious", Path("here", name))
    assert download(tree, "--mode=all") == 0
    assert (directory / "precious").read_text() == "precious"
    assert not Path("here", name).is_symlink()
    assert Path("here", name).read_text() == "0\n"


@pytest.mark.parametrize("how", ["file", "link"])
def test_what_the_download_did_not_bring_is_never_overwritten(how, tree, directory, download, files, capsys) -> None:
    name = next(tree.rglob("settings.yaml")).relative_to(tree)
    mine = Path("here", name)
    mine.parent.mkdir(parents=True)
    if how == "file":
        mine.write_text("mine: 1\n")
    else:
        os.symlink(directory / "nowhere", mine)
    assert download(tree) == 2
    said = capsys.readouterr().err
    assert f"holds {name}, which this download would overwrite" in said
    assert "choose another --results-dirname" in said
    assert files("here") == {name.as_posix()}
    assert not is_downloaded(Path("here"))


def test_a_cache_of_a_parse_is_replaced_by_the_one_that_is_fetched(tree, download) -> None:
    cache = next(tree.rglob(".matbench_encoder_bench.cache")).relative_to(tree)
    Path("here", cache).parent.mkdir(parents=True)
    Path("here", cache).write_bytes(b"made by a parse")
    assert download(tree) == 0
    assert Path("here", cache).read_bytes() == (tree / cache).read_bytes()


def test_another_address_needs_another_destination(tree, directory, download, capsys: Capture) -> None:
    assert download(tree) == 0
    (directory / "other").mkdir()
    (directory / "other" / "x").write_text("x")
    assert download("other", "--mode=all") == 2
    assert f"the destination holds the download of {tree}: choose another" in capsys.readouterr().err
    assert not Path("here/x").exists()


def test_an_address_from_which_nothing_came_does_not_bind_the_destination(tree, download) -> None:
    assert download(tree.parent / "nowhere") == 2
    assert download(tree) == 0


@pytest.mark.parametrize("to", ["{tree}", "{tree}/inside", "{tree}/.."])
def test_a_tree_is_not_downloaded_into_itself(to, tree, download, files, capsys: Capture) -> None:
    before = files(tree)
    assert download(tree, "--mode=all", to=to.format(tree=tree)) == 2
    assert "lie in one another" in capsys.readouterr().err
    assert files(tree) == before


@pytest.mark.parametrize(
    ("to", "sentence"),
    [("file", "cannot write to file: it is a file"), ("file/below", "Not a directory"), ("/proc/x/y", "No such file")],
)
def test_a_destination_that_cannot_be_written_is_a_sentence(to, sentence, tree, download, capsys: Capture) -> None:
    Path("file").write_text("x")
    assert download(tree, to=to) == 2
    said = capsys.readouterr().err
    assert said.startswith("matbench: cannot write to")
    assert sentence in said
    assert said.count("\n") == 1


def test_a_directory_in_the_place_of_a_file_stops_the_tree_with_a_sentence(tree, download, capsys: Capture) -> None:
    assert download(tree) == 0
    name = next(tree.rglob("exit_code")).relative_to(tree)
    Path("here", name).unlink()
    Path("here", name).mkdir()
    assert download(tree) == 2
    assert f"cannot write {Path('here', name).resolve()}: Is a directory" in capsys.readouterr().err


def test_more_bytes_than_allowed_are_refused_before_and_during_the_fetching(tree, download, files, capsys) -> None:
    from download_support.web import directory_server

    assert download(tree, "--mode=all", "--max-bytes=1000") == 2
    assert "bytes are to be fetched, more than 1,000; --max-bytes raises the limit" in capsys.readouterr().err
    assert not files("here")
    with directory_server(tree) as web:
        assert download(web.url, "--mode=all", "--max-bytes=10000") == 2
    assert "more than 10,000 bytes; --max-bytes raises the limit" in capsys.readouterr().err
    assert sum(Path("here", name).stat().st_size for name in files("here")) <= 10_000


def test_more_than_the_disk_has_room_for_is_refused(tree, directory, download, files, capsys: Capture) -> None:
    with (tree / "huge").open("wb") as stream:
        stream.truncate(1 << 55) if os.statvfs(tree).f_bsize >= 1 << 20 else stream.truncate(1 << 43)
    assert download(tree, "--mode=all", f"--max-bytes={1 << 60}") == 2
    assert "bytes are to be fetched, and" in capsys.readouterr().err
    assert not files("here")


@pytest.mark.parametrize("size", [2, 4])
def test_a_file_of_another_size_than_announced_is_not_kept(size, directory) -> None:
    destination = Destination(directory / "here")
    with pytest.raises(Trouble, match=f"ended after 3 of {size} bytes"):
        destination.write(File("x", size), [b"a", b"bc"])
    assert list(Path("here").iterdir()) == []


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "", "a//b", "a\0b", "a\nb", "a\\b"])
def test_a_name_that_leads_out_is_refused_once_more_where_it_is_written(name, directory) -> None:
    with pytest.raises(OutputError):
        Destination(directory / "here").write(File(name), [b"x"])
    assert {path.name for path in directory.iterdir()} == {"here"}


def test_the_time_of_a_file_is_that_of_its_source(tree, download) -> None:
    assert download(tree, "--mode=all") == 0
    for path in tree.rglob("*.json"):
        assert Path("here", path.relative_to(tree)).stat().st_mtime_ns == path.stat().st_mtime_ns
