"""Results that survive: torn tails, other questions, two processes at once."""

from __future__ import annotations

import resource
import signal
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.work.fingerprint import content_fingerprint
from surefoot.work.run_directory import MAGIC, NotRecorded, RunDirectory

QUESTION = content_fingerprint("question")


def filled(folder: Path, records: int) -> Path:
    with RunDirectory(folder, QUESTION, resume=False) as directory:
        for i in range(records):
            directory.append((0, i), (np.arange(i, dtype=np.int8), np.full(i, i / 2)))
    return next(folder.iterdir())


def read(folder: Path) -> list[tuple[int, ...]]:
    with RunDirectory(folder, QUESTION, resume=True) as directory:
        for record in directory.records:
            assert record.arrays[0].tolist() == list(range(record.key[1]))
            assert record.arrays[1].tolist() == [record.key[1] / 2] * record.key[1]
        return [record.key for record in directory.records]


def test_what_was_recorded_is_there(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    assert read(tmp_path) == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_every_torn_tail_is_cut_off_and_written_anew(tmp_path: Path) -> None:
    file = filled(tmp_path / "a", 3)
    whole = file.read_bytes()
    ends = [len(filled(tmp_path / f"b{i}", i).read_bytes()) for i in range(4)]
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        kept = sum(end <= length for end in ends[1:])
        assert len(read(tmp_path / "a")) == kept
        with RunDirectory(tmp_path / "a", QUESTION, resume=True) as directory:
            for i in range(kept, 3):
                directory.append((0, i), (np.arange(i, dtype=np.int8), np.full(i, i / 2)))
        assert file.read_bytes() == whole


def test_a_damaged_record_ends_what_is_known(tmp_path: Path) -> None:
    file = filled(tmp_path, 3)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert read(tmp_path) == [(0, 0), (0, 1)]


def test_old_results_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    file = filled(tmp_path, 1)
    with pytest.raises(InvalidProblem, match="--resume"):
        RunDirectory(tmp_path, QUESTION, resume=False)
    with RunDirectory(tmp_path, content_fingerprint("another"), resume=False) as other:
        assert other.records == ()
    file.write_bytes(b"something else altogether, and long enough to be compared with a fingerprint " * 3)
    with pytest.raises(InvalidProblem, match="damaged"):
        RunDirectory(tmp_path, QUESTION, resume=True)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        RunDirectory(tmp_path, QUESTION, resume=True),
        pytest.raises(InvalidProblem, match="another process"),
    ):
        RunDirectory(tmp_path, QUESTION, resume=True)


def test_files_that_are_not_gone_on_with(tmp_path: Path) -> None:
    """Of another version, of another question under this name, or made up with the right checksums."""
    file = filled(tmp_path, 2)
    whole = file.read_bytes()
    payload = b"\x02\x00\x00\x00[]"
    made_up = struct.pack("<QI", len(payload), zlib.crc32(payload)) + payload
    begins = MAGIC + QUESTION.encode() + b"\n"
    for data, message in (
        (whole.replace(b"surefoot runs 1", b"surefoot runs 7"), "written by another version"),
        (
            MAGIC + content_fingerprint("another").encode() + whole[len(begins) - 1 :],
            "another question, seed or version",
        ),
        (b"\x00" * len(whole), "damaged"),
        (begins + made_up, "damaged"),
    ):
        file.write_bytes(data)
        with pytest.raises(InvalidProblem, match=message):
            RunDirectory(tmp_path, QUESTION, resume=True)
        assert file.read_bytes() == data  # it is somebody's work


def test_a_damaged_record_in_the_middle_is_not_believed(tmp_path: Path) -> None:
    file = filled(tmp_path, 4)
    whole = file.read_bytes()
    for place in range(len(MAGIC) + 65, len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        known = read(tmp_path)
        assert known == [(0, i) for i in range(len(known))]
        assert len(known) < 4


def test_a_full_disk_leaves_whole_records(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with RunDirectory(tmp_path, QUESTION, resume=False) as directory:
            directory.append((0, 1), (np.arange(1, dtype=np.int8), np.full(1, 0.5)))
            (file,) = tmp_path.iterdir()
            resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 40, limit[1]))
            with pytest.raises(NotRecorded, match=r"cannot be written: .*; fix: make room"):
                directory.append((0, 90), (np.arange(90, dtype=np.int8), np.full(90, 45.0)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert read(tmp_path) == [(0, 1)]
