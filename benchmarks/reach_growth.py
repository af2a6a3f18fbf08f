"""How the time of `reach` grows: with variables, periods, width of the network and width of the starts.

    python -m benchmarks.reach_growth --cap 120 --csv growth.csv --svg growth.svg

The plant is a chain of oscillators with a cubic spring, coupled to their neighbours, the first one driven by
the network, which damps it: two hidden layers of fixed random weights, the last one fitted by least squares
(no training, one seed). Asked is whether every place stays within its limits for so many control periods of
0.1 s. One of the four numbers changes, the others stay. A row that is not proved within the cap is drawn as
an arrow. Search and check are processor seconds of one core, as in `benchmarks.reach`.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.reach import Measured, ReachRow, run_row
from surefoot.report.line_panels import DataLine, LinePanel, line_panels_svg
from surefoot_studies.training.onnx_files import onnx_bytes

LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class Chain:
    """`activation`: relu or tanh."""

    variables: int = 4
    horizon: int = 50
    width: int = 32
    starts: float = 0.1
    activation: str = "tanh"


FAMILIES: dict[str, tuple[str, tuple[float, ...]]] = {
    "variables": ("variables", (2, 4, 6, 8, 12, 16, 20)),
    "horizon": ("control periods", (10, 20, 50, 100, 200, 500)),
    "width": ("neurons in each of two layers", (16, 32, 64, 128, 256, 512)),
    "starts": ("width of the start box", (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)),
}


def fit_network(chain: Chain, seed: int = 0) -> bytes:
    """-0.6 times the first speed, on places and speeds within the limit."""
    rng, n, w = np.random.default_rng(seed), chain.variables, chain.width
    shapes = ((w, n), (w, w))
    hidden = [(rng.normal(size=s) / np.sqrt(s[1]) / 2, rng.normal(size=s[0]) / 2) for s in shapes]
    seen = rng.uniform(-LIMIT, LIMIT, (4000, n))
    value = seen
    for weights, bias in hidden:
        total = value @ weights.T + bias
        value = np.tanh(total) if chain.activation == "tanh" else np.maximum(total, 0)
    features = np.column_stack([value, np.ones(len(value))])
    ridge = 1e-3 * len(seen) * np.eye(w + 1)
    last = np.linalg.solve(features.T @ features + ridge, features.T @ (-0.6 * seen[:, 1]))
    return onnx_bytes([*hidden, (last[None, :-1], last[-1:])], chain.activation, "damping")


def chain_text(chain: Chain, network: Path) -> str:
    """The problem file."""
    pairs = chain.variables // 2
    names = [f"{kind}{i}" for i in range(1, pairs + 1) for kind in "xv"]
    rates = []
    for i in range(1, pairs + 1):
        pulls = "".join(f" + 0.2*(x{j} - x{i})" for j in (i - 1, i + 1) if 1 <= j <= pairs)
        force = f"-x{i} - 0.1*x{i}^3 - 0.1*v{i}{pulls}" + (" + u" if i == 1 else "")
        rates += [f'x{i} = "v{i}"', f'v{i} = "{force}"']
    half = chain.starts / 2
    starts = " and ".join(f"{0.5 - half:.6g} <= {n} <= {0.5 + half:.6g}" for n in names)
    bad = " or ".join(f"x{i} > {LIMIT:g} or x{i} < -{LIMIT:g}" for i in range(1, pairs + 1))
    observed = ", ".join(f'"{n}"' for n in names)
    return "\n".join(
        [
            'name = "chain of oscillators"',
            f'initial = "{starts}"',
            "[variables]",
            *(f'{n} = "real"' for n in names),
            "[controls]",
            'u = "[-5, 5]"',
            "[flow]",
            'time = "continuous"',
            "period = 0.1",
            "[flow.derivatives]",
            *rates,
            "[[edges]]",
            f'[policy]\nfile = "{network.name}"\nobserve = [{observed}]\nchoose = "value"',
            f'[properties]\ninside = "never {bad} for {chain.horizon / 10:g} seconds"',
            "",
        ]
    )


def measure_chain(chain: Chain, cap: float, extra: Sequence[str] = ()) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        network, problem = Path(folder, "damping.onnx"), Path(folder, "chain.toml")
        network.write_bytes(fit_network(chain))
        problem.write_text(chain_text(chain, network), "utf-8")
        return run_row(ReachRow("chain", "growth", (str(problem),)), cap, extra, None)


def draw_growth(found: Sequence[tuple[str, float, Chain, Measured]], cap: float) -> str:
    """A panel for each family: search and check over the number that changes."""
    panels = []
    for family, (words, _) in FAMILIES.items():
        lines = []
        mine = [(x, chain, row) for name, x, chain, row in found if name == family]
        for activation in dict.fromkeys(chain.activation for _, chain, _ in mine):
            rows = [(x, row) for x, chain, row in mine if chain.activation == activation]
            proved = [(x, row) for x, row in rows if row.verdict == "proved"]
            late = tuple((x, cap) for x, row in rows if row.verdict != "proved")
            search = tuple((x, row.search_seconds) for x, row in proved if row.search_seconds is not None)
            check = tuple((x, row.check_seconds) for x, row in proved if row.check_seconds is not None)
            lines += [DataLine(activation, "search", search, late), DataLine(activation, "check", check)]
        if lines:
            panels.append(LinePanel(f"over {words}", words, "seconds", tuple(lines), logarithmic=True))
    return line_panels_svg("Reachable sets: processor seconds", panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--activations", nargs="+", choices=("relu", "tanh"), default=["relu", "tanh"])
    parser.add_argument("--cap", type=float, default=120.0, help="seconds for each row")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    found: list[tuple[str, float, Chain, Measured]] = []
    for family in given.families:
        for activation in given.activations:
            for value in FAMILIES[family][1]:
                kind = float if family == "starts" else int
                chain = replace(Chain(activation=activation), **{family: kind(value)})
                row = measure_chain(chain, given.cap)
                found.append((family, value, chain, row))
                shown = [
                    f"{n:.2f}" if n is not None else "-" for n in (row.search_seconds, row.check_seconds)
                ]
                print(
                    f"{family:10} {activation:5} {value:>6g}  {row.verdict:9}", *shown, row.cells, flush=True
                )
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as file:
            fields = [
                "family",
                *asdict(Chain()),
                "verdict",
                "all_seconds",
                "search_seconds",
                "check_seconds",
                "cells",
            ]
            writer = csv.DictWriter(file, fields, extrasaction="ignore")
            writer.writeheader()
            writer.writerows({"family": f, **asdict(chain), **asdict(row)} for f, _, chain, row in found)
    if given.svg:
        given.svg.write_text(draw_growth(found, given.cap), "utf-8")


if __name__ == "__main__":
    main()
