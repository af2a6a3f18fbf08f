"""Random JANI models and questions, with what only JANI has: transient values, indices, silent vectors."""

from dataclasses import replace
from fractions import Fraction
from random import Random

from tests.laws.oracle.ask import about_chance, about_runs, scope_of
from tests.laws.oracle.generate import (
    LABELS,
    PROBABILITIES,
    Maker,
    in_sequence,
    random_kind,
    random_outcome,
    random_value,
)
from tests.laws.oracle.model import Component, Edge, Kind, Model, Outcome, Synchronisation, Update, Variable
from tests.laws.oracle.questions import Question
from tests.laws.oracle.random_terms import Scope, kept_in, truth_term, whole_term
from tests.laws.oracle.terms import Term

COST = ("var", "cost")


class JaniMaker(Maker):
    def model(self) -> Model:
        r = self.r
        self.features |= {"jani"}
        variables = []
        for name in "xyz"[: r.choice([1, 2, 2, 3])]:
            kind = random_kind(r, large=True)
            open_start = kind.base != "real" and kind.length is None and self.chance(0.2, "open start")
            variables.append(Variable(name, kind, None if open_start else (random_value(r, kind),)))
        scope = Scope(linear=self.chance(0.35, "linear"), risky=self.chance(0.1, "risky"))
        scope.negative = self.chance(0.04, "negative remainder")
        scope.calls = self.chance(0.25, "functions")
        for v in variables:
            scope.add(v.name, v.kind)
        self.features |= {v.kind.base if v.kind.length is None else "array" for v in variables}
        transients: tuple[tuple[str, Kind, object], ...] = ()
        self.costs = self.chance(0.6, "transient")
        if self.costs:
            transients = (("cost", Kind("int"), r.choice([0, 0, 1])),)
        names = ["car", "light", "gate"][: r.choice([1, 2, 2, 3])]
        self.payer = r.choice(names)
        components = [self.automaton(name, variables[i :: len(names)], scope) for i, name in enumerate(names)]
        vectors = self.joined(components) if len(names) > 1 or self.chance(0.3) else None
        if len(names) == 1 and not vectors:
            vectors = None  # an empty list beside edges with actions is refused
        labels = sorted(
            {v.result for v in vectors if v.result} if vectors is not None else self.actions(components)
        )
        calm = scope.copy()
        calm.risky = False
        initial = True
        if any(v.starts is None for v in variables) and self.chance(0.4, "restrict-initial"):
            initial = truth_term(r, calm, 1)
        policy = (
            self.policy(replace(calm, calls=False), labels, (), len(components[0].edges), names[0])
            if self.chance(0.4)
            else None
        )
        if policy is not None and policy.branches is not None:
            policy = None
        self.chance(0.3, "local")
        self.chance(0.2, "constants")
        self.chance(0.2, "edge assignments")
        return Model(
            self.name, tuple(map(self.widen, variables)), tuple(components), vectors, initial, policy,
            transients=transients, jani=True, features=frozenset(self.features),
        )  # fmt: skip

    def actions(self, components: list[Component]) -> set[str]:
        return {e.action for c in components for e in c.edges if e.action is not None}

    def automaton(self, name: str, own: list[Variable], scope: Scope) -> Component:
        r = self.r
        locations = tuple(f"l{j}" for j in range(r.choice([1, 2, 3])))
        start = tuple(sorted({r.choice(locations) for _ in range(r.choice([1, 1, 1, 2]))}))
        labels = LABELS[: r.choice([1, 2, 3])]
        safe = 0.9 if self.chance(0.1, "escapes") else 1.0
        seen = scope.copy()
        if self.costs and self.chance(0.2, "transient in guard"):
            seen.whole.append(COST)
        edges = []
        for _ in range(r.choice([2, 3, 3, 4])):
            guard = True if r.random() < 0.55 else truth_term(r, seen, 1)
            probabilities: list[Term] = [Fraction(1)]
            if self.chance(0.45, "outcomes"):
                probabilities = list(r.choice(PROBABILITIES))
                if len(probabilities) == 2 and self.chance(0.2, "state probability"):
                    p = ("ite", truth_term(r, scope, 0), *probabilities)
                    probabilities = [p, ("-", 1, p)]
            outcomes = []
            for p in probabilities:
                updates = random_outcome(r, own, [], scope, safe)
                if self.chance(0.25, "index"):
                    updates = in_sequence(r, updates)
                updates += self.pay(name, scope, updates, own)
                outcomes.append(Outcome(tuple(updates), p, (), r.choice(locations)))
            action = None if r.random() < 0.2 else r.choice(labels)
            edges.append(Edge(action, guard, tuple(outcomes), source=r.choice(locations)))
        values: tuple[tuple[str, str, Term], ...] = ()
        if self.costs and name == self.payer and self.chance(0.4, "location value"):
            values = tuple((at, "cost", r.choice([2, 3])) for at in locations[:1])
        return Component(name, tuple(edges), locations, start, values)

    def pay(self, name: str, scope: Scope, updates: list[Update], own: list[Variable]) -> list[Update]:
        """An assignment to the transient variable, perhaps read later in the same step."""
        r = self.r
        if not self.costs or name != self.payer or r.random() < 0.4:
            return []
        amount = (
            ("abs", whole_term(r, replace(scope, risky=False), 1))
            if r.random() < 0.5
            else r.choice([1, 2, 3])
        )
        found = [Update("cost", amount, None, 0)]
        written = {u.name for u in updates}
        free = [v for v in own if v.kind.base == "int" and v.kind.length is None and v.name not in written]
        if free and self.chance(0.25, "transient read"):
            v = free[0]
            found.append(Update(v.name, kept_in(r, v.kind, ("+", ("var", v.name), COST)), None, 1))
        return found

    def joined(self, components: list[Component]) -> tuple[Synchronisation, ...]:
        """Synchronisation vectors: alone, pairs, all together; some without a result."""
        r = self.r
        own = {c.name: sorted(self.actions([c])) for c in components}
        found = {}
        for name, listed in own.items():
            for action in listed:
                if r.random() < 0.1:
                    continue  # an action in no synchronisation never moves
                parts = [(name, action)]
                for other, actions in own.items():
                    if other != name and actions and r.random() < 0.4:
                        parts.append((other, action if action in actions else r.choice(actions)))
                order = [c.name for c in components]
                parts.sort(key=lambda part: order.index(part[0]))
                result = None if self.chance(0.12, "silent vector") else r.choice([action, action, "go"])
                found.setdefault(tuple(parts), Synchronisation(tuple(parts), result))
        return tuple(found.values())


