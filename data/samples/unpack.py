"""Unpacks the runs of encoder_bench, which are one archive instead of 2,295 files of each clone; once for each archive.

python data/samples/unpack.py
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parent / "encoder_bench.tar.gz"


def unpack(archive: Path = ARCHIVE) -> bool:
    """Put what *archive* holds into the directory of its name, in place of what an earlier one held.

    False where it is there already, whole: a checkout of before the archive takes the files away with it.
    """
    place = archive.with_name(archive.name.removesuffix(".tar.gz"))
    mark = archive.with_name(f".{place.name}.unpacked")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    with (
        tarfile.open(archive) as opened,
        tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpacking-") as directory,
    ):
        is_this_one = mark.is_file() and mark.read_text(encoding="utf-8") == digest
        if is_this_one and all((place / name).exists() for name in opened.getnames()):
            return False
        opened.extractall(directory, filter="data")
        place.mkdir(exist_ok=True)
        for made in Path(directory).iterdir():
            shutil.rmtree(place / made.name, ignore_errors=True)
            made.rename(place / made.name)
    mark.write_text(digest, encoding="utf-8")
    return True


if __name__ == "__main__":
    unpack()
