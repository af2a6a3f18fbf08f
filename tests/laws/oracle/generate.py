"""Random models and questions as problem files can say them; the same seed gives the same problem."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

from tests.laws.oracle.model import (
    Choice,
    Component,
    Control,
    Edge,
    Kind,
    Layer,
    Model,
    Outcome,
    Policy,
    Synchronisation,
    Update,
    Variable,
)
from tests.laws.oracle.random_terms import Scope, kept_in, real_term, truth_term, whole_term
from tests.laws.oracle.terms import Term

LABELS = ["a", "b", "c"]


def random_kind(r: Random, *, large: bool = False) -> Kind:
    x = r.random()
    if x < 0.15:
        return Kind("bool")
    if x < 0.28:
        return Kind("real", Fraction(0), Fraction(r.choice([1, 2]))) if r.random() < 0.7 else Kind("real")
    low = r.choice([0, 0, 0, -2, -1, 1])
    high = low + r.choice([1, 2, 3, 3, 4, 6, 12 if large else 7])
    if x < 0.4:
        return Kind("int", 0, r.choice([1, 2]), 2) if r.random() < 0.7 else Kind("bool", length=2)
    return Kind("int", low, high)


def random_value(r: Random, kind: Kind) -> object:
    if kind.length is not None:
        return tuple(random_value(r, kind.entry) for _ in range(kind.length))
    if kind.base == "bool":
        return r.random() < 0.5
    if kind.base == "real":
        return Fraction(r.randint(0, 4), 4)
    return r.randint(kind.low, kind.high)  # type: ignore[arg-type]


def new_value(r: Random, kind: Kind, place: Term, scope: Scope, safe: float) -> Term:
    """What a variable is set to; a real one among finitely many values."""
    if kind.base == "bool":
        return truth_term(r, scope, 1) if r.random() < 0.8 else ("not", place)
    if kind.base == "real":
        half = Fraction(1, r.choice([2, 2, 4]))
        one = kind.high if kind.high is not None else Fraction(1)
        bounded = [
            ("-", one, place),
            ("min", one, ("+", place, half)),
            ("max", 0, ("-", place, half)),
            ("ite", truth_term(r, scope, 1), half, place),
            ("ite", ("<", place, one), ("min", one, ("+", place, half)), 0),
            ("/", ("floor", ("*", 4, place)), 4),
            Fraction(r.randint(0, 4), 4),
        ]
        return r.choice(bounded)
    if r.random() < 0.35:
        return r.choice(
            [
                ("min", kind.high, ("+", place, 1)),
                ("max", kind.low, ("-", place, 1)),
                r.randint(kind.low, kind.high),
            ]
        )
    term = whole_term(r, scope, 2)
    return kept_in(r, kind, term) if r.random() < safe else ("+", place, r.choice([1, -1]))


def random_outcome(
    r: Random, variables: list[Variable], windows: list[tuple[str, int, Kind]], scope: Scope, safe: float
) -> list[Update]:
    updates = []
    for variable in variables:
        if r.random() < 0.4:
            continue
        kind, place = variable.kind, ("var", variable.name)
        if kind.length is None:
            updates.append(Update(variable.name, new_value(r, kind, place, scope, safe)))
            continue
        index: Term = r.randrange(kind.length)
        if scope.whole and r.random() < 0.5 and not scope.linear:
            index = ("%", r.choice(scope.whole), kind.length)
        if r.random() < 0.25:
            entries = [new_value(r, kind.entry, ("select", place, i), scope, 1.0) for i in range(kind.length)]
            updates.append(Update(variable.name, ("array", *entries)))
        else:
            entry = new_value(r, kind.entry, ("select", place, index), scope, safe)
            updates.append(Update(variable.name, entry, index))
    for name, _, kind in windows:
        if r.random() < 0.7:
            updates.append(Update(name, kept_in(r, kind, whole_term(r, scope, 1))))
    return updates


def in_sequence(r: Random, updates: list[Update]) -> list[Update]:
    """One table of updates after the other."""
    return [Update(u.name, u.value, u.index, r.choice([0, 1])) for u in updates]


PROBABILITIES = [
    (Fraction(1, 2), Fraction(1, 2)),
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(1, 10), Fraction(9, 10)),
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
]


class Maker:
    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.features: set[str] = set()
        self.name = f"p{seed}"

    def chance(self, p: float, feature: str = "") -> bool:
        if self.r.random() < p:
            self.features |= {feature} - {""}
            return True
        return False

    def model(self) -> Model:
        r = self.r
        count = r.choice([1, 2, 2, 3, 3])
        kinds = [random_kind(r, large=self.chance(0.3)) for _ in range(count)]
        variables = [Variable(name, kind, None) for name, kind in zip("xyz", kinds, strict=False)]
        windows = (
            [("w", r.choice([2, 3]), Kind("int", 0, r.choice([1, 2])))] if self.chance(0.12, "window") else []
        )
        variables = [self.start(v) for v in variables]
        scope = Scope(linear=self.chance(0.45, "linear"), risky=self.chance(0.12, "risky"))
        scope.negative = self.chance(0.04, "negative remainder")
        for v in variables:
            scope.add(v.name, v.kind)
        for name, length, kind in windows:
            for i in range(length):
                scope.add(f"{name}_{i}", kind)
        self.features |= {v.kind.base if v.kind.length is None else "array" for v in variables}
        self.chance(0.15, "constants")
        controls = self.controls() if self.chance(0.12, "controls") else ()
        if not controls and self.chance(0.25, "components"):
            return self.network_of_automata(variables, windows, scope)
        edges = self.edges(variables, windows, scope, controls)
        component = Component("main", tuple(edges))
        labels = sorted({e.action for e in edges if e.action is not None})
        policy = self.policy(scope, labels, controls, len(edges))
        initial = self.initial(variables, windows, scope)
        return Model(
            self.name, tuple(map(self.widen, variables)), (component,), None, initial, policy, controls,
            tuple(windows), float64=self.chance(0.06, "float64"), features=frozenset(self.features),
        )  # fmt: skip

    def widen(self, v: Variable) -> Variable:
        """Perhaps without limits: what is reached stays finite."""
        if (
            v.starts is None
            or v.kind.base != "int"
            or v.kind.length is not None
            or not self.chance(0.1, "open range")
        ):
            return v
        return replace(v, kind=Kind("int", v.kind.low if self.r.random() < 0.5 else None, None))

    def start(self, v: Variable) -> Variable:
        r = self.r
        if v.kind.base == "real" or r.random() < 0.5:
            values = {random_value(r, v.kind) for _ in range(r.choice([1, 1, 1, 2]))}
            if v.kind.base == "real":
                values = {random_value(r, v.kind)}
            return Variable(v.name, v.kind, tuple(sorted(values)))
        return v

    def initial(self, variables: list[Variable], windows: list[tuple[str, int, Kind]], scope: Scope) -> Term:
        parts: list[Term] = []
        for name, length, _ in windows:
            parts += [("=", ("var", f"{name}_{i}"), self.r.choice([0, 0, 1])) for i in range(length)]
        if self.chance(0.3):
            calm = scope.copy()
            calm.risky = False
            parts.append(truth_term(self.r, calm, 1))
        return True if not parts else parts[0] if len(parts) == 1 else ("and", *parts)

    def controls(self) -> tuple[Control, ...]:
        if self.chance(0.3):
            return (Control("u", None, None),)
        low = self.r.choice([-1, 0])
        return (Control("u", low, low + self.r.choice([1, 2])),)

    def edges(
        self, variables: list[Variable], windows: list[tuple[str, int, Kind]], scope: Scope,
        controls: tuple[Control, ...], prefix: str = "", locations: tuple[str, ...] = (),
        labels: list[str] | None = None,
    ) -> list[Edge]:  # fmt: skip
        r = self.r
        safe = 0.9 if self.chance(0.15, "escapes") else 1.0
        calm = replace(scope, risky=False)  # no page says when rewards that nobody asks for must be defined
        edges = []
        for _ in range(r.choice([2, 3, 3, 4])):
            inner = scope.copy()
            for c in controls:
                inner.real.append(("var", c.name))
                inner.real.append(("var", c.name))
            action = None if controls or r.random() < 0.2 else r.choice(labels or LABELS)
            guard = True if r.random() < 0.55 else truth_term(r, inner, 1)
            chosen, assuming = (), True
            if self.chance(0.15, "chosen"):
                chosen, assuming = self.choice(f"{prefix}k", inner)
            split = [(Fraction(1),)] if not self.chance(0.4, "outcomes") else PROBABILITIES
            probabilities: list[Term] = list(r.choice(split))
            if len(probabilities) == 2 and inner.truth and self.chance(0.15, "state probability"):
                p = ("ite", r.choice(scope.truth or [True]), *probabilities)
                probabilities = [p, ("-", 1, p)]
            outcomes = []
            for p in probabilities:
                updates = random_outcome(r, variables, windows, inner, safe)
                if self.chance(0.1, "sequence") and not windows:
                    updates = in_sequence(r, updates)
                rewards = (
                    (("gold", ("abs", whole_term(r, calm, 1))),) if r.random() < 0.5 and not prefix else ()
                )
                target = r.choice([None, *locations]) if locations else None
                outcomes.append(Outcome(tuple(updates), p, rewards, target))
            source = r.choice(locations) if locations else None
            edges.append(Edge(action, guard, tuple(outcomes), chosen, assuming, source))
        return edges

    def choice(self, name: str, inner: Scope) -> tuple[tuple[Choice, ...], Term]:
        r = self.r
        if inner.real and self.chance(0.3, "chosen real"):
            candidates = (r.choice(inner.real), real_term(r, inner, 0))
            options = tuple(("=", ("var", name), t) for t in candidates)
            inner.real += [("var", name)]
            return (Choice(name, Kind("real", Fraction(-8), Fraction(8)), candidates),), ("or", *options)
        kind = Kind("int", 0, r.choice([1, 2, 3])) if r.random() < 0.8 else Kind("bool")
        inner.add(name, kind)
        inner.add(name, kind)
        assuming = truth_term(r, inner, 1) if r.random() < 0.6 else True
        return (Choice(name, kind),), assuming

    # Policies

    def policy(
        self,
        scope: Scope,
        labels: list[str],
        controls: tuple[Control, ...],
        edges: int,
        component: str = "main",
    ) -> Policy | None:
        r = self.r
        calm = scope.copy()
        calm.risky = calm.risky and r.random() < 0.3
        if controls:
            if self.chance(0.5, "program"):
                rest: tuple[Term, object] = (True, (real_term(r, calm, 1),))
                first = (truth_term(r, calm, 1), (real_term(r, calm, 1),))
                return Policy(branches=(first, rest) if r.random() < 0.7 else (rest,), choose="value")
            self.features.add("value")
            return self.network(calm, 1, None, "value")
        if not labels or self.chance(0.3, "no policy"):
            return None
        if self.chance(0.4, "program"):
            branches = [(truth_term(r, calm, 1), r.choice(labels)) for _ in range(r.choice([0, 1, 2]))]
            if not branches or r.random() < 0.8:
                branches.append((True, r.choice(labels)))
            some = tuple(sorted({str(then) for _, then in branches})) if r.random() < 0.25 else None
            return Policy(branches=tuple(branches), actions=some)
        choose = r.choice(["argmax", "argmax", "argmax-applicable", "sample"])
        self.features.add(choose)
        if choose != "sample" and self.chance(0.12, "edges_of"):
            order = tuple(r.sample(range(edges), edges)) if r.random() < 0.5 else None
            made = self.network(calm, edges, None, choose)
            return Policy(None, made.layers, made.observe, None, component, order, choose)
        r.shuffle(labels)
        listed = labels if r.random() < 0.85 else labels[: max(1, len(labels) - 1)]
        return self.network(calm, len(listed), tuple(listed), choose)

    def network(self, scope: Scope, height: int, actions: tuple[str, ...] | None, choose: str) -> Policy:
        r = self.r
        windows = sorted({t[1].split("_")[0] for t in scope.whole if t[0] == "var" and t[1].startswith("w_")})
        if windows and self.chance(0.4, "observed window"):
            layers = self.layers(sum(t[0] == "var" and t[1].startswith("w_") for t in scope.whole), height)
            return Policy(None, layers, (("var", "w"),), actions, choose=choose)
        places = [*scope.whole, *scope.real, *(("ite", t, 1, 0) for t in scope.truth)]
        observe = r.sample(places, min(len(places), r.choice([1, 2, 3])))
        if self.chance(0.15, "observed term"):
            observe[0] = whole_term(r, scope, 1) if r.random() < 0.5 else ("/", observe[0], r.choice([2, 4]))
        return Policy(None, self.layers(len(observe), height), tuple(observe), actions, choose=choose)

    def layers(self, width: int, height: int) -> tuple[Layer, ...]:
        r = self.r
        widths = [width, *([r.choice([2, 3])] if r.random() < 0.6 else []), height]
        layers = []
        for before, after in pairwise(widths):
            rows = [tuple(r.randint(-2, 2) for _ in range(before)) for _ in range(after)]
            bias = [r.randint(-2, 2) for _ in range(after)]
            if after > 1 and self.chance(0.3, "ties"):
                rows[-1], bias[-1] = rows[0], bias[0]
            layers.append(Layer(tuple(rows), tuple(bias)))
        return tuple(layers)

    # Several components

    def network_of_automata(
        self, variables: list[Variable], windows: list[tuple[str, int, Kind]], scope: Scope
    ) -> Model:
        r = self.r
        names = ["car", "light"] if r.random() < 0.8 else ["car"]
        components = []
        for i, name in enumerate(names):
            own = variables[i :: len(names)]
            locations = tuple(f"l{j}" for j in range(r.choice([1, 2, 3])))
            start = tuple(sorted({r.choice(locations) for _ in range(r.choice([1, 1, 2]))}))
            labels = [f"{name[0]}{j}" for j in range(2)] if self.chance(0.5) else LABELS[:2]
            edges = self.edges(
                own, windows if i == 0 else [], scope, (), name[0] if i else "", locations, labels
            )
            components.append(Component(name, tuple(edges), locations, start if r.random() < 0.7 else ()))
        vectors = self.vectors(components)
        labels = sorted({v.result for v in vectors if v.result is not None})
        for c in components:
            scope.truth += [("at", c.name, x) for x in c.locations[1:]]
        policy_scope = Scope(scope.whole, scope.real, scope.truth, scope.arrays, scope.linear)
        policy_scope.truth = [t for t in scope.truth if t[0] != "at"]
        policy = self.policy(policy_scope, labels, (), len(components[0].edges), components[0].name)
        return Model(
            self.name, tuple(variables), tuple(components), vectors,
            self.initial(variables, windows, policy_scope), policy, (), tuple(windows),
            features=frozenset(self.features),
        )  # fmt: skip

    def vectors(self, components: list[Component]) -> tuple[Synchronisation, ...]:
        r = self.r
        own = {c.name: sorted({e.action for e in c.edges if e.action is not None}) for c in components}
        found = []
        for name, actions in own.items():
            for action in actions:
                partners = [(other, a) for other, listed in own.items() if other != name for a in listed]
                if partners and r.random() < 0.5:
                    other, a = r.choice(partners)
                    same = a == action
                    result = action if same and r.random() < 0.5 else r.choice(["go", "run", action])
                    found.append(
                        Synchronisation(((name, action), (other, a)), result, not (same and result == action))
                    )
                else:
                    found.append(Synchronisation(((name, action),), action, r.random() < 0.5))
        distinct = {}
        for vector in found:
            distinct.setdefault(frozenset(vector.actions), vector)
        return tuple(distinct.values())
