"""The bytes of a file that may be hostile: size limits, gzip, and the error that every reader raises."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from .strict_json import BadCertificate, escape_unprintable

MOST_BYTES = 512 * 2**20
MOST_RATIO = 200  # of unpacked to packed size beyond the first megabyte
_GZIP = b"\x1f\x8b"


class ReadError(BadCertificate):
    """The file cannot be read, or says something that the checker does not know how to read."""


def read_file_bytes(path: Path) -> bytes:
    """The content of a regular file as it is, under the size limit: what a digest is taken of."""
    try:
        if not path.is_file():
            raise ReadError(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror or 'cannot be read'}") from None
    if len(data) > MOST_BYTES:
        raise ReadError(f"{path}: larger than {MOST_BYTES} bytes")
    return data


def decompress_gzip(data: bytes) -> bytes:
    """The content of gzipped data, or the data itself; a bomb is refused before it is unpacked."""
    if not data.startswith(_GZIP):
        return data
    most = min(MOST_BYTES, max(2**20, MOST_RATIO * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(most + 1)
    except (EOFError, OSError, zlib.error):
        raise ReadError("the gzip file is damaged or cut off") from None
    if len(content) > most:
        raise ReadError(f"the gzip file unpacks to more than {most} bytes")
    return content


def quote_for_message(word: str, most: int = 60) -> str:
    """A piece of a file, quoted for a message: without control characters and backquotes, not too long."""
    short = word if len(word) <= most else word[: most - 1] + "…"
    return "`" + escape_unprintable(short).replace("`", r"\x60") + "`"
