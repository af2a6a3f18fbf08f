"""Slopes as text: in base64, or packed."""

from __future__ import annotations

from base64 import b64encode
from zlib import compress

import pytest
from tests.certify.checker.making import shares
from tests.certify.checker.test_steps import ABSOLUTE, judged

from surefoot.certify.checker.number import BadCertificate

# y = relu(x) + relu(-x): with slopes a and b below them y >= (a - b) x, which is 0 if they are the same.
ATOM = ["<=", {"y": 1, "": "1/100"}]
BOX = [["x", "-1/8", 1, "real"]]


def packed(data: bytes) -> str:
    return "~" + b64encode(compress(data)).decode()


def verdict(lower: str) -> bool:
    steps = [["drop", [0], {"atoms": [[0, 1]], "slopes": {"3": [lower, None]}}]]
    return bool(judged([ATOM], steps, variables=BOX, nodes=ABSOLUTE).accepted)


def test_packed_slopes_mean_the_same() -> None:
    for data, enough in ((bytes([0, 0]), True), (bytes([128, 0]), False), (bytes([64, 64]), True)):
        assert verdict(shares(*data)) == verdict(packed(data)) == enough


@pytest.mark.parametrize(
    "word",
    [
        packed(bytes(2))[:-4],
        "~" + b64encode(compress(bytes(2)) + b"more").decode(),
        packed(bytes(5)),
        packed(bytes(10**6)),
        "~" + shares(0, 0),
        "~",
        "~~",
        "~" + packed(bytes(2)),
    ],
)
def test_what_is_no_stream_is_refused(word: str) -> None:
    with pytest.raises(BadCertificate, match="slopes"):
        verdict(word)


def test_the_number_of_slopes_counts_when_unpacked() -> None:
    assert not verdict(packed(bytes(3)))
    assert not verdict(packed(bytes(1)))
