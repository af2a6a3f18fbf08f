"""The tables of docs/reference/policies.md: which files and operators are read, and what is known of them.

`python -m tests.formats.policy_tables` writes them into the page; a test holds both equal.
"""

from pathlib import Path

import numpy as np
from onnx import ModelProto
from tests.formats.corpus_recurrent import CHOOSING
from tests.formats.corpus_sb3 import MODELS
from tests.formats.onnx_cases import CASES
from tests.formats.test_policy_corpus import REFUSED, WRITERS

from surefoot.engines.reach.network_forms import refuse_unknown_nodes
from surefoot.errors import Unsupported
from surefoot.formats.layer_list import LAYER_KINDS
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.onnx.activation_functions import TORCH_ACTIVATIONS
from surefoot.formats.onnx.operators import OPERATIONS
from surefoot.network.interval import interval_bounds
from surefoot.network.relaxation import UNSLOPED
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Activation, Network
from surefoot.query.unsat_claim import network_to_json
from surefoot_checker.bounds.point_bounds import point_enclosure
from surefoot_checker.kernel.network import read_network

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policies.md"


def corpus_table() -> list[str]:
    """One row a file that a library writes."""
    rows = ["| file | what a test shows |", "| --- | --- |"]
    for name in WRITERS:
        model = MODELS.get(name.removeprefix("SB3 "))
        choices = model[2] == "discrete" if model else "Classifier" in name or name in CHOOSING
        shown = (
            "same choices, but for near ties below 1e-5" if choices else "outputs within 2e-5 of their size"
        )
        rows.append(f"| {name} | {shown} |")
    rows += [f"| {name} | refused: … {end.replace('|', '&#124;')} |" for name, (_, _, end) in REFUSED.items()]
    return rows


def operator_table() -> list[str]:
    """One row an operator: what bounds, certificates and `reach` make of it."""
    rows = ["| operator | bounds | certificate | `reach` |", "| --- | --- | --- | --- |"]
    for op in sorted(OPERATIONS):
        own = [data for name, data in CASES.items() if op in _operators(data) and name.split()[0] == op]
        own = own or [data for data in CASES.values() if op in _operators(data)][:1]
        networks = [read_onnx_bytes(data) for data in own]
        answers = (min(map(answer, networks)) for answer in (_bounds, _certificate, _reach))
        rows.append(f"| {op} | {' | '.join(answers)} |")
    return rows


def layer_table() -> list[str]:
    """The words of a list of layers."""
    counts = {(low, high): [n for n, (a, b, _) in LAYER_KINDS.items() if (a, b) == (low, high)]
              for low, high, _ in LAYER_KINDS.values()}  # fmt: skip
    rows = ["| arguments | layers |", "| --- | --- |"]
    for (low, high), names in sorted(counts.items()):
        rows.append(
            f"| {low if low == high else f'{low} to {high}'} | {', '.join(f'`{n}`' for n in names)} |"
        )
    plain = [f"`{n}`" for n in TORCH_ACTIVATIONS if n not in LAYER_KINDS]
    return [*rows, f"| none | {', '.join(plain)} |"]


def _operators(data: bytes) -> set[str]:
    return {node.op_type for node in ModelProto.FromString(data).graph.node}


def _point(network: Network) -> np.ndarray:
    point = np.random.default_rng(1).uniform(0.2, 0.4, network.width).astype(np.float32)
    for index in network.indices:
        point[index.place] = 1
    return point


def _bounds(network: Network) -> str:
    point = _point(network).astype(np.float64)
    box = interval_bounds(network, point - 1e-3, point + 1e-3)[-1]
    value = infer_outputs(network, _point(network)[None])[0]
    assert (box.low - 1e-4 <= value).all()
    assert (value <= box.high + 1e-4).all()
    curves = any(isinstance(n, Activation) and n.shape in UNSLOPED for n in network.nodes)
    return "constants" if curves else "lines"


def _certificate(network: Network) -> str:
    """Whether the checker reads the nodes and encloses what they compute."""
    flat = read_network(network_to_json(network))
    around = point_enclosure(flat)(tuple(map(float, _point(network))))
    value = infer_outputs(network, _point(network)[None])[0]
    pairs = zip(*around, value, strict=True)
    assert all(low / 2**64 <= v <= high / 2**64 for low, high, v in pairs)
    return "yes"


def _reach(network: Network) -> str:
    try:
        refuse_unknown_nodes(network)
    except Unsupported:
        return "no"
    return "yes"


def page_with_tables(text: str) -> str:
    for name, table in (
        ("files", corpus_table()),
        ("operators", operator_table()),
        ("layers", layer_table()),
    ):
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        text = before + start + "\n".join(table) + "\n" + end + rest.split(end)[1]
    return text


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
