"""Walking the trees of regions: what a certificate says is only how to cut and where to look.

All sets are computed here. A tree is gone through with a list of what is left to do, never by recursion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from ...kernel.share import WHOLE, Share
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
)
from .cell import Box, Cell, WalkOptions, cell_of_box, cell_terms, cut_symbol, is_cell_inside
from .loop_system import ClosedLoop, finest_sets
from .period import follow_period
from .question import LoopQuestion
from .start_cover import check_region_box, check_starts_covered
from .step import enumerate_successors

MOST_REGIONS = 1_000_000
MOST_PERIODS = 10_000_000  # that are followed, of all cells together
MOST_RUN = 1_000_000
MOST_AGAIN = 3  # cells that are followed twice before all others have all symbols in sub-steps
_REGION = frozenset({"start", "box", "tree"})
MOST = {"order": 1000, "taylor": 30, "pieces": 1000, "halvings": 12}
_OPTIONS = frozenset(MOST)


@dataclass(slots=True)
class WalkCount:
    share: Share = WHOLE
    passed: int = 0  # boxes that are not split, whoever follows them
    cells: int = 0
    periods: int = 0
    again: int = 0  # cells that are not refused only if they are followed finely


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    start: bool
    box: Box
    tree: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a walk is: a box before its first period, a cell from then on."""

    node: Any
    below: int  # references are to nodes before this one
    box: Box | None
    cell: Cell | None
    made: int  # periods
    options: WalkOptions
    held: Box | None = None  # of variables that nothing changes


def read_options(data: Mapping[str, Any]) -> WalkOptions:
    order, taylor, pieces = (
        expect_integer(data[key], 1, MOST[key], key) for key in ("order", "taylor", "pieces")
    )
    halvings = expect_integer(data.get("halvings", 0), 0, MOST["halvings"], "halvings")
    return WalkOptions(order, taylor, pieces, halvings)


def read_regions(loop: ClosedLoop, data: object) -> list[Region]:
    entries = [expect_object(r, _REGION, "region") for r in expect_list(data, "regions")]
    if len(entries) > MOST_REGIONS:
        raise BadCertificate("regions: too many")
    found = []
    for entry in entries:
        if type(entry["start"]) is not bool:
            raise BadCertificate("region: `start` is neither true nor false")
        found.append(
            Region(entry["start"], check_region_box(loop, entry["box"], expect_number), entry["tree"])
        )
    return found


def check_regions(
    loop: ClosedLoop,
    regions: Sequence[Region],
    nodes: Sequence[Any],
    options: WalkOptions,
    bits: int,
    share: Share = WHOLE,
) -> WalkCount:
    """`Refused` unless the trees of all regions show the property, and starts are in those that say so.

    With a `share`: as far as its cells tell, which are dealt in the order of the walk.
    """
    check_starts_covered(loop, [region.box for region in regions if region.start])
    targets = _returned_regions([*(region.tree for region in regions), *nodes], len(regions))
    if targets and loop.property.kind != "never":
        raise Refused("a `return` is for what never happens")
    count = WalkCount(share)
    for number, region in enumerate(regions):
        question = LoopQuestion(loop, bits, number in targets)
        try:
            _walk_region(loop, question, region, regions, nodes, options, count)
        except Refused as error:
            raise Refused(f"region {number}: {error}") from None
    return count


def count_cells(data: Mapping[str, Any]) -> int:
    """About how many boxes are followed; a part that is referred to counts once."""
    regions, nodes = data.get("regions"), data.get("nodes")
    left: list[Any] = list(nodes) if type(nodes) is list else []
    if type(regions) is list:
        left += [region.get("tree") for region in regions if type(region) is dict]
    found = 0
    while left:
        node = left.pop()
        if type(node) is list and node and node[0] == "split":
            left += node[2:]
        else:
            found += 1
    return found


def _returned_regions(trees: Sequence[Any], count: int) -> set[int]:
    """The regions that something returns to."""
    found, left = set(), list(trees)
    while left:
        node = left.pop()
        if type(node) is list and node:
            if node[0] == "return":
                found.add(_returned_region(node[1:], count))
            left += [part for part in node[1:] if type(part) in (list, dict)]
        elif type(node) is dict:
            left += node.values()
    return found


def _returned_region(parts: Sequence[Any], count: int) -> int:
    if len(parts) != 1:
        raise BadCertificate("tree: a `return` has the number of a region")
    return expect_integer(parts[0], 0, count - 1, "return")


def _walk_region(
    loop: ClosedLoop,
    question: LoopQuestion,
    region: Region,
    regions: Sequence[Region],
    nodes: Sequence[Any],
    options: WalkOptions,
    count: WalkCount,
) -> None:
    left, constants = [_Place(region.tree, len(nodes), region.box, None, 0, options)], loop.constants()
    while left:
        place = _open_reference(left.pop(), nodes)
        word, parts = _open_node(place.node)
        if word != "split":
            count.passed += 1
            if not count.share.owns(count.passed - 1):
                continue
        if word in ("split", "outside"):
            left += _split_start(loop, question, region, word, parts, place)
            continue
        assert place.box is not None
        held = {name: place.box[name] for name in constants}
        begin = replace(place, box=None, cell=cell_of_box(loop, place.box, question.bits), held=held)
        count.cells += 1
        try:
            _walk_cell(loop, question, begin, regions, nodes, count)
        except Refused:
            with finest_sets(loop):
                _walk_cell(loop, question, begin, regions, nodes, count)
            count.again += 1
            if loop.time is not None and count.again >= MOST_AGAIN:
                loop.time.flow.program.finest = True


