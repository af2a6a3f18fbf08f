"""Cells and their ways as a certificate has them (docs/certificates.md): trees of splits, runs and forks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from surefoot.engines.reach.search import Cell, CellSearch
from surefoot.engines.reach.walk import TreeNode
from surefoot.engines.reach.walk_options import WalkOptions
from surefoot.reductions.closed_loop import ClosedLoop, is_discrete
from surefoot.term.value_types import Bool

BITS = 56  # of fractions in the checker's numbers


def search_to_json(search: CellSearch) -> dict[str, Any]:
    """All regions with the trees of their cells, every one of which is done."""
    options = search.usual
    regions = [
        {
            "start": region.start,
            "box": _box_to_json(search.walk.loop, root),
            "tree": _cell_to_json(root, options),
        }
        for region, root in zip(search.regions, search.roots, strict=True)
    ]
    return {"bits": BITS, **options_to_json(options), "regions": regions}


def options_to_json(options: WalkOptions) -> dict[str, int]:
    found = {"order": options.order, "taylor": options.taylor, "pieces": options.pieces}
    return found | ({"halvings": options.halvings} if options.halvings else {})


def region_trees_to_json(search: CellSearch, first: int) -> list[Any]:
    """The trees of regions that get the numbers from `first` on; all options are said."""
    return [_renumber_returns(_cell_to_json(root, None), first) for root in search.roots]


def _renumber_returns(node: Any, first: int) -> Any:
    if isinstance(node, dict):
        return {key: _renumber_returns(part, first) for key, part in node.items()}
    if not isinstance(node, list):
        return node
    if node[0] == "return":
        return ["return", node[1] + first]
    return [_renumber_returns(part, first) for part in node]


def _box_to_json(loop: ClosedLoop, root: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (name, kind), low, high in zip(loop.kinds.items(), root.low, root.high, strict=True):
        if is_discrete(kind):
            found[name] = bool(low) if isinstance(kind, Bool) else int(low)
        else:
            found[name] = [str(low), str(high)]
    return found


def _cell_to_json(cell: Cell, usual: WalkOptions | None) -> list[Any]:
    if cell.halves is not None:
        return ["split", cell.split, *(_cell_to_json(half, usual) for half in cell.halves)]
    if cell.outside:
        return ["outside"]
    if cell.way is not None:
        return cell.way
    assert cell.tree is not None
    return way_to_json(cell.tree, cell.options, usual)


def way_to_json(node: TreeNode, options: Sequence[WalkOptions], usual: WalkOptions | None) -> list[Any]:
    """A run (several, where its options change), then its end."""
    match node.end:
        case "fork":
            end: list[Any] = ["fork", {}]
            for key, child in node.forks.items():
                rest = TreeNode(child.begins + 1, child.periods - 1, child.end, child.region, child.forks)
                end[1][key] = way_to_json(rest, options, usual)
        case "return":
            end = ["return", node.region]
        case _:
            end = ["done"]
    runs = [
        (key, len(list(same))) for key, same in groupby(options[node.begins : node.begins + node.periods])
    ]
    for chosen, count in reversed(runs):
        end = ["run", count, end] + ([options_to_json(chosen)] if chosen != usual else [])
    return end