def jani_questions(seed: int, model: Model, count: int) -> list[Question]:
    r = Random(f"jani questions {seed}")
    scope = scope_of(model)
    found: list[Question] = []
    for _ in range(count):
        if r.random() < 0.45:
            found.append(about_runs(r, model, scope))
            continue
        asked = about_chance(r, model, scope)
        if asked.spent is not None and (not model.transients or not asked.optimise or asked.over == "count"):
            asked = replace(asked, spent=None)
        if asked.reward is not None:
            asked = replace(asked, reward=random_reward(r, model))
            if asked.high is not None:
                asked = replace(asked, right=None)
            if model.policy is None and not asked.optimise:
                asked = replace(asked, optimise=r.choice(["min", "max"]))
            if not asked.optimise:
                asked = replace(asked, optimise="max")
        if asked.compare is not None and asked.over != "count":
            asked = replace(asked, over="min" if asked.compare[0] in (">=", ">") else "max")
        found.append(asked)
    return found


def random_reward(r: Random, model: Model) -> Term:
    if not model.transients or r.random() < 0.3:
        return ("jani", r.choice([1, 2]), (r.choice(["steps", "exit"]),))
    accumulated = r.choice([("steps",), ("steps",), ("exit",), ("steps", "exit")])
    term = r.choice([COST, COST, ("+", COST, 1), ("*", 2, COST)])
    return ("jani", term, accumulated)
