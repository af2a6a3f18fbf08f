"""Results that survive: torn tails, other questions, two processes at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.work.digest import digest
from surefoot.work.run_directory import RunDirectory

QUESTION = digest("question")


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
    with RunDirectory(tmp_path, digest("another"), resume=False) as other:
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
