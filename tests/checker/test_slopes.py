"""Slopes as text: in base64, or packed."""

from __future__ import annotations

from base64 import b64encode
from zlib import compress

import pytest
from tests.checker.making import shares
from tests.checker.test_steps import ABSOLUTE, ONE, accepted, affine, judged, refused

from surefoot_checker.kernel.strict_json import BadCertificate

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


@pytest.mark.parametrize("kind", ["drop", "exact"])
@pytest.mark.parametrize("on", [True, False])
def test_slopes_of_a_step_count_where_a_sign_is_known(kind: str, on: bool) -> None:
    """relu(x) + 1/2 <= 0 holds nowhere; after a split by the sign of x, a x is still below relu(x)."""
    nodes = [affine(0, [[1.0]], [0.0]), ["relu", 1], affine(2, [[1.0]], [0.5])]
    box, atom = [["x", -1, 1, "real"]], ["<=", {"y": 1}]

    def steps(*slopes: int | None) -> list[object]:
        told = [{**ONE, "slopes": {"3": [shares(s), None]}} if s is not None else ONE for s in slopes]
        return [["split", 2, 0, 0], *([kind, [0], m] for m in told)]

    # Known to be on, x itself may be as low as the box of the inputs lets it.
    good, bad = (0, 63), (128, 65)
    for slope in good:
        accepted([atom], steps(*((None, slope) if on else (slope, slope))), variables=box, nodes=nodes)
    for slope in bad:
        refused(
            "step 2" if on else "step 1",
            [atom],
            steps(*((None, slope) if on else (slope, 0))),
            variables=box,
            nodes=nodes,
        )
    refused("step 2", [atom], steps(None, None), variables=box, nodes=nodes)


def test_remembered_slopes_are_of_open_signs_only() -> None:
    """In a part where the sign is known the function itself is used."""
    nodes = [affine(0, [[1.0]], [0.0]), ["relu", 1], affine(2, [[1.0]], [0.5])]
    box, atom = [["x", -1, 1, "real"]], ["<=", {"y": 1}]
    steps = [["slopes", 3, shares(128), None], ["split", 2, 0, 0], ["drop", [0], ONE]]
    accepted([atom], [*steps, ["drop", [0], {**ONE, "bounds": [[2, 0, -1]]}]], variables=box, nodes=nodes)
