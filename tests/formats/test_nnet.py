"""The .nnet text: what it says is what the network computes."""

import re
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.nnet import read_nnet, write_nnet
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Network, Shape, dense_network

HEADER = ["2,2,1,3,", "2,3,1,", "0,"]
LAYERS = ["1,2,", "-1.5,0.25", "3e-1,-4,", "0.5,", "-0.5", "0,", "1,2,-3,", "7,"]


def lines(
    low: str = "-1,-2,", high: str = "1,2,", means: str = "0,0,0,", ranges: str = "1,1,1,"
) -> list[str]:
    return ["// made by hand", "// twice", *HEADER, low, high, means, ranges, *LAYERS]


def write(tmp_path: Path, content: list[str]) -> Path:
    path = tmp_path / "net.nnet"
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    return path


def exact(x: np.ndarray) -> np.ndarray:
    hidden = np.maximum(x @ np.array([[1, 2], [-1.5, 0.25], [0.3, -4]]).T + [0.5, -0.5, 0], 0)
    return hidden @ np.array([[1.0], [2], [-3]]) + 7


POINTS = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32) * 2


def test_without_normalisation_the_layers_stand_alone(tmp_path: Path) -> None:
    network = read_nnet(write(tmp_path, lines()))
    assert len(network.nodes) == 3
    assert network.name == "net"
    assert network.notes == ("inputs are not clipped to the header's bounds",)
    assert abs(infer_outputs(network, POINTS) - exact(POINTS)).max() < 1e-4


def test_clipping_can_be_asked_for(tmp_path: Path) -> None:
    network = read_nnet(write(tmp_path, lines()), clip=True)
    assert abs(infer_outputs(network, POINTS) - exact(np.clip(POINTS, [-1, -2], [1, 2]))).max() < 1e-4
    assert network.notes == ("inputs are clipped to the bounds of the header",)


def test_normalisation_is_folded_in(tmp_path: Path) -> None:
    network = read_nnet(write(tmp_path, lines(means="0.5,-1,3,", ranges="2,4,10,")))
    scaled = (np.clip(POINTS, [-1, -2], [1, 2]) - [0.5, -1]) / [2, 4]
    assert abs(infer_outputs(network, POINTS) - (exact(scaled) * 10 + 3)).max() < 1e-4
    assert (
        network.notes[1] == "inputs and outputs are normalised as the header says (folded around the layers)"
    )


def test_blank_lines_at_the_end_do_not_matter(tmp_path: Path) -> None:
    assert read_nnet(write(tmp_path, [*lines(), "", " "])).outputs == 1


def changed(line: int, text: str | None) -> list[str]:
    """The file with one line (counted from 1) replaced or left out."""
    content = lines()
    return [*content[: line - 1], *([] if text is None else [text]), *content[line:]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            changed(3, ""),
            ":3: number of layers, inputs, outputs and largest layer expected, all positive whole numbers",
        ),
        (changed(3, "2,2,1,"), ":3: 3 counts, 4 expected (layers, inputs, outputs, largest)"),
        (changed(3, "2,2,-1,3,"), ":3: number of layers, inputs, outputs and largest layer expected"),
        (changed(3, "1001,2,1,3,"), ":3: 1001 layers, more than 1000"),
        (changed(3, "2,9999999,1,3,"), ":3: number of layers, inputs, outputs and largest layer expected"),
        (changed(4, "2,3,3,1,"), ":4: 4 layer sizes, 3 expected"),
        (changed(4, "3,3,1,"), ":4: layers go from 3 to 1, the first line says from 2 to 1"),
        (changed(6, "-1,"), ":6: 1 numbers, 2 expected (input minima)"),
        (changed(6, "2,-2,"), ":6: minimum above maximum for input 0"),
        (changed(8, "0,0,"), ":8: 2 numbers, 3 expected (means)"),
        (changed(9, "1,0,1,"), ":9: range 0 at position 1"),
        (changed(10, "nan,2,"), ":10: `nan` is not a finite decimal number (weights)"),
        (changed(10, "inf,2,"), ":10: `inf` is not a finite decimal number (weights)"),
        (changed(10, "1_0,2,"), ":10: `1_0` is not a finite decimal number (weights)"),
        (changed(10, "1e39,2,"), ":10: a number is beyond float32 (weights)"),
        (changed(10, "1,,"), ":10: `` is not a finite decimal number (weights)"),
        (changed(11, ""), ":11: blank line, 2 numbers expected (weights)"),
        (changed(13, "1,2,"), ":13: 2 numbers, 1 expected (bias)"),
        (changed(17, None), ": the file ends before bias"),
        ([*lines(), "1,"], ":18: there is more than the header announces"),
        (["// nothing else"], ": the file ends before number of layers, inputs, outputs and largest layer"),
        (changed(10, "١,2,"), ": the file is not plain text"),
    ],
)
def test_damage_is_located(tmp_path: Path, content: list[str], message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InvalidProblem, match="^" + re.escape(f"{path}{message}")):
        read_nnet(path)


def test_writing_and_reading_keeps_every_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    sizes = [(4, 7), (7, 5), (5, 2)]
    layers = [
        (rng.normal(size=(b, a)) * 10.0 ** rng.integers(-30, 30, (b, a)), rng.normal(size=b))
        for a, b in sizes
    ]
    network = dense_network([(w, b) for w, b in layers])
    write_nnet(network, tmp_path / "out.nnet")
    assert read_nnet(tmp_path / "out.nnet").digest() == network.digest()
    write_nnet(network, tmp_path / "out.nnet", low=np.zeros(4, np.float32), high=np.ones(4, np.float32))
    assert (tmp_path / "out.nnet").read_text().splitlines()[4:6] == ["0,0,0,0,", "1,1,1,1,"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    layer = (np.eye(2), np.zeros(2))
    with pytest.raises(Unsupported, match=r"node 1 \(Activation\) has no place in \.nnet"):
        write_nnet(dense_network([layer, layer], hidden=Shape.TANH), tmp_path / "out.nnet")
    with pytest.raises(Unsupported, match="does not end in an affine layer"):
        write_nnet(Network(2, ()), tmp_path / "out.nnet")
    assert not (tmp_path / "out.nnet").exists()


@pytest.mark.shared_data
def test_published_policies_are_read(shared_data: Path) -> None:
    paths = sorted((shared_data / "jani" / "plaja").rglob("*.nnet"))
    assert len(paths) == 8
    for path in paths:
        network = read_nnet(path)
        counts = [int(n) for n in path.read_text().splitlines()[1].strip(",").split(",")]
        assert [len(network.nodes), network.width, network.outputs] == [
            2 * counts[0] - 1,
            counts[1],
            counts[2],
        ]


@pytest.mark.shared_data
def test_a_published_policy_computes_what_its_text_says(shared_data: Path) -> None:
    network = read_nnet(shared_data / "jani" / "plaja" / "for_ppa_simple.nnet")
    rows = (shared_data / "jani" / "plaja" / "for_ppa_simple.nnet").read_text().splitlines()[8:]
    values = [float(row.strip(",")) for row in rows]
    x = np.float32([[-4], [0], [3]])
    hidden = np.maximum(x * values[0] + values[1], 0)
    assert infer_outputs(network, x) == pytest.approx(hidden * values[2:5] + values[5:8])
