"""Random systems with numbers, as data: plants, counters, hybrid systems; all kinds of policies and starts.

The companion of `generate.py`, whose systems are small enough to look at every state. These are not; what is
known about them is what a simulation finds, `plant_runs.py`. Thresholds of properties are set by a few pilot
runs, so that some are violated by most runs, some by few and some by none.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from tests.laws.oracle.model import Layer
from tests.laws.oracle.terms import Term, Value

Values = dict[str, Value]


@dataclass(frozen=True)
class PlantChoice:
    name: str
    base: str  # real or int
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class PlantOutcome:
    updates: tuple[tuple[str, Term | None, Term], ...]  # name, index in an array, value
    probability: Fraction = Fraction(1)
    target: str | None = None


@dataclass(frozen=True)
class PlantEdge:
    outcomes: tuple[PlantOutcome, ...]
    action: str | None = None
    guard: Term = True
    chosen: tuple[PlantChoice, ...] = ()
    assuming: Term = True
    source: str | None = None


@dataclass(frozen=True)
class PlantPolicy:
    """Branches of a program, or a network; `choose` is `value` where it sets the control `u`."""

    choose: str
    branches: tuple[tuple[Term, Any], ...] = ()
    layers: tuple[Layer, ...] = ()
    activation: str = "Relu"
    observe: tuple[Term, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Starts:
    """`box`: limits by name; `simplex`: parts that add up to a total; `list`: every start."""

    fixed: tuple[tuple[str, Value], ...] = ()
    box: tuple[tuple[str, str, Fraction, Fraction], ...] = ()  # name, base, limits
    simplex: tuple[tuple[str, ...], str, int] | None = None  # names, base, total
    listed: tuple[tuple[tuple[str, Value], ...], ...] = ()

    def draw(self, r: Random, *, corner: bool) -> Values:
        found: Values = dict(self.fixed)
        for name, base, low, high in self.box:
            share = Fraction(r.choice((0, 64)) if corner else r.randint(0, 64), 64)
            value = low + (high - low) * share
            found[name] = round(value) if base == "int" else value
        if self.simplex is not None:
            names, base, total = self.simplex
            grain = 1 if base == "int" else 32
            cuts = sorted(
                r.choice((0, total * grain)) if corner else r.randint(0, total * grain) for _ in names[1:]
            )
            parts = [b - a for a, b in pairwise([0, *cuts, total * grain])]
            found |= {
                n: p if base == "int" else Fraction(p, grain) for n, p in zip(names, parts, strict=True)
            }
        return found | dict(r.choice(self.listed)) if self.listed else found

    def condition(self) -> Term:
        parts: list[Term] = [("=", ("var", n), v) for n, v in self.fixed if not isinstance(v, tuple | bool)]
        parts += [("var", n) if v else ("not", ("var", n)) for n, v in self.fixed if isinstance(v, bool)]
        for n, v in self.fixed:
            if isinstance(v, tuple):
                parts += [("=", ("select", ("var", n), i), x) for i, x in enumerate(v)]
        for name, _, low, high in self.box:
            parts.append(("chain", low, "<=", ("var", name), "<=", high))
        if self.simplex is not None:
            names, _, total = self.simplex
            sums: Term = ("var", names[0])
            for name in names[1:]:
                sums = ("+", sums, ("var", name))
            parts += [("=", sums, total), *((">=", ("var", n), 0) for n in names)]
        if self.listed:
            options = [("and", *(("=", ("var", n), v) for n, v in start)) for start in self.listed]
            parts.append(options[0] if len(options) == 1 else ("or", *options))
        return parts[0] if len(parts) == 1 else ("and", *parts)


@dataclass(frozen=True)
class PlantProperty:
    kind: str  # never, before, within, eventually, recurs
    condition: Term
    steps: int | None = None
    goal: Term = False


@dataclass(frozen=True)
class Plant:
    name: str
    kind: str
    variables: tuple[tuple[str, str], ...]  # name and kind, as text; windows are lists of names below
    starts: Starts
    edges: tuple[PlantEdge, ...]
    float64: bool = False
    window: tuple[str, int, str] | None = None
    locations: tuple[str, ...] = ()
    control: tuple[Fraction, Fraction] | None = None  # limits of `u`
    flow: tuple[Fraction, str, tuple[tuple[str, Term], ...]] | None = None
    policy: PlantPolicy | None = None
    asked: PlantProperty = field(default_factory=lambda: PlantProperty("never", False))


def eighth(r: Random, low: float, high: float) -> Fraction:
    return Fraction(r.randint(round(8 * low), round(8 * high)), 8)


def total(parts: list[Term]) -> Term:
    found = parts[0]
    for part in parts[1:]:
        found = ("+", found, part)
    return found


class PlantMaker:
    """`kind` decides what is special about the plant; everything else is random."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.r, self.seed = kind, Random(f"{kind} {seed}"), seed
        self.float64 = kind not in ("exact", "integer", "mixed", "polytope", "arrays") or (
            kind != "exact" and self.r.random() < 0.3
        )

    def plant(self) -> Plant:
        return getattr(self, f"make_{self.kind.replace('-', '_')}", self.make_plain)()

    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.r.choice((1, 2, 2, 3, 4)))]

    def linear(self, names: list[str], own: str) -> Term:
        """About as large as before, with something of the others."""
        r = self.r
        parts: list[Term] = [("*", r.choice((Fraction(7, 8), Fraction(15, 16), Fraction(1))), ("var", own))]
        for other in names:
            if other != own and r.random() < 0.6:
                parts.append(("*", r.choice((-1, 1)) * Fraction(r.randint(1, 4), 16), ("var", other)))
        return total(parts)

    def bent(self, term: Term, names: list[str]) -> Term:
        """Perhaps with a kink or a product."""
        r, x = self.r, ("var", self.r.choice(names))
        choices: list[Term] = [
            ("+", term, ("min", Fraction(1, 4), ("abs", x))),
            ("ite", (">", x, Fraction(1, 2)), ("-", term, Fraction(1, 4)), term),
            ("max", -4, ("min", 4, term)),
        ]
        if self.float64:
            y = ("var", r.choice(names))
            choices += [
                ("+", term, ("*", Fraction(1, 16), ("*", x, y))),
                ("-", term, ("*", Fraction(1, 32), ("^", x, 3))),
            ]
        return r.choice(choices) if r.random() < 0.5 else term

    def noise(self, count: int) -> tuple[PlantChoice, ...]:
        r = self.r
        return tuple(
            PlantChoice(f"d{i}", "real", -low, low)
            for i in range(count)
            for low in (Fraction(r.choice((1, 2, 4)), 16),)
        )

    def box(self, names: list[str], base: str = "real") -> Starts:
        limits = []
        for name in names:
            low = eighth(self.r, -1, 1)
            limits.append((name, base, low, low + Fraction(self.r.choice((0, 1, 4, 8)), 8)))
        return Starts(
            tuple((n, low) for n, _, low, high in limits if low == high),
            tuple(b for b in limits if b[2] < b[3]),
        )

    def some_starts(self, names: list[str]) -> Starts:
        if self.r.random() < 0.25:
            listed = [tuple((n, eighth(self.r, -1, 1)) for n in names) for _ in range(self.r.choice((1, 3)))]
            return Starts(listed=tuple(listed))
        return self.box(names)

    def made(self, **parts: Any) -> Plant:
        return Plant(f"{self.kind}-{self.seed}", self.kind, float64=self.float64, **parts)

    # Kinds

    def make_plain(self) -> Plant:
        """`exact`, `float64`: a map with disturbances, which perhaps are kept by an assumption."""
        names, r = self.names(), self.r
        chosen = self.noise(r.choice((0, 1, 2)))
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=self.some_starts(names),
            edges=(
                PlantEdge((self.outcome(names, chosen),), chosen=chosen, assuming=self.assumption(chosen)),
            ),
        )

    def assumption(self, chosen: tuple[PlantChoice, ...]) -> Term:
        if len(chosen) < 2 or self.r.random() < 0.5:
            return True
        return ("<=", ("abs", ("+", ("var", "d0"), ("var", "d1"))), chosen[0].high)

    def outcome(
        self, names: list[str], chosen: tuple[PlantChoice, ...], more: Term | None = None
    ) -> PlantOutcome:
        updates = []
        for place, name in enumerate(names):
            term = self.bent(self.linear(names, name), names)
            if place < len(chosen):
                term = ("+", term, ("var", chosen[place].name))
            if more is not None and place == 0:
                term = ("+", term, more)
            updates.append((name, None, term))
        return PlantOutcome(tuple(updates))

    def make_elementary(self) -> Plant:
        names, r = self.names(), self.r
        chosen = self.noise(r.choice((0, 1)))
        updates = []
        for place, name in enumerate(names):
            x = ("var", r.choice(names))
            function: Term = r.choice(
                (
                    ("sin", x),
                    ("cos", ("*", 2, x)),
                    ("tanh", x),
                    ("exp", ("neg", ("*", x, x))),
                    ("sqrt", ("abs", x)),
                    ("atan", x),
                    ("log", ("+", 1, ("*", x, x))),
                )
            )
            term: Term = ("+", self.linear(names, name), ("*", Fraction(1, 4), function))
            if place < len(chosen):
                term = ("+", term, ("var", chosen[place].name))
            updates.append((name, None, term))
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=self.some_starts(names),
            edges=(PlantEdge((PlantOutcome(tuple(updates)),), chosen=chosen),),
        )

    def make_polytope(self) -> Plant:
        names, r = [f"x{i}" for i in range(r_size(self.r))], self.r
        chosen = self.noise(r.choice((0, 1)))
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=Starts(simplex=(tuple(names), "real", r.choice((1, 2, 10)))),
            edges=(PlantEdge((self.outcome(names, chosen),), chosen=chosen),),
        )

    def make_arrays(self) -> Plant:
        r, length = self.r, self.r.choice((2, 3, 4))
        chosen = self.noise(1)
        here, i = ("select", ("var", "a"), ("var", "i")), ("var", "i")
        other = ("select", ("var", "a"), ("%", ("+", i, 1), length))
        value = (
            "max",
            -4,
            ("min", 4, ("+", ("*", r.choice((Fraction(7, 8), Fraction(1))), here), ("var", "d0"))),
        )
        mixed = ("-", ("*", Fraction(1, 2), here), ("*", Fraction(1, 4), other))
        edges = [
            PlantEdge(
                (PlantOutcome((("a", i, value), ("i", None, ("%", ("+", i, 1), length)))),), chosen=chosen
            ),
            PlantEdge((PlantOutcome((("a", i, mixed),)),), guard=(">", here, eighth(r, 0, 1))),
        ]
        start = tuple(eighth(r, -1, 1) for _ in range(length))
        return self.made(
            variables=(("a", f"array {length} of real"), ("i", f"int 0..{length - 1}")),
            starts=Starts(fixed=(("a", start), ("i", r.randrange(length)))),
            edges=tuple(edges),
        )

    def make_history(self) -> Plant:
        """The last values of a number that goes its own way."""
        r, length = self.r, self.r.choice((2, 3, 4))
        chosen = self.noise(1)
        names = [f"h_{i}" for i in range(length)]
        newest = ("var", names[-1])
        value = (
            "+",
            ("*", Fraction(7, 8), newest),
            ("+", ("*", Fraction(1, 8), ("var", names[0])), ("var", "d0")),
        )
        fixed = tuple((n, eighth(r, -1, 1)) for n in names)
        return self.made(
            variables=(),
            window=("h", length, "real"),
            starts=Starts(fixed=fixed) if r.random() < 0.5 else self.box(names),
            edges=(PlantEdge((PlantOutcome((("h", None, value),)),), chosen=chosen),),
        )

    def make_integer(self) -> Plant:
        """Things are moved between places whose numbers add up, and a counter that nothing limits."""
        r, count = self.r, self.r.choice((3, 4, 5))
        names = [f"n{i}" for i in range(count)]
        edges = []
        for _ in range(r.choice((3, 4, 6))):
            a, b = r.sample(names, 2)
            by = r.choice((1, 1, 2))
            moved: list[tuple[str, Term | None, Term]] = [
                (a, None, ("-", ("var", a), by)),
                (b, None, ("+", ("var", b), by)),
            ]
            if r.random() < 0.5:
                moved.append(("c", None, ("+", ("var", "c"), r.choice((1, 3, -1)))))
            second = PlantOutcome((), Fraction(1, 4))
            first = PlantOutcome(tuple(moved), Fraction(3, 4) if r.random() < 0.4 else Fraction(1))
            outcomes = (first,) if first.probability == 1 else (first, second)
            action = r.choice("abc") if self.seed % 2 else None
            guard: Term = (">=", ("var", a), by)
            if r.random() < 0.4:
                guard = ("and", guard, ("<", ("var", b), r.randint(3, 9)))
            edges.append(PlantEdge(outcomes, action, guard))
        edges.append(
            PlantEdge((PlantOutcome((("c", None, ("*", 2, ("var", "c"))),)),), guard=("<", ("var", "c"), 64))
        )
        actions = sorted({e.action for e in edges if e.action})
        policy = None
        if actions:
            choose = r.choice(("argmax", "argmax-applicable", "sample"))
            policy = self.network([("var", n) for n in names], len(actions), choose, tuple(actions))
        return self.made(
            variables=(*((n, "int >= 0") for n in names), ("c", "int")),
            starts=Starts((("c", 1),), simplex=(tuple(names), "int", r.choice((5, 9, 17)))),
            edges=tuple(edges),
            policy=policy,
        )

    def make_mixed(self) -> Plant:
        """Locations, a truth value, a counter and a number: a thermostat of sorts."""
        r, chosen = self.r, self.noise(1)
        x, n, b = ("var", "x0"), ("var", "n"), ("var", "b")
        places = ("off", "on", "rest")[: r.choice((2, 3))]
        edges = []
        for place in places:
            slope = eighth(r, -0.5, 0.5)
            grow = (
                ("x0", None, ("max", -8, ("min", 8, ("+", ("+", x, slope), ("var", "d0"))))),
                ("n", None, ("ite", b, ("min", 9, ("+", n, 1)), ("max", 0, ("-", n, 1)))),
            )
            edges.append(PlantEdge((PlantOutcome(grow, target=place),), chosen=chosen, source=place))
            other = r.choice(places)
            change = (("b", None, ("not", b)), ("n", None, ("%", ("+", n, r.choice((1, 2, 5))), 10)))
            guard: Term = (r.choice(("<", ">=")), x, eighth(r, -1, 1))
            if r.random() < 0.5:
                guard = ("and", guard, (">", n, r.randint(0, 4)))
            edges.append(PlantEdge((PlantOutcome(change, target=other),), guard=guard, source=place))
        if r.random() < 0.4:  # it may come to an end
            edges = [
                e
                if e.guard is not True
                else PlantEdge(e.outcomes, guard=("<", ("abs", x), 2), chosen=e.chosen, source=e.source)
                for e in edges
            ]
        start = self.box(["x0"])
        fixed = (*start.fixed, ("n", r.randint(0, 3)), ("b", r.random() < 0.5))
        return self.made(
            variables=(("x0", "real [-8, 8]"), ("n", "int 0..9"), ("b", "bool")),
            starts=Starts(fixed, start.box),
            edges=tuple(edges),
            locations=places,
        )

    def make_euler(self) -> Plant:
        return self.flowing("euler")

    def make_rk4(self) -> Plant:
        return self.flowing("rk4")

    def flowing(self, method: str) -> Plant:
        r = self.r
        names = ["x0", "x1"] if r.random() < 0.7 else ["x0", "x1", "x2"]
        chosen = self.noise(r.choice((0, 1)))
        derivatives = []
        for place, name in enumerate(names):
            parts = [("*", eighth(r, -1, 1), ("var", n)) for n in names]
            if r.random() < 0.5:
                parts.append(("*", Fraction(1, 8), ("*", ("var", r.choice(names)), ("var", r.choice(names)))))
            if r.random() < 0.3:
                parts.append(("sin", ("var", r.choice(names))))
            if place == 0 and chosen:
                parts.append(("var", "d0"))
            if place == len(names) - 1:
                parts.append(("var", "u"))
            derivatives.append((name, total(parts)))
        gain = total([("*", eighth(r, -2, 0), ("var", n)) for n in names])
        program = PlantPolicy("value", branches=((True, (gain,)),))
        policy = program if r.random() < 0.5 else self.network([("var", n) for n in names], 1, "value")
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=self.some_starts(names),
            edges=(PlantEdge((PlantOutcome(()),), chosen=chosen),),
            control=(Fraction(-1), Fraction(1)),
            flow=(r.choice((Fraction(1, 10), Fraction(1, 4), Fraction(1, 50))), method, tuple(derivatives)),
            policy=policy,
        )

    def make_value_network(self) -> Plant:
        names, r = self.names(), self.r
        chosen = self.noise(r.choice((0, 1)))
        policy = self.network([("var", n) for n in names], 1, "value", activation=r.choice(("Relu", "Tanh")))
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=self.some_starts(names),
            edges=(
                PlantEdge((self.outcome(names, chosen, ("*", Fraction(1, 2), ("var", "u"))),), chosen=chosen),
            ),
            control=(Fraction(-1), Fraction(1)),
            policy=policy,
        )

    def make_argmax(self) -> Plant:
        return self.acting("argmax")

    def make_applicable(self) -> Plant:
        return self.acting("argmax-applicable")

    def make_sampled(self) -> Plant:
        return self.acting("sample")

    def make_program(self) -> Plant:
        return self.acting("program")

    def acting(self, choose: str) -> Plant:
        """Actions push a number about; some are not always enabled."""
        names, r = self.names(), self.r
        actions = ("a", "b", "c")[: r.choice((2, 3))]
        chosen = self.noise(r.choice((0, 1)))
        edges = []
        for action in actions:
            guard: Term = True
            if r.random() < (0.6 if choose == "argmax-applicable" else 0.25):
                guard = (r.choice(("<=", ">")), ("var", r.choice(names)), eighth(r, -1, 2))
            push = eighth(r, -0.5, 0.5)
            edges.append(PlantEdge((self.outcome(names, chosen, push),), action, guard, chosen))
        if choose == "program":
            first = ((r.choice(("<", ">")), ("var", names[0]), eighth(r, -0.5, 0.5)), r.choice(actions))
            policy = PlantPolicy("program", branches=(first, (True, r.choice(actions))))
        else:
            policy = self.network([("var", n) for n in names], len(actions), choose, actions)
        return self.made(
            variables=tuple((n, "real") for n in names),
            starts=self.some_starts(names),
            edges=tuple(edges),
            policy=policy,
        )

    def network(
        self,
        observe: list[Term],
        outputs: int,
        choose: str,
        actions: tuple[str, ...] = (),
        activation: str = "Relu",
    ) -> PlantPolicy:
        r = self.r
        widths = [len(observe), *([r.choice((4, 8))] * r.choice((1, 2))), outputs]
        layers = tuple(
            Layer(
                tuple(tuple(eighth(r, -1.5, 1.5) for _ in range(a)) for _ in range(b)),  # type: ignore[misc]
                tuple(eighth(r, -0.5, 0.5) for _ in range(b)),  # type: ignore[misc]
            )
            for a, b in pairwise(widths)
        )
        return PlantPolicy(choose, (), layers, activation, tuple(observe), actions)


def r_size(r: Random) -> int:
    return r.choice((2, 3, 5))


KINDS = (
    "exact", "float64", "mixed", "integer", "arrays", "history", "polytope", "euler", "rk4", "elementary",
    "value-network", "argmax", "applicable", "sampled", "program",
)  # fmt: skip
