"""Reading VNN-LIB files, plain or gzipped, under a size limit."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.formats.vnnlib.parse import parse_vnnlib
from surefoot.formats.vnnlib.specification import Specification

MOST_BYTES = 256 * 2**20
MOST_RATIO = 200  # of unpacked to packed size beyond the first megabyte; real queries stay below 40
_GZIP = b"\x1f\x8b"


def read_vnnlib_file(path: Path) -> Specification:
    """The specification in a VNN-LIB 1 file, plain or gzipped. Errors name file, line and column."""
    try:
        return parse_vnnlib(_read_text(path))
    except SurefootError as error:
        raise error.at(str(path)) from None


def _read_text(path: Path) -> str:
    data = _read_bytes(path)
    if data.startswith(_GZIP):
        data = _unpack_gzip(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidProblem("this is not a text file", fix="give a .vnnlib or .vnnlib.gz file") from None


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise InvalidProblem("this is a directory", fix="give the .vnnlib file inside it")
        if not path.exists():
            raise InvalidProblem("there is no such file", fix="check the path")
        if not path.is_file():
            raise InvalidProblem("this is not a regular file", fix="give a .vnnlib file")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidProblem(f"cannot be read: {error.strerror or 'input/output error'}") from None
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"larger than {MOST_BYTES // 2**20} MB", fix="split the query")
    return data


def _unpack_gzip(data: bytes) -> bytes:
    """The content of gzipped data; a bomb is refused before it is unpacked."""
    most = min(MOST_BYTES, max(2**20, MOST_RATIO * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidProblem("the gzip file is damaged or cut off", fix="fetch it again") from None
    if len(content) > most:
        much = f"{MOST_BYTES // 2**20} MB" if most == MOST_BYTES else f"{MOST_RATIO} times its size"
        raise InvalidProblem(f"the gzip file unpacks to more than {much}", fix="give the unpacked file")
    return content
