"""Whatever the bytes are, reading them ends in a value or in one error, and imports nothing."""

import codecs
import pickletools
import sys
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.handmade import actor_critic, state_pickle, torch_file

from surefoot.errors import SurefootError
from surefoot.formats.untrusted.pickle_opcodes import read_pickle
from surefoot.formats.untrusted.torch_file import read_state_dict
from surefoot.formats.untrusted.zip_archive import open_archive, read_member

ALPHABET = [op.code.encode("latin-1") for op in pickletools.opcodes]
ARGUMENTS = [
    b"",
    b"\x00",
    b"\x01",
    b"\x02\x00\x00\x00ab",
    b"os\nsystem\n",
    b"\xff\xff\xff\x7f",
    b"1\n",
    b"'a'\n",
]
STATE = state_pickle(dict(list(actor_critic().items())[:2]))
FILE = torch_file(actor_critic())
for known in ("ascii", "cp437", "latin-1", "raw-unicode-escape", "utf-8"):
    codecs.lookup(known)  # the standard library loads them when zips and pickles first have such text


def complaint(work: Callable[[bytes], object], data: bytes) -> str:
    """The one error that may come out of the work, or nothing."""
    before = set(sys.modules)
    try:
        work(data)
    except SurefootError as problem:
        return str(problem)
    finally:
        assert set(sys.modules) == before
    return ""


def follow(data: bytes) -> object:
    return read_pickle(data, permits=lambda symbol: True, where="file")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ALPHABET), st.sampled_from(ARGUMENTS)), max_size=30))
def test_any_sequence_of_opcodes(parts: list[tuple[bytes, bytes]]) -> None:
    assert "\n" not in complaint(follow, b"".join(a + b for a, b in parts) + b".")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    assert "\n" not in complaint(follow, data)


EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4)


def edited(data: bytes, edits: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for position, value in edits:
        changed[position % len(data)] = value
    return bytes(changed)


@settings(max_examples=300, deadline=None)
@given(EDITS)
def test_a_changed_state_dict(edits: list[tuple[int, int]]) -> None:
    changed = torch_file(actor_critic(), edited(STATE, edits))
    assert complaint(lambda data: read_state_dict(data, "file"), changed)[:4] in ("", "file")


def read_all(data: bytes) -> None:
    archive = open_archive(data, "file")
    for name in archive.sizes:
        read_member(archive, name)


@settings(max_examples=300, deadline=None)
@given(EDITS, st.integers(0, len(FILE)))
def test_a_changed_or_shortened_zip(edits: list[tuple[int, int]], end: int) -> None:
    for data in (edited(FILE, edits), FILE[:end], FILE[end:]):
        assert complaint(read_all, data)[:4] in ("", "file")
