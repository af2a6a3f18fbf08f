"""Where the values of a block of variables come from: a box, a list, a walk, or laws that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.environment import Law
from surefoot.simulate.starts.boxes import box_volume, constant_column, draw_box, rows_in_box
from surefoot.simulate.starts.given_laws import prepare_laws
from surefoot.simulate.starts.list_starts import list_block
from surefoot.simulate.starts.repair_doubles import repair_rows
from surefoot.simulate.starts.sample_case import Values, draw_case, prepare_case
from surefoot.simulate.starts.start_cases import Block, Box, Case, NoStart, block_cases
from surefoot.term.interval import Scalar
from surefoot.term.value_types import Arithmetic, Real

StartLaw: TypeAlias = Literal["uniform", "given", "spread"]
MOST_SAMPLED_CASES = 64  # of a disjunction whose cases need a walk each


# So many values; the last says whether some of them should be extreme ones.
Draw: TypeAlias = Callable[[int, np.random.Generator, bool], Values]


@dataclass(frozen=True, slots=True, eq=False)
class BlockSource:
    """Where the values of a block come from."""

    law: StartLaw
    how: str
    draw: Draw


def prepare_block(
    block: Block, laws: Mapping[str, Law], arithmetic: Arithmetic, rng: np.random.Generator
) -> BlockSource:
    """`NoStart` where the block has surely no value, `Unsupported` where none was found."""
    if any(name in laws for name in block.kinds):
        return _law_source(block, laws, arithmetic)
    listed = list_block(block, arithmetic) if len(block.kinds) > 1 else None
    if listed is not None:
        return _list_source(listed)
    cases = _some_cases(block)
    if len(cases) == 1 and cases[0].is_box():
        return _box_source(cases[0].box, block.kinds, arithmetic)
    listed = list_block(block, arithmetic, cases)
    if listed is not None:
        return _list_source(listed)
    if all(c.is_point() for c in cases):
        return _list_source(_point_table(cases, block.kinds, arithmetic))
    if all(c.is_box() for c in cases):
        return _union_source(cases, block.kinds, arithmetic)
    return _walk_source(block, cases, arithmetic, rng)


def _box_source(box: Box, kinds: Mapping[str, Scalar], arithmetic: Arithmetic) -> BlockSource:
    def draw(count: int, rng: np.random.Generator, corners: bool) -> Values:
        return draw_box(box, kinds, arithmetic, count, rng, corners)

    if all(b.is_point() for b in box.values()):
        return BlockSource("uniform", "one value", draw)
    if any(b.low is None or b.high is None for b in box.values()):
        return BlockSource("spread", "spread over an unbounded range", draw)
    return BlockSource("uniform", "uniform in a box", draw)


def _list_source(table: Values) -> BlockSource:
    rows = len(next(iter(table.values())))
    if not rows:
        raise NoStart("there is no start state: no combination of values meets the initial condition")

    def draw(count: int, rng: np.random.Generator, _: bool) -> Values:
        chosen = rng.integers(rows, size=count)
        return {name: column[chosen] for name, column in table.items()}

    return BlockSource("uniform", f"list of {rows} starts", draw)


def _point_table(cases: Sequence[Case], kinds: Mapping[str, Scalar], arithmetic: Arithmetic) -> Values:
    points = dict.fromkeys(tuple(c.box[n].low for n in kinds) for c in cases)
    table: Values = {}
    for number, (name, kind) in enumerate(kinds.items()):
        column = [constant_column(Fraction(p[number] or 0), kind, arithmetic, 1) for p in points]
        table[name] = np.concatenate(column)
    return table


def _union_source(cases: Sequence[Case], kinds: Mapping[str, Scalar], arithmetic: Arithmetic) -> BlockSource:
    """Boxes by their volumes; a point that lies in several is kept as often as it would be in one."""
    volumes = [box_volume(c.box, kinds) for c in cases]
    draws = [_box_source(c.box, kinds, arithmetic).draw for c in cases]
    if any(v is None for v in volumes) or not sum(v or 0 for v in volumes) or not all(volumes):
        # Boxes without a limit, or some of a lower dimension than others: each of them is met.
        return BlockSource(
            "spread",
            f"one of {len(cases)} boxes, each as often",
            lambda count, rng, corners: _draw_by_case(
                [1 / len(cases)] * len(cases), draws, count, rng, corners
            ),
        )
    shares = [float(v / sum(w or 0 for w in volumes)) for v in volumes if v is not None]

    def draw(count: int, rng: np.random.Generator, corners: bool) -> Values:
        parts: list[Values] = []
        have = 0
        while have < count:
            drawn = _draw_by_case(shares, draws, max(64, 2 * (count - have)), rng, corners)
            times = np.sum([rows_in_box(drawn, c.box, kinds) for c in cases], axis=0)
            kept = rng.random(len(times)) * times < 1
            parts.append({n: column[kept] for n, column in drawn.items()})
            have += int(kept.sum())
        return {name: column[:count] for name, column in join_values(parts).items()}

    return BlockSource("uniform", f"uniform in {len(cases)} boxes", draw)


def _draw_by_case(
    shares: Sequence[float],
    draws: Sequence[Draw],
    count: int,
    rng: np.random.Generator,
    corners: bool,
) -> Values:
    counts = rng.multinomial(count, np.array(shares) / sum(shares))
    parts = [draw(int(n), rng, corners) for n, draw in zip(counts, draws, strict=True) if n]
    joined = join_values(parts)
    order = rng.permutation(count)
    return {name: column[order] for name, column in joined.items()}


def _walk_source(
    block: Block, cases: Sequence[Case], arithmetic: Arithmetic, rng: np.random.Generator
) -> BlockSource:
    """Each case by a walk of its own, drawn by its estimated size but never rarely."""
    if len(cases) > MOST_SAMPLED_CASES:
        cases = [cases[i] for i in rng.permutation(len(cases))[:MOST_SAMPLED_CASES]]
    found: list[_CaseSource] = []
    trouble: Unsupported | None = None
    for case in cases:
        try:
            found.append(_case_source(block, case, arithmetic, rng))
        except Unsupported as error:
            if trouble is None or isinstance(trouble, NoStart):
                trouble = error
    if not found:
        assert trouble is not None
        raise trouble
    sizes = np.nan_to_num(np.array([s.size for s in found]), posinf=1e3, neginf=-1e3)
    same = len({s.dimension for s in found}) == 1
    shares = np.exp(sizes - sizes.max()) if same else np.ones(len(found))
    shares = shares / shares.sum() + 0.25 / len(found)
    draws = [s.draw for s in found]
    words = next((s.how for s in found if s.how), "")
    how = words if len(found) == 1 else f"one of {len(found)} cases; {words}"
    return BlockSource(
        "spread",
        how,
        lambda count, rng, corners: _draw_by_case(list(shares), draws, count, rng, corners),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CaseSource:
    """`size`: the logarithm of the volume, roughly; it can be compared where the dimension is the same."""

    size: float
    dimension: int
    how: str
    draw: Draw


def _case_source(block: Block, case: Case, arithmetic: Arithmetic, rng: np.random.Generator) -> _CaseSource:
    kinds = block.kinds
    if case.is_box() and box_volume(case.box, kinds) is not None:
        dimension = sum(not bounds.is_point() for bounds in case.box.values())
        size = sum(float(np.log(max(1e-300, _side(case, n, kinds)))) for n in kinds)
        return _CaseSource(size, dimension, "", _box_source(case.box, kinds, arithmetic).draw)
    sampler = prepare_case(case, kinds, arithmetic, rng)

    def draw(count: int, rng: np.random.Generator, corners: bool) -> Values:
        return repair_rows(block, arithmetic, draw_case(sampler, count, rng, corners=corners), count, rng)

    return _CaseSource(sampler.size, sampler.region.dimension, sampler.how, draw)


def _side(case: Case, name: str, kinds: Mapping[str, Scalar]) -> float:
    """The length of a side of a box; 1 where there is one value."""
    low, high = case.box[name].low, case.box[name].high
    if low is None or high is None or low == high:
        return 1.0
    return float(high - low) if isinstance(kinds[name], Real) else float(high - low + 1)


def _law_source(block: Block, laws: Mapping[str, Law], arithmetic: Arithmetic) -> BlockSource:
    own = {name: laws[name] for name in block.kinds if name in laws}
    source = prepare_laws(block, _some_cases(block), own, arithmetic)
    return BlockSource("given", source.how, lambda count, rng, _: source.draw(count, rng))


def _some_cases(block: Block) -> list[Case]:
    cases = block_cases(block)
    if not cases:
        names = ", ".join(f"`{n}`" for n in list(block.kinds)[:4])
        raise NoStart(f"there is no start state: the conditions on {names} exclude each other")
    return cases


def join_values(found: Sequence[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}
