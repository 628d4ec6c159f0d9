"""Inputs of a load: texts or images in a file, a directory, or a column of a dataset, which may be on the Hub."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from matrix_benchmarking.config import Section
from matrix_benchmarking.download import hub
from matrix_benchmarking.errors import MatbenchError, needing, os_reason
from matrix_benchmarking.files import atomic_write, read_regular

MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
LONGEST_CELL = 100 << 20
_FORM = '{"input": "…", "label": "…"}'


class InputsError(MatbenchError):
    """Inputs that can't be read; the sentence says which and why."""


class InputsFile(Section):
    """A dataset.

    Attributes:
        file: .parquet, .csv, .jsonl or .json, here or at ``hf://datasets/owner/name/path``.
        column: holds the texts or images; ``input`` where left out.
        label: the column with the labels; ``label``, if there is one, where neither is named.
    """

    file: str
    column: str | None = None
    label: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """A text or a data URI, and the label that is right for it, where that is known."""

    input: str
    label: str | None = None


def read_inputs(path: Path, column: str | None = None, label: str | None = None) -> list[Input]:
    """The inputs of *path*: lines of text, a *column* of rows, or a directory of images.

    Images in subdirectories have the subdirectory's name as their label. Empty lines and cells are left out.

    Raises:
        InputsError: there are none, or one is broken.
    """
    try:
        found = _read(path, column, label)
    except OSError as error:
        raise InputsError(f"the inputs {error.filename or path} can't be read: {os_reason(error).lower()}") from error
    except UnicodeDecodeError as error:
        raise InputsError(f"the inputs {path} are not UTF-8 text: {error.reason} at byte {error.start}") from error
    if not found:
        raise InputsError(f"the inputs {path} are empty")
    return found


def read_source(source: str | InputsFile, base: Path) -> list[Input]:
    """The inputs that a benchmark file in *base* names; MatbenchError where they can't be read or fetched."""
    given = InputsFile(file=source) if isinstance(source, str) else source
    path = hub.fetched(given.file) if given.file.startswith(hub.SCHEME) else base / given.file
    return read_inputs(path, given.column, given.label)


def name_of(source: str | InputsFile) -> str:
    """What a record calls them: an address, or the name of a file without its place on this machine."""
    file = source if isinstance(source, str) else source.file
    name = file if file.startswith(hub.SCHEME) else Path(file).name
    return name if isinstance(source, str) or source.column is None else f"{name} ({source.column})"


