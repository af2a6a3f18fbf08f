"""A zip is measured before it is opened."""

import io
import re
import struct
import zipfile

import pytest
from tests.formats.handmade import zipped

from surefoot.errors import InvalidProblem
from surefoot.formats.untrusted import zip_archive
from surefoot.formats.untrusted.zip_archive import open_archive, read_member


def refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidProblem, match=f"^file: {re.escape(message)}"):
        open_archive(data, "file")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_come_back(compression: int) -> None:
    opened = open_archive(zipped({"a": b"one", "b/c": b"two" * 1000}, compression), "file")
    assert opened.sizes == {"a": 3, "b/c": 3000}
    assert read_member(opened, "b/c") == b"two" * 1000


def test_large_directories_as_torch_writes_them() -> None:
    plain = zipped({"a": b"one"})
    end = len(plain) - 22
    size, start = struct.unpack_from("<2L", plain, end + 12)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    assert read_member(open_archive(plain[:end] + record + locator + plain[end:], "file"), "a") == b"one"
    many = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**6, 10**6, size, start)
    refused(plain[:end] + many + locator + plain[end:], "the zip has more than 4096 members")


def test_a_million_members_are_counted_without_reading_them() -> None:
    entry = (
        struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *[20, 0, 20, 0], *[0] * 4, 0, 0, 0, 1, *[0] * 4, 0, 0)
        + b"x"
    )
    directory = entry * 10**6
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    refused(b"PK\x03\x04" + directory + end, "the zip has more than 4096 members")


def test_a_bomb_is_not_unpacked() -> None:
    refused(
        zipped({"a": b"\0" * (8 << 20)}, zipfile.ZIP_DEFLATED),
        "the member `a` unpacks to more than 200 times its",
    )


def test_sizes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MOST_MEMBER_BYTES", 100)
    refused(zipped({"a": b"x" * 101}), "the member `a` has 101 bytes, more than 100")
    monkeypatch.setattr(zip_archive, "MOST_TOTAL_BYTES", 150)
    refused(zipped({"a": b"x" * 100, "b": b"x" * 51}), "the zip unpacks to 151 bytes, more than 150")


@pytest.mark.parametrize("name", ["../up", "a/../../up", "/etc/passwd", "C:file", "a\\b"])
def test_no_member_outside(name: str) -> None:
    refused(zipped({name: b""}), f"the zip has a member outside its folder: `{name}`")


def test_no_name_twice() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", b"2")
    refused(buffer.getvalue(), "the zip has two members called `a`")


def test_a_false_size_is_damage() -> None:
    data = bytearray(zipped({"a": b"0123456789"}))
    position = data.rindex(b"PK\x01\x02")
    struct.pack_into("<2L", data, position + 20, 5, 5)
    with pytest.raises(InvalidProblem, match="the member `a` of the zip is damaged"):
        read_member(open_archive(bytes(data), "file"), "a")


def test_damage() -> None:
    whole = zipped({"a": b"one"})
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        refused(whole[:cut], "the zip is damaged or cut short")
    flipped = bytearray(whole)
    flipped[flipped.index(b"one")] ^= 1
    with pytest.raises(InvalidProblem, match="the member `a` of the zip is damaged"):
        read_member(open_archive(bytes(flipped), "file"), "a")


def test_absent_member() -> None:
    with pytest.raises(InvalidProblem, match="no member `b`"):
        read_member(open_archive(zipped({"a": b""}), "file"), "b")
