"""Unpacks the runs of encoder_bench, which are one archive instead of 2,295 files of each clone; once for each archive.

python data/samples/unpack.py
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parent / "encoder_bench.tar.gz"


def unpack(archive: Path = ARCHIVE) -> bool:
    """Put what *archive* holds into the directory of its name, in place of what an earlier one held.

    False where it is there already, whole: a checkout of before the archive takes the files away with it.

    Raises:
        OSError, tarfile.TarError, EOFError, zlib.error: the archive can't be read, or its files can't be written.
    """
    place = archive.with_name(archive.name.removesuffix(".tar.gz"))
    mark = archive.with_name(f".{place.name}.unpacked")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as opened:
        is_this_one = mark.is_file() and mark.read_bytes() == digest.encode()
        if is_this_one and all(_is_there(place / member.name, member) for member in opened):
            return False
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpacking-") as directory:
            opened.extractall(directory, filter="data")
            place.mkdir(exist_ok=True)
            for made in Path(directory).iterdir():
                shutil.rmtree(place / made.name, ignore_errors=True)
                made.rename(place / made.name)
    mark.write_text(digest, encoding="utf-8")
    return True


def _is_there(path: Path, member: tarfile.TarInfo) -> bool:
    return path.is_file() and path.stat().st_size == member.size if member.isfile() else path.exists()


if __name__ == "__main__":
    try:
        unpack()
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        sys.exit(f"the sample can't be unpacked: {error}")
