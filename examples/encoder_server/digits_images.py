"""Images of digits as they travel: 8 × 8 grey pixels to and from `data:image/png;base64,…`."""

from __future__ import annotations

import base64
import binascii
import io
import struct
import zlib

from PIL import Image

SIDE = 8
PREFIX = "data:image/png;base64,"
MAX_CHARACTERS = 100_000
MAX_SIDE = 1024
UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError)
"""What Pillow raises for damaged files, depending on where the damage is."""


def pixels_of(data_uri: object) -> bytes:
    """Return the 64 grey values of an image, row by row, 0 for the background and 255 for ink.

    An image of another size is resized, one with colours is turned into grey.

    Raises:
        ValueError: not a string, not a data URI of a PNG image, not readable, of 16 bits a channel, or larger than
            1024 × 1024 pixels.
    """
    if not isinstance(data_uri, str) or not data_uri.startswith(PREFIX):
        raise ValueError(f"the image should be a data URI that starts with {PREFIX}")
    if len(data_uri) > MAX_CHARACTERS:
        raise ValueError(f"the data URI should have at most {MAX_CHARACTERS} characters")
    try:
        encoded = base64.b64decode(data_uri.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("the data URI should be base64") from error
    return _decoded(encoded)


def data_uri_of(pixels: bytes) -> str:
    """Return the data URI of 64 grey values, row by row, as a PNG image of 8 × 8 pixels."""
    buffer = io.BytesIO()
    Image.frombytes("L", (SIDE, SIDE), pixels).save(buffer, "PNG", optimize=True)
    return PREFIX + base64.b64encode(buffer.getvalue()).decode("ascii")


def _decoded(png: bytes) -> bytes:
    try:
        # Opening reads only the header: an image that claims to be huge is refused before memory is taken for it.
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            problem = _refusal(image)
            grey = image if problem else image.convert("L")
    except UNREADABLE as error:
        raise ValueError("the image should be a readable PNG file") from error
    if problem:
        raise ValueError(problem)
    if grey.size != (SIDE, SIDE):
        grey = grey.resize((SIDE, SIDE), Image.Resampling.BOX)
    return grey.tobytes()


def _refusal(image: Image.Image) -> str | None:
    """Return why an image that could be read is not taken, None if it is."""
    if max(image.size) > MAX_SIDE:
        return f"the image should be at most {MAX_SIDE} × {MAX_SIDE} pixels"
    if image.mode.startswith("I"):
        return "the image should have 8 bits a channel, not 16"  # which Pillow would clip to white
    return None
