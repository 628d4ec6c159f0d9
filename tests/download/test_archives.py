"""Trees in archives: every format whole, and what a malicious archive would like to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from download_support.web import Answer, directory_server, nasty_server

from matrix_benchmarking.download import archive

Capture = pytest.CaptureFixture[str]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".tar": bytes,
    ".tar.gz": gzip.compress,
    ".tgz": gzip.compress,
    ".tar.bz2": bz2.compress,
    ".tar.xz": lzma.compress,
    ".tar.zst": lambda content: pyarrow.compress(content, "zstd", asbytes=True),
}
TARS = [".tar", ".tar.gz", ".tar.zst"]


def tar(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    """A tar file of these members, as they are."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size, info.mtime = len(member[1]), 1_700_000_000
                archive.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def pack(tree: Path, suffix: str) -> bytes:
    if suffix == ".zip":
        return zipped(*((str(path.relative_to(tree)), path.read_bytes()) for path in tree.rglob("*") if path.is_file()))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(tree, arcname=".")
    return COMPRESS[suffix](out.getvalue())


@pytest.mark.parametrize("suffix", [".zip", *COMPRESS])
def test_an_archive_is_fetched_whole_and_only_once(suffix, tree, download, files, capsys: Capture) -> None:
    Path(f"tree{suffix}").write_bytes(pack(tree, suffix))
    assert download(f"tree{suffix}", "--mode=all", workload=None) == 0
    assert files("here") == files(tree)
    assert all(Path("here", name).read_bytes() == (tree / name).read_bytes() for name in files(tree))
    assert download(f"tree{suffix}", "--mode=all", workload=None) == 0
    assert "Fetched 0 files" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".zip", ".tgz"])
def test_a_mode_chooses_in_an_archive_too(suffix, tree, download, files) -> None:
    Path(f"tree{suffix}").write_bytes(pack(tree, suffix))
    assert download(f"tree{suffix}", "--mode=cache_only") == 0
    assert len(files("here")) == 3 * 5


@pytest.mark.parametrize("suffix", [".zip", ".tgz"])
def test_an_archive_on_a_web_server_is_fetched_again_only_if_it_changed(suffix, tree, directory, download, files):
    web_root = directory / "web"
    web_root.mkdir()
    archive = web_root / f"tree{suffix}"
    archive.write_bytes(pack(tree, suffix))
    with directory_server(web_root) as web:
        address = f"{web.url}tree{suffix}"
        assert download(address, "--mode=all") == 0
        assert files("here") == files(tree)
        assert not list(Path("here/.matbench").glob("archive*"))
        web.requests.clear()
        assert download(address, "--mode=all") == 0
        assert web.gets() == []
        (tree / "new.txt").write_text("new")
        archive.write_bytes(pack(tree, suffix))
        assert download(address, "--mode=all") == 0
        assert Path("here/new.txt").read_text() == "new"
        Path("here/new.txt").unlink()
        assert download(address, "--mode=all") == 0
        assert Path("here/new.txt").exists()


NAMES = [
    "../escaped",
    "a/../../escaped",
    "/escaped",
    "//escaped",
    "back\\slash",
    "..\\escaped",
    "new\nline",
    "a//b",
    "x/" * 60 + "deep",
    ".matbench/download.json",
    ".matbench/x",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [tar, zipped], ids=["tar", "zip"])
def test_a_name_that_leads_elsewhere_is_left_out(make, name, directory, download, files) -> None:
    suffix = ".tar" if make is tar else ".zip"
    Path(f"bad{suffix}").write_bytes(make((name, b"evil"), ("good", b"good")))
    assert download(f"bad{suffix}", "--mode=all") == 0
    assert files("here") == {"good"}
    assert not list(directory.parent.rglob("*escaped*"))
    assert not Path("/escaped").exists()
    assert not Path("here/.matbench/x").exists()


