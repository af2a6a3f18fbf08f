"""A value that several child processes read: pickled once into a file without a name, its arrays mapped.

(Pickle protocol 5 with buffers out of band, PEP 574.) The file has been unlinked when it is made, so nothing
is left behind however a process ends; children inherit it by its number. The arrays that they get are views
of its pages, which all of them share; these are read-only.
"""

from __future__ import annotations

import mmap
import pickle
import struct
import tempfile
from multiprocessing.reduction import ForkingPickler
from typing import IO, Any

_HEAD = struct.Struct("<QQ")  # where the table of buffers begins, and how many there are
_ENTRY = struct.Struct("<QQ")  # where a buffer begins, and how long it is
_ALIGNED = 64  # bytes


def write_shared_value(value: object) -> IO[bytes]:
    """The file; whatever `pickle` raises for a value that cannot travel is raised."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    made = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as somebody may read it
    made.write(_HEAD.pack(0, 0) + _ENTRY.pack(0, len(content)))
    places = [(made.tell(), len(content))]
    made.write(content)
    for buffer in buffers:
        raw = buffer.raw()
        made.write(bytes(-made.tell() % _ALIGNED))
        places.append((made.tell(), raw.nbytes))
        made.write(raw)
    made.write(bytes(-made.tell() % _ALIGNED))
    table = made.tell()
    made.write(b"".join(_ENTRY.pack(*place) for place in places))
    made.seek(0)
    made.write(_HEAD.pack(table, len(places)))
    made.flush()
    return made


def read_shared_value(number: int) -> Any:
    """The value in the file with this number, which is inherited."""
    whole = memoryview(mmap.mmap(number, 0, access=mmap.ACCESS_READ))
    table, count = _HEAD.unpack_from(whole, 0)
    places = [_ENTRY.unpack_from(whole, table + n * _ENTRY.size) for n in range(count)]
    content, *buffers = (whole[start : start + length] for start, length in places)
    found: Any = ForkingPickler.loads(content, buffers=buffers)  # as on the line to a child
    return found
