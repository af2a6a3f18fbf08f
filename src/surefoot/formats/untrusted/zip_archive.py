"""Open a zip that may be hostile: everything is counted and measured before anything is unpacked.

Members are read into memory one by one, never extracted. The end record is checked by hand first, because
`zipfile` walks the whole directory of a file before a caller can ask how long it is.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass

from surefoot.errors import InvalidProblem

MOST_MEMBERS = 4096
MOST_DIRECTORY_BYTES = 1 << 20
MOST_MEMBER_BYTES = 256 << 20
MOST_TOTAL_BYTES = 512 << 20
MOST_RATIO = 200  # deflated float32 weights reach about 1.2, text about 20
RATIO_MATTERS_ABOVE = 1 << 20

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENCRYPTED = 0x1
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Archive:
    """The bytes of a zip whose directory has passed every limit, and the size of each member."""

    data: bytes
    sizes: dict[str, int]
    where: str


def is_zip(data: bytes) -> bool:
    return data[:4] in (b"PK\x03\x04", b"PK\x05\x06")


def open_archive(data: bytes, where: str) -> Archive:
    """Check the directory of a zip: number and names of members, their sizes, how they are packed."""
    _check_end_record(data, where)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
    except _DAMAGE as problem:
        raise _damage_error(where) from problem
    sizes: dict[str, int] = {}
    for entry in entries:
        _check_entry(entry, where)
        if entry.filename in sizes:
            raise InvalidProblem(
                f"the zip has two members called `{_printable_name(entry.filename)}`", where=where
            )
        sizes[entry.filename] = entry.file_size
    if sum(sizes.values()) > MOST_TOTAL_BYTES:
        total = sum(sizes.values())
        raise InvalidProblem(f"the zip unpacks to {total} bytes, more than {MOST_TOTAL_BYTES}", where=where)
    return Archive(data, sizes, where)


def read_member(archive: Archive, name: str) -> bytes:
    """The bytes of one member, checked against the size and the checksum of the directory."""
    if name not in archive.sizes:
        raise InvalidProblem(f"the zip has no member `{name}`", where=archive.where)
    size = archive.sizes[name]
    try:
        with zipfile.ZipFile(io.BytesIO(archive.data)) as file, file.open(name) as member:
            content = member.read(size + 1)
            member.read(1)  # the end of a member is where its checksum is compared
    except _DAMAGE as problem:
        raise InvalidProblem(f"the member `{name}` of the zip is damaged", where=archive.where) from problem
    if len(content) != size:
        raise InvalidProblem(f"the member `{name}` of the zip is damaged", where=archive.where)
    return content


def _check_end_record(data: bytes, where: str) -> None:
    if len(data) < _END.size:
        raise _damage_error(where)
    tag, _, _, _, members, size, _, comment = _END.unpack_from(data, len(data) - _END.size)
    if tag != b"PK\x05\x06" or comment:
        raise _damage_error(where)
    locator = len(data) - _END.size - _END64_LOCATOR.size
    if locator >= 0 and data[locator : locator + 4] == b"PK\x06\x07":
        position = locator - _END64.size
        if position < 0 or data[position : position + 4] != b"PK\x06\x06":
            raise _damage_error(where)
        if _END64_LOCATOR.unpack_from(data, locator)[2] != position:
            raise _damage_error(where)
        *_, members, size, _ = _END64.unpack_from(data, position)
    if members > MOST_MEMBERS or size > MOST_DIRECTORY_BYTES:
        raise InvalidProblem(f"the zip has more than {MOST_MEMBERS} members", where=where)


def _check_entry(entry: zipfile.ZipInfo, where: str) -> None:
    name = entry.orig_filename
    if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/") or "\0" in name:
        raise InvalidProblem(
            f"the zip has a member outside its folder: `{_printable_name(name)}`", where=where
        )
    if entry.flag_bits & _ENCRYPTED:
        raise InvalidProblem(f"the member `{_printable_name(name)}` is encrypted", where=where)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidProblem(
            f"the member `{_printable_name(name)}` is packed with an unknown method", where=where
        )
    if entry.file_size > MOST_MEMBER_BYTES:
        raise InvalidProblem(
            f"the member `{_printable_name(name)}` has {entry.file_size} bytes, more than "
            f"{MOST_MEMBER_BYTES}",
            where=where,
        )
    if entry.file_size > RATIO_MATTERS_ABOVE and entry.file_size > MOST_RATIO * entry.compress_size:
        raise InvalidProblem(
            f"the member `{_printable_name(name)}` unpacks to more than {MOST_RATIO} times its size",
            where=where,
        )


def _damage_error(where: str) -> InvalidProblem:
    return InvalidProblem("the zip is damaged or cut short", where=where)


def _printable_name(name: str) -> str:
    """A member name that fits into one line of a message, whatever it contains."""
    return name[:80].encode("ascii", "backslashreplace").decode().replace("\n", "\\n").replace("\r", "\\r")