def _open_reference(place: _Place, nodes: Sequence[Any]) -> _Place:
    while type(place.node) is int:
        number = expect_integer(place.node, 0, place.below - 1, "node")
        place = replace(place, node=nodes[number], below=number)
    return place


def _walk_cell(
    loop: ClosedLoop,
    question: LoopQuestion,
    begin: _Place,
    regions: Sequence[Region],
    nodes: Sequence[Any],
    count: WalkCount,
) -> None:
    """From the first moment of a cell."""
    assert begin.cell is not None
    if question.ask_moment(begin.cell, Fraction(0)):
        return
    left = [begin]
    while left:
        place = _open_reference(left.pop(), nodes)
        word, parts = _open_node(place.node)
        assert place.cell is not None
        match word:
            case "split" | "outside":
                raise BadCertificate(f"tree: `{word}` after a run has begun")
            case "run":
                left += _run(loop, question, parts, place, count)
            case "fork":
                ways = parts[0] if len(parts) == 1 else None
                if type(ways) is not dict:
                    raise BadCertificate("tree: a `fork` has an object")
                for key, cell in _follow(loop, question, place, count).items():
                    if key not in ways:
                        raise Refused(f"a fork leaves out the successor {key!r}")
                    left.append(replace(place, node=ways[key], cell=cell, made=place.made + 1))
            case "cut":
                if len(parts) != 3:
                    raise BadCertificate("tree: a `cut` has a symbol and two parts")
                symbol = expect_integer(parts[0], 0, 1 << 20, "cut")
                for half, node in zip(cut_symbol(place.cell, symbol), parts[1:], strict=True):
                    count.cells += 1
                    left.append(replace(place, node=node, cell=half))
            case "return":
                target = regions[_returned_region(parts, len(regions))]
                if not place.made:
                    raise Refused("a `return` before the first period")
                if not is_cell_inside(loop, place.cell, target.box, question.bits, place.held or {}):
                    raise Refused(f"a cell that is said to return is not inside after {place.made} periods")
            case _:
                raise Refused(f"the walk ends too early, after {place.made} periods")


def _open_node(node: Any) -> tuple[str, list[Any]]:
    if type(node) is not list or not node or node[0] not in _WORDS:
        raise BadCertificate("tree: a node that is not known")
    return node[0], node[1:]


_WORDS = ("split", "outside", "run", "fork", "cut", "done", "return")


def _split_start(
    loop: ClosedLoop, question: LoopQuestion, region: Region, word: str, parts: list[Any], place: _Place
) -> list[_Place]:
    box = place.box
    assert box is not None
    if word == "outside":
        if not region.start or question.always:
            raise Refused("`outside` in a region that is not only one of starts")
        cell = cell_of_box(loop, box, question.bits)
        if cell_terms(loop, cell, question.bits).truth(loop.initial) is not False:
            raise Refused("a part of the starts is left out")
        return []
    if len(parts) != 3:
        raise BadCertificate("tree: a `split` has a variable and two parts")
    name = loop.variables[expect_integer(parts[0], 0, len(loop.variables) - 1, "split")].name
    if name not in loop.reals:
        raise BadCertificate("tree: a `split` of a variable that is not real")
    low, high = box[name]
    middle = (low + high) / 2
    halves = ({**box, name: (low, middle)}, {**box, name: (middle, high)})
    return [replace(place, node=node, box=half) for node, half in zip(parts[1:], halves, strict=True)]


def _run(
    loop: ClosedLoop, question: LoopQuestion, parts: list[Any], place: _Place, count: WalkCount
) -> list[_Place]:
    if len(parts) not in (2, 3):
        raise BadCertificate("tree: a `run` has a number, what follows, and perhaps options")
    if len(parts) == 3:
        given = expect_object(parts[2], frozenset(), "options", _OPTIONS)
        place = replace(place, options=read_options({**asdict(place.options), **given}))
    for _ in range(expect_integer(parts[0], 0, MOST_RUN, "run")):
        successors = _follow(loop, question, place, count)
        if not successors:
            return []
        if len(successors) > 1:
            raise Refused(
                f"several successors after {place.made} periods: {', '.join(sorted(successors)[:4])}"
            )
        (cell,) = successors.values()
        place = replace(place, cell=cell, made=place.made + 1)
    return [replace(place, node=parts[1])]


def _follow(loop: ClosedLoop, question: LoopQuestion, place: _Place, count: WalkCount) -> dict[str, Cell]:
    """The cells after one more period of which something is left to show."""
    count.periods += 1
    if count.periods > MOST_PERIODS:
        raise Refused("more periods than are followed")
    assert place.cell is not None
    if loop.time is not None:
        time = place.made * loop.time.period
        found = follow_period(loop, question, place.cell, time, place.options)
        return {key: cell for key, cell in found.items() if cell is not None}
    must = loop.property.kind != "never"
    successors = enumerate_successors(loop, place.cell, question.bits, place.options, must)
    if must and not successors:
        raise Refused("a run may end before its goal")
    later = Fraction(place.made + 1)
    return {key: cell for key, cell in successors.items() if not question.ask_moment(cell, later)}
