"""A run directory: results as they arrive, in an append-only file that survives being killed at any moment.

Each question has its own file, named after its fingerprint, which it begins with. Then comes one record after
another: the length of its payload and a checksum, then the payload (a JSON head with the shapes, then the
arrays). A record is on the disk before it counts (`fsync`). Whatever was being written when the process died
is a torn tail: its length or checksum is wrong, it is ignored, and cut off before the next record. So a
killed run loses at most what had not been recorded, and going on from what is there gives the same answer.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem

MAGIC = b"surefoot runs 1\n"
_HEAD = struct.Struct("<QI")  # length of the payload, CRC-32 of it
_LARGEST = 1 << 32
_KINDS = ("|i1", "<i8", "<f8")


@dataclass(frozen=True, slots=True, eq=False)
class RunRecord:
    """A piece of work (numbers that say which) and its arrays."""

    key: tuple[int, ...]
    arrays: tuple[NDArray[Any], ...]


class NotRecorded(InvalidProblem):
    """A result could not be written. What was recorded before is whole, and can be resumed."""


class RunDirectory:
    """Open for one process at a time. `resume`: go on with what is there; without it the folder is new."""

    def __init__(self, folder: Path, question: str, resume: bool) -> None:
        self._folder, self._question = folder, question
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{question[:16]}.results"
        if path.exists() and path.stat().st_size and not resume:
            raise InvalidProblem(
                f"`{folder}` has results of this question already",
                fix="go on with --resume, or choose another folder",
            )
        # Without a buffer: what could not be written must not be tried again when the file is closed.
        self._file: FileIO = open(path, "a+b", buffering=0)  # noqa: SIM115 - open as long as the run
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InvalidProblem(
                f"another process is at work in `{folder}`", fix="wait for it, or choose another folder"
            ) from None
        try:
            self.records = self._read_records()
        except BaseException:
            self.close()
            raise

    def _read_records(self) -> tuple[RunRecord, ...]:
        """All whole records; a torn tail is cut off."""
        start = MAGIC + self._question.encode() + b"\n"
        self._file.seek(0)
        data = self._file.readall()
        if not data.startswith(start):
            if len(data) >= len(start) or not start.startswith(data):
                raise InvalidProblem(self._objection(data), fix="remove it, or choose another folder")
            self._keep(0)
            self._write(start)
            self._sync_folder()
            return ()
        records, position = [], len(start)
        try:
            while (found := _read_record(data, position)) is not None:
                record, position = found
                records.append(record)
        except (ValueError, KeyError, TypeError):  # with the right checksum: somebody has written it so
            raise InvalidProblem(f"`{self._file.name}` is damaged", fix="remove it") from None
        if position < len(data):
            self._keep(position)
        return tuple(records)

    def _objection(self, data: bytes) -> str:
        """Why a file that begins otherwise is not gone on with."""
        file = f"`{self._file.name!s}`"
        if data.startswith(MAGIC):
            return f"{file} has results of another question, seed or version of surefoot"
        if data.startswith(MAGIC.split(b" ")[0]):
            return f"{file} was written by another version of surefoot"
        return f"{file} is damaged"

    def append(self, key: Sequence[int], arrays: Sequence[NDArray[Any]]) -> None:
        """Record one piece of work; when this returns it is on the disk."""
        head: Mapping[str, object] = {
            "key": [int(k) for k in key],
            "arrays": [[a.dtype.str, list(a.shape)] for a in arrays],
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        body = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
        payload = struct.pack("<I", len(text)) + text + body
        self._write(_HEAD.pack(len(payload), zlib.crc32(payload)) + payload)

    def _write(self, data: bytes) -> None:
        end, left = self._file.seek(0, os.SEEK_END), memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._keep(end)
            why = error.strerror or str(error)
            fix = "make room, then go on with --resume"
            raise NotRecorded(f"`{self._file.name!s}` cannot be written: {why}", fix=fix) from None

    def _keep(self, length: int) -> None:
        self._file.truncate(length)
        os.fsync(self._file.fileno())

    def _sync_folder(self) -> None:
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    @property
    def file_name(self) -> str:
        return str(self._file.name)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_record(data: bytes, position: int) -> tuple[RunRecord, int] | None:
    """The record that begins here and where it ends; None where there is none, or a torn one."""
    if position + _HEAD.size > len(data):
        return None
    length, checksum = _HEAD.unpack_from(data, position)
    begin, end = position + _HEAD.size, position + _HEAD.size + length
    if not 4 <= length <= _LARGEST or end > len(data) or zlib.crc32(data[begin:end]) != checksum:
        return None
    (size,) = struct.unpack_from("<I", data, begin)
    head = json.loads(data[begin + 4 : begin + 4 + size])
    arrays, at = [], begin + 4 + size
    for kind, shape in head["arrays"]:
        if kind not in _KINDS:
            return None
        array = np.frombuffer(data, dtype=np.dtype(kind), count=int(np.prod(shape)), offset=at).reshape(shape)
        arrays.append(array)
        at += array.nbytes
    return RunRecord(tuple(head["key"]), tuple(arrays)), end
