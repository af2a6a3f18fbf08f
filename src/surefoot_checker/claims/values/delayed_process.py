"""The process in which outcomes stay open until something depends on them, derived from the edges.

What depends on a source resolves it: the conditions of the question, locations, guards, the policy, the
probabilities, rewards and updates of a step, in this order; where there are several choices, everything.
Why its values are those of the whole process is shown in docs/certificates.md, section 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from ...kernel.asked_property import ExpectedReward, Probability
from ...kernel.problem import Edge, Outcome, Update
from ...kernel.strict_json import BadCertificate, Refused
from ...kernel.term import ACTING, Term, term_atoms
from .initial_rows import enumerate_initial_rows
from .model import value_conforms
from .open_outcomes import (
    Depends,
    OpenState,
    OpenTerms,
    Varies,
    awaited_source,
    entry_of,
    normal_state,
)
from .pctl_question import QuantitativeQuery
from .policy import ClaimedPolicy
from .relevant_variables import RelevantVariables
from .state_space import MOST_STATES, Choice, Process
from .transitions import JointTransitions, ModelStep, probabilities_to_weights

START, GOAL, LOST, WITHIN = range(4)
_ONE = Fraction(1)
Step = tuple[Fraction, list[tuple[Fraction, OpenState]]]  # what it is expected to pay, where it leads
Waits = int  # the source to be resolved


@dataclass(frozen=True, slots=True)
class DelayedProcess:
    process: Process
    left: list[bool]
    right: list[bool]


@dataclass(frozen=True, slots=True)
class _Look:
    """What holds in a state in which nothing has to be resolved."""

    rank: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draw:
    """One outcome of an edge, or of several that move together."""

    share: Fraction
    updates: tuple[Update, ...]
    places: dict[int, int] = field(default_factory=dict)


def derive_delayed_process(
    moves: JointTransitions,
    policy: ClaimedPolicy | None,
    asked: Probability | ExpectedReward,
    question: QuantitativeQuery,
) -> DelayedProcess:
    """All states that are reached; refused where the question, or the problem, leaves no outcome open."""
    if asked.starts is not None or question.after or question.counters:
        raise BadCertificate("outcomes stay open only for questions about the initial states, without sums")
    edges = [edge for component in moves.model.problem.components for edge in component.edges]
    if any(edge.chosen or edge.assuming is not True for edge in edges):
        raise BadCertificate("outcomes stay open only where no values are chosen")
    return _Derivation(moves, policy, asked, question).run()


def _condition_terms(asked: Probability | ExpectedReward) -> tuple[Term, Term]:
    """`left` and `right` of the form that is checked, see `pctl_question`."""
    if isinstance(asked, ExpectedReward):
        return True, asked.until
    left, right = asked.left, asked.right
    match asked.operator:
        case "F":
            return True, right
        case "U":
            return left, right
        case "G":
            return True, ("not", right)
        case "W":
            return ("not", right), ("and", ("not", right), ("not", left))
        case "R":
            return ("not", left), ("not", right)
        case _:
            raise BadCertificate("property: an operator for which no outcome stays open")


class _Derivation:
    def __init__(
        self,
        moves: JointTransitions,
        policy: ClaimedPolicy | None,
        asked: Probability | ExpectedReward,
        question: QuantitativeQuery,
    ) -> None:
        self.moves, self.model, self.policy, self.question = moves, moves.model, policy, question
        self.terms = OpenTerms(self.model)
        worth = asked.worth if isinstance(asked, ExpectedReward) else None
        left, right = _condition_terms(asked)
        conditions = [left, right] if worth is None else [left, right, worth]
        if any(atom[0] in ACTING or atom[0] == "output" for t in conditions for atom in term_atoms(t)):
            raise BadCertificate("a condition asks what may happen next, and outcomes stay open")
        self.left, self.right = self.terms.of(left), self.terms.of(right)
        self.worth = None if worth is None else self.terms.of(worth)
        whole = tuple(map(self.terms.of, conditions))
        self.reads = frozenset[int]() if policy is None else policy.reads
        goal = None if question.kind == "reward" else self.right
        self.relevant = RelevantVariables(
            self.model, self.terms, whole, goal, self.reads, question.reward or None
        )
        self.looks: dict[Any, _Look | Waits] = {}
        self.numbers: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.found: list[_Look] = []

    def run(self) -> DelayedProcess:
        starts = enumerate_initial_rows(self.model)
        if not starts:
            raise Refused("no initial state")
        for row in starts:
            look = self._look_at(*self.relevant.forget(OpenState(row, ())))
            assert isinstance(look, _Look), "in a start state nothing is open"
            self._number((START, row, ()), look)
        choices: list[Sequence[Choice]] = []
        for look in self.found:  # grows while we go through it
            choices.append(tuple(self._choice(step) for step in look.steps))
            if len(self.found) > MOST_STATES:
                raise Refused("too many states")
        rows = [key[1] for key in self.keys]
        order = sorted(range(len(rows)), key=self.keys.__getitem__)
        process = Process(rows, choices, sorted(range(len(starts)), key=rows.__getitem__), order)
        ranks = [look.rank for look in self.found]
        return DelayedProcess(process, [r != LOST for r in ranks], [r == GOAL for r in ranks])

    def _number(self, key: Any, look: _Look) -> int:
        if (number := self.numbers.get(key)) is None:
            number = self.numbers[key] = len(self.keys)
            self.keys.append(key)
            self.found.append(look)
        return number

    def _choice(self, step: Step) -> Choice:
        paid, after = step
        shares: dict[int, Fraction] = {}
        waiting = list(after)
        while waiting:
            share, raw = waiting.pop()
            state, lost = self.relevant.forget(raw)
            look = self._look_at(state, lost)
            if isinstance(look, _Look):
                key = (look.rank, (), ()) if look.rank != WITHIN else (WITHIN, state.row, state.sources)
                number = self._number(key, look)
                shares[number] = shares.get(number, Fraction(0)) + share
            else:
                waiting += [(share * part, one) for part, one in state.split(look)]
        unit, weights = probabilities_to_weights(list(shares.values()))
        return unit, weights, tuple(shares), paid

    def _look_at(self, state: OpenState, lost: bool) -> _Look | Waits:
        key = (state.row, state.sources)
        if key not in self.looks:
            self.looks[key] = _Look(LOST) if lost else self._look(state)
        return self.looks[key]

    def _look(self, state: OpenState) -> _Look | Waits:
        for condition, ends, rank in ((self.right, True, GOAL), (self.left, False, LOST)):
            value = condition.evaluate(state)
            if (source := awaited_source(value)) is not None:
                return source
            if bool(value) is ends:
                return _Look(rank)
        steps = self._permitted_steps(state)
        if isinstance(steps, Waits):
            return steps
        if len(steps) > 1 and state.sources:
            return 0
        worth = None
        if steps and self.worth is not None:
            worth = self.worth.evaluate(state)
            if (source := awaited_source(worth)) is not None:
                return source
        taken: list[Step] = []
        for step in steps:
            found = self._take(step, state)
            if isinstance(found, Waits):
                return found
            if worth is not None:
                found = _not_negative(Fraction(worth)), found[1]
            taken.append(found)
        return _Look(WITHIN, tuple(taken))

    def _permitted_steps(self, state: OpenState) -> list[ModelStep] | Waits:
        ready: list[list[Edge]] = []
        awaited: list[list[tuple[Edge, Waits]]] = []
        for place, by_location in zip(self.model.places, self.model.edges, strict=True):
            if place is not None and place in state.owners:
                return state.owners[place]
            here = by_location[0 if place is None else state.row[place]]
            values = [(edge, self.terms.of(edge.guard).evaluate(state)) for edge in here]
            ready.append([edge for edge, value in values if awaited_source(value) is None and value])
            awaited.append([(e, n) for e, v in values if (n := awaited_source(v)) is not None])
        if any(awaited):
            for edges, several in zip(awaited, range(len(ready)), strict=True):
                for edge, source in edges:
                    if self._could_move(edge, several, ready, awaited):
                        return source
        steps = self.moves.combine_ready(ready)
        if self.policy is None or all(self.policy.action_of(step) is None for step in steps):
            return steps
        if some := state.touched(self.reads):
            return some[0]
        return self.policy.permitted_steps(state.row, steps)

    def _could_move(
        self,
        edge: Edge,
        component: int,
        ready: list[list[Edge]],
        awaited: list[list[tuple[Edge, Waits]]],
    ) -> bool:
        """Has every component that would have to move with it an edge whose guard is not false?"""
        vectors = self.model.problem.synchronisations
        if edge.action is None or (len(ready) == 1 and not vectors):
            return True
        for actions, _ in vectors:
            if actions[component] == edge.action and all(
                action is None
                or any(e.action == action for e in ready[c])
                or any(e.action == action for e, _ in awaited[c])
                for c, action in enumerate(actions)
            ):
                return True
        return False

    def _take(self, step: ModelStep, state: OpenState) -> Step | Waits:
        """What the step pays and where it leads, or what has to be resolved."""
        paid, by_edge = Fraction(0), []
        for edge in step.edges:
            draws = []
            for outcome in edge.outcomes:
                known = self._numbers(outcome, state)
                if isinstance(known, Waits):
                    return known
                share, amount = known
                if share:
                    draws.append(self._draw(edge, outcome, share))
                    paid += share * amount
            if sum(draw.share for draw in draws) != 1:
                raise Refused("probabilities that do not sum to 1")
            by_edge.append(draws)
        after = self._scatter(self._independent(by_edge), state)
        return after if isinstance(after, Waits) else (_ONE if self.question.reward == "" else paid, after)

    def _numbers(self, outcome: Outcome, state: OpenState) -> tuple[Fraction, Fraction] | Waits:
        """The probability of an outcome, and what it pays of the reward that is asked for."""
        wanted = self.question.reward
        rewards = [term for name, term in outcome.rewards if wanted and name == wanted]
        values = []
        for term in (outcome.probability, *rewards):
            value = self.terms.of(term).evaluate(state)
            if (source := awaited_source(value)) is not None:
                return source
            values.append(Fraction(value))
        if not 0 <= values[0] <= 1:
            raise Refused(f"the probability {values[0]}")
        return values[0], _not_negative(sum(values[1:], Fraction(0)))

    def _draw(self, edge: Edge, outcome: Outcome, share: Fraction) -> _Draw:
        place = self.model.places[self.model.component_of[edge]]
        places = {} if place is None else {place: outcome.target}
        return _Draw(share, tuple(sorted(outcome.updates, key=lambda u: u.index)), places)

    def _independent(self, by_edge: list[list[_Draw]]) -> list[list[_Draw]]:
        """Edge by edge; all edges together, where updates have an order or write the same variable."""
        updates = [[u for draw in draws for u in draw.updates] for draws in by_edge]
        written = [{u.variable for u in several} for several in updates]
        ordered = len({u.index for several in updates for u in several}) > 1
        shared = sum(map(len, written)) > len(set().union(*written))
        if len(by_edge) == 1 or not (ordered or shared):
            return by_edge
        joint = []
        for draws in product(*by_edge):
            share = _ONE
            places: dict[int, int] = {}
            for draw in draws:
                share, places = share * draw.share, {**places, **draw.places}
            several = [u for draw in draws for u in draw.updates]
            joint.append(_Draw(share, tuple(sorted(several, key=lambda u: u.index)), places))
        return [joint]

    def _scatter(
        self, groups: list[list[_Draw]], state: OpenState
    ) -> list[tuple[Fraction, OpenState]] | Waits:
        """Every group becomes a source of its own, or is told apart at once."""
        shares = [[share for _, share in columns] for _, columns in state.sources]
        apart: list[list[tuple[Fraction, Mapping[int, Any]]]] = []
        together: dict[int, Any] = {}
        for draws in groups:
            written = []
            for draw in draws:
                entries = self._entries(draw, state)
                if isinstance(entries, Waits):
                    return entries
                written.append(entries)
            slots = set().union(*written)
            whole = [{s: w[s] if s in w else entry_of(state, s) for s in slots} for w in written]
            differing = [s for s in slots if any(w[s] != whole[0][s] for w in whole)]
            if any(isinstance(w[s], Varies) for w in whole for s in differing):
                apart.append([(draw.share, w) for draw, w in zip(draws, whole, strict=True)])
                continue
            together |= {s: whole[0][s] for s in slots}
            if differing:
                together |= {s: Varies(len(shares), tuple(w[s] for w in whole)) for s in differing}
                shares.append([draw.share for draw in draws])
        after = []
        for picks in product(*apart):
            entries, share = dict(together), _ONE
            for part, written_entries in picks:
                share *= part
                entries.update(written_entries)
            after.append((share, self._state_after(state, entries, shares)))
        return after

    def _state_after(
        self, state: OpenState, entries: Mapping[int, Any], shares: list[list[Fraction]]
    ) -> OpenState:
        row = list(state.row)
        still = {slot: entry_of(state, slot) for slot in state.owners if slot not in entries}
        for slot, entry in entries.items():
            if isinstance(entry, Varies):
                still[slot] = entry
            else:
                row[slot] = entry
        return normal_state(row, still, shares, self.relevant.default)

    def _entries(self, draw: _Draw, state: OpenState) -> dict[int, Any] | Waits:
        """What an outcome writes: values, or how they vary with one source of the state."""
        updates, slots = draw.updates, self.model.slots
        simple = len({u.index for u in updates}) <= 1 and not any(u.path for u in updates)
        if not simple or len({u.variable for u in updates}) < len(updates):
            found = self._entries_in_order(updates, state)
        else:
            found = {}
            for update in updates:
                value = self.terms.of(update.value).evaluate(state)
                if isinstance(value, Depends):
                    return value.source
                self._check_kind(slots[update.variable], value)
                found[slots[update.variable]] = value
        return found if isinstance(found, Waits) else {**found, **draw.places}

    def _check_kind(self, slot: int, value: Any) -> None:
        for one in value.values if isinstance(value, Varies) else (value,):
            if not value_conforms(one, self.model.kinds[slot]):
                raise Refused(f"a variable becomes {str(one)[:40]}, outside its kind")

    def _entries_in_order(self, updates: tuple[Update, ...], state: OpenState) -> dict[int, Any] | Waits:
        """One after the other, for each way in which the one source that they read comes out."""
        slots = {self.model.slots[u.variable] for u in updates}
        read = {self.model.slots[u.variable] for u in updates if u.path}
        for update in updates:
            read = read.union(*(self.terms.of(term).slots for term in (update.value, *update.path)))
        sources = state.touched(frozenset(read))
        if len(sources) > 1:
            return sources[0]
        picks = [{n: pick} for n in sources for pick in range(state.count(n))] or [{}]
        rows = [self.moves.write_in_order(state.fill(pick), updates, {}) for pick in picks]
        found: dict[int, Any] = {}
        for slot in slots:
            values = tuple(row[slot] for row in rows)
            same = all(value == values[0] for value in values)
            found[slot] = values[0] if same else Varies(sources[0], values)
        return found


def _not_negative(amount: Fraction) -> Fraction:
    if amount < 0:
        raise Refused("a reward below 0, which is not looked at where outcomes stay open")
    return amount
