"""Write the pictures that digits-mlp has not been trained on, one JSON object a line: `input` (a data URI) and `label`.

The committed `digits.jsonl` is what this program writes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from digits_images import data_uri_of
from digits_model import LABELS, train_and_held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, metavar="OUTPUT.jsonl", help="file to write; what was there is replaced")
    output: Path = parser.parse_args().output
    unfinished = output.with_name(f"{output.name}.unfinished")
    unfinished.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    unfinished.replace(output)


def lines() -> Iterator[str]:
    _, held_out = train_and_held_out()
    for pixels, label in zip(held_out.pixels, held_out.labels, strict=True):
        yield json.dumps({"input": data_uri_of(pixels.tobytes()), "label": LABELS[label]})


if __name__ == "__main__":
    main()