@pytest.mark.parametrize(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc"),
        special("link", tarfile.SYMTYPE, ".."),
        special("link", tarfile.LNKTYPE, "/etc/passwd"),
        special("link", tarfile.CHRTYPE),
        special("link", tarfile.BLKTYPE),
        special("link", tarfile.FIFOTYPE),
        special("link", tarfile.CONTTYPE),
    ],
    ids=["symlink", "symlink up", "hard link", "character device", "block device", "pipe", "contiguous"],
)
def test_links_and_devices_of_a_tar_are_left_out_and_not_written_through(member, download, files, capsys) -> None:
    Path("bad.tar").write_bytes(tar(member, ("link/x", b"evil"), ("good", b"good")))
    assert download("bad.tar", "--mode=all") == 0
    assert files("here") == {"good", "link/x"}
    assert not Path("here/link").is_symlink()
    if member.type != tarfile.CONTTYPE:
        what = "a link" if member.linkname else "not a regular file"
        assert f"'link': left out, {what}\n" in capsys.readouterr().err
    assert not Path("/etc/x").exists()


@pytest.mark.parametrize(
    ("kind", "what"),
    [(stat.S_IFLNK, "a link"), (stat.S_IFCHR, "not a regular file"), (stat.S_IFIFO, "not a regular file")],
)
def test_links_and_devices_of_a_zip_are_left_out(kind, what, download, files, capsys: Capture) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (kind | 0o777) << 16
    Path("bad.zip").write_bytes(zipped((info, b"/etc"), ("link/x", b"x"), ("good", b"good")))
    assert download("bad.zip", "--mode=all") == 0
    assert files("here") == {"good", "link/x"}
    assert f"'link': left out, {what}\n" in capsys.readouterr().err


def test_a_name_with_nul_in_a_zip_is_left_out(download, files) -> None:
    Path("bad.zip").write_bytes(zipped(("aXb", b"evil"), ("good", b"x")).replace(b"aXb", b"a\0b"))
    assert download("bad.zip", "--mode=all") == 0
    assert files("here") == {"good"}


def test_an_encrypted_member_is_left_out(download, files, capsys: Capture) -> None:
    content = bytearray(zipped(("secret", b"x"), ("good", b"x")))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    Path("bad.zip").write_bytes(content)
    assert download("bad.zip", "--mode=all") == 0
    assert files("here") == {"good"}
    assert "it is encrypted" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".zip", *TARS])
def test_an_archive_that_declares_too_much_is_refused_before_anything_is_written(suffix, download, files, capsys):
    members = [(f"x{number}", bytes(100_000)) for number in range(20)]
    content = zipped(*members) if suffix == ".zip" else COMPRESS[suffix](tar(*members))
    Path(f"bomb{suffix}").write_bytes(content)
    assert download(f"bomb{suffix}", "--mode=all", "--max-bytes=1000000") == 2
    assert "the archive declares more than 1,000,000 bytes; --max-bytes raises the limit" in capsys.readouterr().err
    assert not files("here")
    assert download(f"bomb{suffix}", "--mode=all", "--max-bytes=2000000") == 0


@pytest.mark.parametrize("make", [tar, zipped], ids=["tar", "zip"])
def test_an_archive_of_too_many_members_is_refused(make, download, files, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 3)
    suffix = ".tar" if make is tar else ".zip"
    for count in (3, 4):
        Path(f"many-{count}{suffix}").write_bytes(make(*((f"x{number}", b"x") for number in range(count))))
    assert download(f"many-4{suffix}", "--mode=all") == 2
    assert "the archive has more than 3 members" in capsys.readouterr().err
    assert not files("here")
    assert download(f"many-3{suffix}", "--mode=all") == 0


