"""A pickle is followed, never obeyed."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.untrusted.pickle_opcodes import MOST_OPCODES, PickleRecord, Symbol, read_pickle


def read(data: bytes, *names: str) -> Any:
    return read_pickle(data, permits=set(names).__contains__, where="file")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", [None, True, 7, -(2**70), 1.5, "é", (1, (2.0, "x")), (1, 2, 3, 4), ()])
def test_plain_values(value: object, protocol: int) -> None:
    assert read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_containers_and_shared_values(protocol: int) -> None:
    shared = ["x"]
    value = {"a": shared, "b": shared, 3: {"deep": [1, 2, 0.5]}}
    result = read(pickle.dumps(value, protocol))
    assert result == value
    assert result["a"] is result["b"]


def test_a_call_becomes_a_record() -> None:
    record = read(b"\x80\x02cmodule\nmake\nK\x01\x85R}X\x01\x00\x00\x00kK\x02sb.", "module.make")
    assert isinstance(record, PickleRecord)
    assert (record.symbol, record.arguments, record.state) == (Symbol("module", "make"), (1,), {"k": 2})


class Payload:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", range(6))
def test_a_payload_is_named_and_not_run(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps({"weights": [Payload(tmp_path / "ran")]}, protocol)
    with pytest.raises(InvalidProblem, match=r"`posix\.system`: refused, nothing was executed"):
        read(data)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cposix\nsystem\n(S'touch ran'\ntR.",
        b"(S'touch ran'\niposix\nsystem\n.",
        b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    ],
)
def test_every_way_to_name_a_function(data: bytes) -> None:
    with pytest.raises(InvalidProblem, match=r"file: `posix\.system`: refused, nothing was executed"):
        read(data)


def test_mentioning_a_module_does_not_import_it() -> None:
    before = set(sys.modules)
    read(b"\x80\x02cthis\nzen\n.", "this.zen")
    assert set(sys.modules) == before


def test_an_unexpected_opcode_is_named() -> None:
    with pytest.raises(InvalidProblem, match="pickle opcode EXT1: refused, nothing was executed"):
        read(b"\x80\x02\x82\x01.")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02K\x01",  # no end
        b"\x80\x02.",  # nothing to return
        b"\x80\x02h\x07.",  # never remembered
        b"\x80\x02t.",  # no mark
        b"\x80\x02K\x01K\x02a.",  # append to a number
        b"\x80\x02}]K\x01s.",  # a list as key
        b"\x80\x02})K\x01s.",  # a tuple as key
        b"\x80\x02K\x01)R.",  # call a number
        b"\x80\x02K\x01}b.",  # state for a number
        b"\x80\x02X\xff\xff\xff\x7fabc.",  # a string longer than the file
        b"\xff\xff\xff",
    ],
)
def test_damage_is_one_error(data: bytes) -> None:
    with pytest.raises(InvalidProblem, match="the pickle is damaged or cut short"):
        read(data)


def test_tuples_that_share_their_parts_cost_nothing() -> None:
    doubled = b"\x80\x02)" + b"q\x00h\x00\x86" * 2000  # the hash or the text of this has 2^2000 parts
    with pytest.raises(InvalidProblem, match="damaged"):
        read(b"\x80\x02}" + doubled[2:] + b"K\x01s.")


def test_too_many_opcodes() -> None:
    with pytest.raises(InvalidProblem, match="more than 300000 opcodes"):
        read(b"\x80\x02" + b"N" * MOST_OPCODES + b".")
