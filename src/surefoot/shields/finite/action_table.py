"""The tree of a shield as tables for source code, and examples of what it does."""

from __future__ import annotations

from random import Random

from surefoot.shields.export import ActionExample, ActionTable
from surefoot.shields.finite.decision_tree import Leaf, Tree
from surefoot.shields.finite.shield import FiniteShield

EXAMPLES = 64


def action_table(shield: FiniteShield, promise: str) -> ActionTable:
    """Inner nodes in the order in which they are met, the left side first."""
    nodes: list[tuple[int, int, int, int]] = []

    def place_node(tree: Tree) -> int:
        if isinstance(tree, Leaf):
            return -1 - tree.value
        at = len(nodes)
        nodes.append((tree.column, tree.limit, 0, 0))
        nodes[at] = (tree.column, tree.limit, place_node(tree.low), place_node(tree.high))
        return at

    root = place_node(shield.tree)
    column, limit, low, high = zip(*nodes, strict=True) if nodes else ((), (), (), ())
    return ActionTable(
        name=shield.problem.name,
        promise=promise,
        state=tuple(c.name for c in shield.columns),
        limits=tuple((int(c.values.min()), int(c.values.max())) for c in shield.columns),
        actions=shield.arena.actions,
        root=root,
        column=column,
        limit=limit,
        low=low,
        high=high,
        permitted=tuple(actions for actions, _ in shield.classes),
        instead=tuple(instead for _, instead in shield.classes),
    )


def examples_of(shield: FiniteShield) -> list[ActionExample]:
    """Random states and proposals, decided from what was found for the state, not by the tree."""
    random, found = Random(0), []
    count = len(shield.arena.actions)
    for _ in range(min(EXAMPLES, len(shield.visited))):
        row = random.randrange(len(shield.visited))
        number, proposed = int(shield.visited[row]), random.randrange(count)
        instead = int(shield.safest.action[number])
        fine = bool(shield.safest.permitted[number, proposed]) or proposed == instead
        state = tuple(int(c.values[row]) for c in shield.columns)
        found.append(ActionExample(state, proposed, proposed if fine else instead, int(not fine)))
    return found