def test_a_member_that_is_longer_than_it_declares_is_damage(download, files, capsys: Capture) -> None:
    content = zipped(("x", bytes(1_000_000)))
    Path("bomb.zip").write_bytes(content.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert download("bomb.zip", "--mode=all") == 2
    assert "the archive is damaged" in capsys.readouterr().err
    assert not files("here")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_of_huge_size_is_refused_without_being_read(kind, download, capsys: Capture) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 1 << 40
    Path("bomb.tar.gz").write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    assert download("bomb.tar.gz", "--mode=all") == 2
    assert "the archive is damaged" in capsys.readouterr().err


def test_a_tar_whose_sizes_lead_backwards_is_refused(download, capsys: Capture) -> None:
    header = tarfile.TarInfo("x")
    header.size = -512
    content = header.tobuf(tarfile.GNU_FORMAT) * 2 + bytes(1024)
    Path("bomb.tar").write_bytes(content)
    assert download("bomb.tar", "--mode=all") == 2
    assert "the archive is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".zip", *COMPRESS])
@pytest.mark.parametrize("damage", ["empty", "text", "cut"])
def test_a_damaged_archive_is_a_sentence(suffix, damage, tree, download, files, capsys: Capture) -> None:
    whole = pack(tree, suffix)
    Path(f"bad{suffix}").write_bytes({"empty": b"", "text": b"<html>not found</html>", "cut": whole[:-20_000]}[damage])
    assert download(f"bad{suffix}", "--mode=all") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "archive" in said
    assert "internal error" not in said


def test_a_damaged_header_in_the_middle_is_not_taken_for_the_end(download, capsys: Capture) -> None:
    content = bytearray(tar(("a", b"a"), ("b", b"b"), ("c", b"c")))
    content[1024:1536] = b"?" * 512
    Path("bad.tar").write_bytes(content)
    assert download("bad.tar", "--mode=all") == 2
    assert "there is no header at byte 1,024" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_what_is_appended_to_an_archive_is_said_to_be_left_out(suffix, download, capsys: Capture) -> None:
    one, two = tar(("x", b"x")), tar(("y", b"y"))
    Path(f"both{suffix}").write_bytes(COMPRESS[suffix](one) + COMPRESS[suffix](two))
    assert download(f"both{suffix}", "--mode=all") == 0
    said = capsys.readouterr().err
    assert f"'all from byte {len(one):,} on': left out, it is behind the end of the archive, as where another" in said
    Path(f"one{suffix}").write_bytes(COMPRESS[suffix](one + bytes(3 << 20)))  # filled up, as on a tape
    assert download(f"one{suffix}", "--mode=all", to="there") == 0
    assert "behind the end" not in capsys.readouterr().err


def test_a_tar_that_was_cut_off_between_two_members_is_damaged(download, files, capsys: Capture) -> None:
    Path("cut.tar").write_bytes(tar(("x", b"x"), ("y", b"y"))[:1024])
    assert download("cut.tar", "--mode=all") == 2
    assert "it ends at byte 1,024 without the mark of its end, as if cut off" in capsys.readouterr().err
    assert not files("here")


def test_the_last_of_two_members_with_one_name_counts(download) -> None:
    Path("two.tar").write_bytes(tar(("x", b"old"), ("y", b"y"), ("x", b"new")))
    assert download("two.tar", "--mode=all") == 0
    assert Path("here/x").read_bytes() == b"new"


def test_the_signature_of_an_address_is_not_kept_or_shown(directory, download, files, capsys: Capture) -> None:
    signed = "tree.zip?X-Amz-Signature=sesame&X-Amz-Credential=jane"
    with nasty_server({"/tree.zip": Answer(zipped(("x", b"x")), Content_Type="application/zip")}) as nasty:
        assert download(f"{nasty.url}{signed}", "--mode=all") == 0
        assert ("GET", f"/{signed}") in nasty.requests
        assert download(f"{nasty.url}gone.zip?X-Amz-Signature=sesame", "--mode=all", to="there") == 2
        assert download(f"{nasty.url}gone.zip?X-Amz-Signature=sesame", "--mode=all", "--debug", to="there") == 2
    assert download(f"{nasty.url}{signed}", "--mode=all", "--debug", to="again") == 2
    kept = "".join(path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())
    assert "sesame" not in kept + "".join(capsys.readouterr())


def test_a_pipe_with_the_name_of_an_archive_is_not_waited_for(download, capsys: Capture) -> None:
    os.mkfifo("pipe.tar")
    assert download("pipe.tar", "--mode=all") == 2
    assert "neither a file nor a directory" in capsys.readouterr().err