def write_inputs(inputs: Iterable[Input], path: Path) -> None:
    """Write JSON Lines, as the k6 script reads them."""
    with atomic_write(path, durable=False) as stream:
        for each in inputs:
            content = {"input": each.input} | ({} if each.label is None else {"label": each.label})
            stream.write(json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def digest(inputs: Sequence[Input]) -> str:
    """SHA-256 of the inputs and their labels, in their order."""
    content = json.dumps([[each.input, each.label] for each in inputs])
    return hashlib.sha256(content.encode()).hexdigest()


def _read(path: Path, column: str | None, label: str | None) -> list[Input]:
    if path.is_dir():
        if column is not None or label is not None:
            raise InputsError(f"the inputs {path} are a directory, which has no columns")
        return _images(path)
    kind = path.suffix.lower()
    if read_rows := _ROWS.get(kind):
        return list(_from_rows(read_rows(path), column, label))
    if kind in MEDIA_TYPES:
        raise InputsError(f"the inputs {path} are one image: give the directory that it is in")
    if column is not None or label is not None:
        raise InputsError(f"the inputs {path} are lines of text: only {', '.join(_ROWS)} have columns")
    return [Input(line.strip()) for line in _lines(path) if line.strip()]


def _lines(path: Path) -> list[str]:
    # Only line feeds separate lines: a text may hold any other of Unicode's line breaks.
    return read_regular(path).decode("utf-8").split("\n")


Row = tuple[str, Mapping[str, object]]
"""Where it is, for a sentence, and its cells."""


def _json_lines(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputsError(f"{path}:{number}: is not JSON: {error}") from error
        if not isinstance(content, dict):
            raise InputsError(f"{path}:{number}: is not of the form {_FORM}")
        yield f"{path}:{number}", content


def _json(path: Path) -> Iterator[Row]:
    try:
        content = json.loads(read_regular(path))
    except (ValueError, RecursionError) as error:
        raise InputsError(f"the inputs {path} are no JSON: {error}") from error
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise InputsError(f"the inputs {path} are no list of objects, as [{_FORM}]")
    yield from ((f"{path}: row {number}", row) for number, row in enumerate(content, 1))


def _csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_CELL)
    try:
        rows = csv.reader(io.StringIO(read_regular(path).decode("utf-8-sig"), newline=""), strict=True)
        names = next(rows, [])
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputsError(f"{path}: the first row names {', '.join(twice)} twice")
        for number, row in enumerate(filter(None, rows), 1):
            if len(row) != len(names):
                raise InputsError(f"{path}: row {number} has {len(row)} cells, and the first row {len(names)} names")
            yield f"{path}: row {number}", {name: cell or None for name, cell in zip(names, row, strict=True)}
    except csv.Error as error:
        raise InputsError(f"the inputs {path} are no CSV: {error}") from error


def _parquet(path: Path) -> Iterator[Row]:
    with needing("inputs in Parquet", "parquet"):
        import pyarrow
        import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = _class_names((file.schema_arrow.metadata or {}).get(b"huggingface"))
            for batch in file.iter_batches(1024):
                for row in batch.to_pylist():
                    number += 1
                    yield (
                        f"{path}: row {number}",
                        row | {name: known.get(row[name]) for name, known in names.items() if name in row},
                    )
    except pyarrow.ArrowException as error:
        raise InputsError(f"the inputs {path} are no Parquet that can be read: {error}") from error


def _class_names(written: bytes | None) -> dict[str, dict[object, str]]:
    """What the numbers in columns of classes mean, as the Hub's datasets say it in a Parquet file's metadata."""
    try:
        features = json.loads(written or b"{}")["info"]["features"]
        return {
            column: {number: str(name) for number, name in enumerate(feature["names"])}
            for column, feature in features.items()
            if feature.get("_type") == "ClassLabel"
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}


_ROWS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines, ".json": _json}


def _from_rows(rows: Iterable[Row], column: str | None, label: str | None) -> Iterator[Input]:
    known = "label" if column is None and label is None else label
    for where, row in rows:
        for name in (column or "input", label):
            if name is not None and name not in row:
                form = f"is not of the form {_FORM}: " if column is None and label is None else ""
                known_names = ", ".join(row) or "none at all"
                raise InputsError(f"{where}: {form}it has no column '{name}', but {known_names}")
        value = row[column or "input"]
        if value is None or value == "":
            continue
        right = row.get(known) if known is not None else None
        if right is not None and not isinstance(right, str):
            raise InputsError(f"{where}: the label {right!r:.80} is not text: write it in quotes")
        yield Input(_text(value, where, column or "input"), right)


def _text(value: object, where: str, column: str) -> str:
    """A cell as text; an image, as the Hub's datasets have them (``{bytes: …, path: …}``), as a data URI."""
    if isinstance(value, str):
        return value
    content = value.get("bytes") if isinstance(value, dict) else value
    if isinstance(content, bytes):
        for magic, media_type in _MAGIC.items():
            if content.startswith(magic):
                return _data_uri(content, media_type)
    raise InputsError(f"{where}: '{column}' is neither text nor an image: {value!r:.80}")


def _data_uri(content: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def _images(directory: Path) -> list[Input]:
    found = []
    for path in sorted(directory.rglob("*")):
        media_type = MEDIA_TYPES.get(path.suffix.lower())
        if media_type is None or not path.is_file():
            continue
        label = path.parent.relative_to(directory).as_posix()
        found.append(Input(_data_uri(path.read_bytes(), media_type), None if label == "." else label))
    return found
