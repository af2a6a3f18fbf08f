"""Every reachable state of a model, with what the policy picks there and where each choice leads."""

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from tests.laws.oracle.meaning import AmbiguousError, Meaning, Names, Pick, State, Step
from tests.laws.oracle.terms import Term, UndefinedError, Value, value_of

Rewards = dict[str, Value]
Branch = tuple[Fraction, int, Rewards]  # probability, node, rewards


class TooLargeError(Exception):
    """More states than the oracle looks at."""


@dataclass
class Node:
    """A state together with a pick of the policy. `status`: `go`, `end`, or `blocked` by an assumption."""

    state: State
    pick: Pick
    names: Names
    status: str = "go"
    choices: list[list[Branch]] = field(default_factory=list)
    trouble: str = ""  # something is undefined here, or a step leaves a range
    ties: bool = False
    beside: set[int] = field(default_factory=set)  # where a run may go though another outcome has no meaning

    def successors(self) -> set[int]:
        return {node for choice in self.choices for _, node, _ in choice}


@dataclass
class Graph:
    nodes: list[Node]
    starts: list[tuple[State, list[tuple[Fraction, int]]]]  # a start and the nodes of its picks
    places: dict[State, list[tuple[Fraction, int]]]

    def start_nodes(self) -> set[int]:
        return {node for _, shares in self.starts for _, node in shares}

    def holds(self, term: Term, node: int) -> bool:
        """The value of a condition of a property; may raise UndefinedError or AmbiguousError."""
        found = value_of(term, Guarded(self.nodes[node].names))
        assert isinstance(found, bool)
        return found


class Guarded(dict[str, Value]):
    """Names of a property: those whose value nothing documents raise."""

    def __missing__(self, name: str) -> Value:
        raise AmbiguousError(name)


def explore(meaning: Meaning, *, widened: bool = False, most: int = 1500) -> Graph:
    nodes: list[Node] = []
    places: dict[State, list[tuple[Fraction, int]]] = {}
    waiting: deque[tuple[int, list[Step]]] = deque()

    def place(state: State) -> list[tuple[Fraction, int]]:
        if state not in places:
            places[state] = []
            for node, steps in observe(meaning, state, widened=widened):
                places[state].append((node.pick.share, len(nodes)))
                waiting.append((len(nodes), steps))
                nodes.append(node)
            if len(nodes) > most:
                raise TooLargeError
        return places[state]

    starts = [(state, place(state)) for state in meaning.starts()]
    while waiting:
        number, steps = waiting.popleft()
        node = nodes[number]
        permitted = [s for s in steps if not meaning.owns(s) or meaning.takes(s, node.pick.action)]
        if not permitted and not node.trouble:
            node.status = "end"
        for step in permitted:
            expand(meaning, node, step, place)
        if permitted and not node.choices and not node.trouble:
            node.status = "blocked"
    return Graph(nodes, starts, places)


def observe(meaning: Meaning, state: State, *, widened: bool) -> list[tuple[Node, list[Step]]]:
    """The nodes of a state: one for each pick."""
    names = meaning.look(state)
    sure = Pick(Fraction(1), None, False)
    try:
        names |= meaning.controls(names)
        steps = meaning.enabled(state, names)
        picks = meaning.picks(names, steps, widened=widened)
        ties = len(meaning.picks(names, steps, widened=True)) > 1
    except UndefinedError as error:
        return [(Node(state, sure, names, trouble=str(error)), [])]
    labels = {s.label for s in steps if s.label is not None} | all_labels(meaning)
    found = []
    for pick in picks:
        seen = dict(names)
        seen["deadlocked"] = not steps
        if not pick.due:
            seen["stalled"] = False
        elif pick.action is not None:  # a program without a branch that applies: nothing says what it is
            seen["stalled"] = not any(meaning.owns(s) and meaning.takes(s, pick.action) for s in steps)
            seen |= {f"?{label}": label == pick.action for label in labels}
        found.append((Node(state, pick, seen, ties=ties), steps))
    return found


def all_labels(meaning: Meaning) -> set[str]:
    model = meaning.model
    if model.synchronisations is None:
        return {e.action for c in model.components for e in c.edges if e.action is not None}
    return {s.result for s in model.synchronisations if s.result is not None}


def expand(meaning: Meaning, node: Node, step: Step, place) -> None:  # type: ignore[no-untyped-def]
    try:
        valuations = list(meaning.valuations(step, node.names))
    except UndefinedError as error:
        node.trouble = str(error)
        return
    for chosen in valuations:
        try:
            landings = meaning.land(node.state, step, node.names | chosen)
        except UndefinedError as error:
            node.trouble = str(error)
            node.beside |= {n for landing in error.beside for _, n in place(landing.state)}
            continue
        node.choices.append(
            [
                (landing.probability * share, target, dict(landing.rewards))
                for landing in landings
                for share, target in place(landing.state)
            ]
        )
