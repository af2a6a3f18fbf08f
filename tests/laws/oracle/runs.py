"""The truth of questions about all runs: safety by reachability, liveness by ends and cycles.

The rules are those of docs/reference/engines.md ("What a violation is") and docs/certificates.md, section 11.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.laws.oracle.graph import Graph
from tests.laws.oracle.terms import Term, UndefinedError


@dataclass(frozen=True)
class RunTruth:
    violated: bool
    trouble: bool  # before it is decided, some run comes to something undefined
    vacuous: bool  # nothing satisfies the premise
    depth: int | None = None  # of the shortest violation, for questions about states by number


class Seen:
    """The value of a condition in nodes, remembering whether it was undefined in one that was asked for."""

    def __init__(self, graph: Graph, condition: Term) -> None:
        self.graph, self.condition = graph, condition
        self.known: dict[int, bool | None] = {}
        self.undefined = False

    def __call__(self, node: int) -> bool | None:
        if node not in self.known:
            try:
                self.known[node] = self.graph.holds(self.condition, node)
            except UndefinedError:
                self.known[node] = None
        if self.known[node] is None or "undefined" in self.graph.nodes[node].trouble:
            self.undefined = True
        return self.known[node]


def judge_never(graph: Graph, bad: Term, steps: int | None) -> RunTruth:
    is_bad = Seen(graph, bad)
    level, seen, depth, trouble = graph.start_nodes(), graph.start_nodes(), 0, False
    while level:
        if any(is_bad(n) for n in level):
            return RunTruth(True, trouble or is_bad.undefined, not graph.starts, depth)
        if depth == steps:
            break
        trouble |= any(graph.nodes[n].trouble != "" for n in level)
        level = {m for n in level for m in graph.nodes[n].successors()} - seen
        seen |= level
        depth += 1
    return RunTruth(False, trouble or is_bad.undefined, not graph.starts)


def judge_within(graph: Graph, good: Term, steps: int, after: int) -> RunTruth:
    is_good = Seen(graph, good)
    level, trouble, complete = graph.start_nodes(), False, False
    for i in range(steps + 1):
        if i >= after:
            complete |= any(is_good(n) for n in level)
            level = {n for n in level if not is_good(n)}
        if i == steps and level:
            return RunTruth(True, trouble or is_good.undefined, not graph.starts, i)
        if any(graph.nodes[n].status == "end" for n in level):
            return RunTruth(True, trouble or is_good.undefined, not graph.starts, i)
        if i < steps:
            trouble |= any(graph.nodes[n].trouble != "" for n in level)
            level = {m for n in level for m in graph.nodes[n].successors()}
    return RunTruth(False, trouble or is_good.undefined, not graph.starts or not complete)


def judge_eventually(graph: Graph, good: Term) -> RunTruth:
    is_good = Seen(graph, good)
    reached = closure(graph, graph.start_nodes(), lambda n: not is_good(n))
    bare = {n for n in reached if not is_good(n)}
    return judge_lasting(graph, bare, bare, is_good)


def judge_recurs(graph: Graph, good: Term) -> RunTruth:
    is_good = Seen(graph, good)
    reached = closure(graph, graph.start_nodes(), lambda n: True)
    bare = {n for n in reached if not is_good(n)}
    return judge_lasting(graph, bare, reached, is_good)


def judge_lasting(graph: Graph, bare: set[int], followed: set[int], is_good: Seen) -> RunTruth:
    """Whether a run ends in, or stays for ever among, states without a good one."""
    ends = any(graph.nodes[n].status == "end" for n in bare)
    trouble = any(graph.nodes[n].trouble != "" for n in followed) or is_good.undefined
    everything = closure(graph, graph.start_nodes(), lambda n: True)
    lasting = any(graph.nodes[n].status == "end" for n in everything) or on_cycles(graph, everything)
    return RunTruth(ends or bool(on_cycles(graph, bare)), trouble, not lasting)


def closure(graph: Graph, start: Iterable[int], follow) -> set[int]:  # type: ignore[no-untyped-def]
    """What is reached by steps from nodes that are followed."""
    seen = set(start)
    waiting = list(seen)
    while waiting:
        node = waiting.pop()
        if follow(node):
            fresh = graph.nodes[node].successors() - seen
            seen |= fresh
            waiting += fresh
    return seen


def on_cycles(graph: Graph, inside: set[int]) -> set[int]:
    """The nodes from which one can stay inside for ever; not empty exactly if there is a cycle."""
    left = set(inside)
    while True:
        stuck = {n for n in left if not graph.nodes[n].successors() & left}
        if not stuck:
            return left
        left -= stuck
