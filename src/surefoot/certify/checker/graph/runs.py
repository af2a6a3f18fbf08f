"""A claim about all runs of a finite system: every reachable state is looked at.

Where a network decides, every action counts as possible whose output is within rounding of the largest one:
whatever the order of summation, a run is among those that are looked at (docs/certificates.md, 4 and 11).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..bounds.forward import interval, overflow
from ..bounds.problem import Problem as Values
from ..bounds.problem import Value
from ..bounds.state import Grid, State
from ..claim import Places
from ..file import shown as shown_name
from ..network import Network, sources
from ..number import BadCertificate, Refused, integer, record, text
from .claim import ORIGIN, PROBLEM, Checked
from .model import read_model
from .moves import Moves, Step
from .policy import Policy, read_policy
from .process import explore
from .question import MOST_STEPS, condition
from .starts import initial_states
from .term import Row
from .values import Choices, Flags

_RUNS = frozenset({"kind", "condition", "steps", "after"})
_BITS = 64
Bounds = tuple[list[int], list[int]]


def check_graph(claim_data: object, places: Places) -> Checked:
    """Raises `Refused` unless every run of a finite system keeps the property."""
    claim = record(claim_data, frozenset({"kind", "problem"}), frozenset(), "claim")
    problem = record(claim["problem"], PROBLEM, frozenset(), "problem")
    model = read_model(problem["environment"])
    moves = Moves(model)
    policy = None if problem["policy"] is None else read_policy(problem["policy"], moves, places)
    asked = record(problem["property"], _RUNS, frozenset(), "property")
    kind = text(asked["kind"], "kind")
    any_order = None if policy is None else AnyOrder(policy)
    test = condition(asked["condition"], moves, any_order)
    permitted = None if any_order is None else any_order.permitted
    blocked: set[Row] = set()
    process = explore(moves, initial_states(model), permitted, None, (), lambda row: False, blocked)
    if any_order is None:
        holds = [bool(test(row)) for row in process.rows]
    else:
        holds = [any_order.holds(row, test, bad=kind == "never") for row in process.rows]
    stuck = set() if any_order is None else any_order.stuck
    ends = [
        row in stuck or not (several or row in blocked)
        for row, several in zip(process.rows, process.choices, strict=True)
    ]
    steps = None if asked["steps"] is None else integer(asked["steps"], 0, MOST_STEPS, "steps")
    all_runs(process.choices, ends, process.starts, kind, holds, steps, asked["after"])
    words = f"every run of {shown_name(text(problem['name'], 'name'))} keeps its property: {kind}"
    decides = policy is not None and policy.network is not None
    unsaid = (ORIGIN, *(() if policy is None else policy.unsaid))
    size = len(process.rows), sum(map(len, process.choices))
    return Checked(words, *size, "float32" if decides else "exact", unsaid)


@dataclass(slots=True, eq=False)
class AnyOrder:
    """A policy whose network is evaluated in any order; `pick` is the decision that is being looked at."""

    policy: Policy
    bounds: Callable[[tuple[float, ...]], Bounds] | None
    known: dict[tuple[float, ...], Bounds]
    stuck: set[Row]  # where a run may end because of what is picked, although there are other steps
    pick: str | None

    def __init__(self, policy: Policy) -> None:
        self.policy, self.known, self.stuck, self.pick = policy, {}, set(), None
        self.bounds = None if policy.network is None else enclosure(policy.network)

    def possible(self, row: Row, own: set[str]) -> list[str | None]:
        """The actions that may be picked where these are enabled; None: nothing is decided."""
        policy = self.policy
        if self.bounds is None or not own or any(when(row) for when, _ in policy.rules):
            return [policy.picked(row, own)]
        inputs = policy.observed(row)
        if (found := self.known.get(inputs)) is None:
            found = self.known[inputs] = self.bounds(inputs)
        low, high = found
        choice = policy.choice(own)
        best = max(low[i] for i in choice)
        return [policy.actions[i] for i in choice if high[i] >= best]

    def permitted(self, row: Row, steps: list[Step]) -> list[Step]:
        named = [(step, self.policy.action_of(step)) for step in steps]
        picks = self.possible(row, {action for _, action in named if action is not None})
        left = {action for _, action in named}
        if None not in left and not left.issuperset(picks):
            self.stuck.add(row)
        return [step for step, action in named if action is None or action in picks]

    def holds(self, row: Row, test: Callable[[Row], object], *, bad: bool) -> bool:
        """The condition; where it depends on what is picked, for the worse."""
        found = []
        for pick in self.possible(row, self.policy.enabled(row)):
            self.pick = pick
            found.append(bool(test(row)))
        return any(found) if bad else all(found)

    def stalls(self, row: Row) -> bool:
        own = self.policy.enabled(row)
        return bool(own) and self.pick not in own

    def picks(self, _: Row, action: str) -> bool:
        return self.pick == action


def enclosure(network: Network) -> Callable[[tuple[float, ...]], Bounds]:
    """Between which multiples of 2^-64 the outputs of every float32 evaluation lie."""
    widths = network.widths()
    nodes = zip(network.nodes, widths[1:], strict=True)
    values = (Value(widths[0], None, ()), *(Value(w, node, tuple(sources(node))) for node, w in nodes))
    grid = Grid(Values((), values, (), (), True), _BITS, {})

    def around(inputs: tuple[float, ...]) -> Bounds:
        ratios = [x.as_integer_ratio() for x in inputs]
        low = [(n << _BITS) // d for n, d in ratios]
        high = [-((-n << _BITS) // d) for n, d in ratios]
        state = State([low] * len(values), [high] * len(values), 0, [], [])
        for v in range(1, len(values)):
            state.low[v], state.high[v] = interval(grid, state, v)
            if overflow(grid, state, v):
                raise Refused("a value of the network may leave the float32 range")
        return state.low[-1], state.high[-1]

    return around


def all_runs(
    choices: Choices,
    ends: Flags,
    starts: list[int],
    kind: str,
    holds: Flags,
    steps: int | None,
    after: object,
) -> None:
    """Refuses unless every run keeps the property."""
    if type(after) is not int or after < 0 or (after and kind != "within"):
        raise BadCertificate("property: `after` belongs to `within`")
    if kind == "within" if steps is None else kind not in ("never", "within"):
        raise BadCertificate("property: `steps` belongs to `within`, and perhaps to `never`")
    if kind == "never":
        _never(choices, starts, holds, steps)
    elif kind == "within":
        _within(choices, ends, starts, holds, steps or 0, after)
    elif kind in ("eventually", "recurs"):
        _no_quiet_run(choices, ends, starts, holds, through_good=kind == "recurs")
    else:
        raise BadCertificate("property: of an unknown kind")


def _after(choices: Choices, states: set[int]) -> set[int]:
    return {t for s in states for c in choices[s] for t in c[2]}


def _never(choices: Choices, starts: list[int], bad: Flags, steps: int | None) -> None:
    seen = here = set(starts)
    number = 0
    while here:
        if any(bad[s] for s in here):
            raise Refused(f"a bad state after {number} steps")
        if number == steps:
            return
        here = _after(choices, here) - seen
        seen = seen | here
        number += 1


def _within(choices: Choices, ends: Flags, starts: list[int], good: Flags, steps: int, after: int) -> None:
    here = set(starts)
    for number in range(steps + 1):
        if number >= after:
            here = {s for s in here if not good[s]}
        if not here:
            return
        if number == steps or any(ends[s] for s in here):
            raise Refused(f"a run of {number} steps without a good state in time")
        here = _after(choices, here)


def _no_quiet_run(
    choices: Choices, ends: Flags, starts: list[int], good: Flags, *, through_good: bool
) -> None:
    """Neither an end nor a cycle without good states; for `eventually`, along states that are not good."""
    seen = {s for s in starts if through_good or not good[s]}
    stack = list(seen)
    while stack:
        for target in _after(choices, {stack.pop()}):
            if target not in seen and (through_good or not good[target]):
                seen.add(target)
                stack.append(target)
    quiet = {s for s in seen if not good[s]}
    if any(ends[s] for s in quiet):
        raise Refused("a run ends without a good state")
    left = {s: {t for t in _after(choices, {s}) if t in quiet} for s in quiet}
    users: dict[int, list[int]] = {s: [] for s in quiet}
    for s, targets in left.items():
        for t in targets:
            users[t].append(s)
    done = [s for s, targets in left.items() if not targets]
    count = 0
    while done:
        last = done.pop()
        count += 1
        for s in users[last]:
            left[s].discard(last)
            if not left[s]:
                done.append(s)
    if count < len(quiet):
        raise Refused("a cycle without good states")
