"""Random small closed loops: steps, exact or in float64, and continuous time, with tiny networks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

FOLLOWED = (
    Shape.RELU,
    Shape.LEAKY_RELU,
    Shape.CLIP,
    Shape.TANH,
    Shape.SIGMOID,
)  # that the simulators here know
KINDS = ("time", "exact", "float64")
SMOOTH = (
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.DIV,
    Op.POW,
    Op.NEG,
    Op.SQRT,
    Op.EXP,
    Op.LOG,
    Op.SIN,
    Op.COS,
    Op.TAN,
    Op.ASIN,
    Op.ACOS,
    Op.ATAN,
    Op.TANH,
)
CORNERS = (Op.ABS, Op.MIN, Op.MAX, Op.ITE)


@dataclass(frozen=True, slots=True)
class RandomLoop:
    """`starts`: the box of the real variables; other variables have one start."""

    kind: str
    problem: Problem
    starts: dict[str, tuple[Fraction, Fraction]]
    others: dict[str, int | bool]
    reals: tuple[str, ...]


class LoopMaker:
    def __init__(self, seed: int, kind: str | None = None) -> None:
        self.draw = Random(seed)
        self.seed = seed
        self.kind = kind or self.draw.choice(("time", "time", "exact", "float64"))

    def number(self, size: float = 1.0) -> Const:
        return Const(Fraction(round(self.draw.uniform(-size, size) * 1000), 1000))

    def term(self, names: list[str], depth: int, corners: bool) -> Term:
        """Mostly defined everywhere, and of moderate size; now and then one that may not be."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return Var(draw.choice(names)) if draw.random() < 0.8 else self.number(2)

        def part() -> Term:
            return self.term(names, depth - 1, corners)

        bold = draw.random() < 0.1  # may be undefined somewhere
        match draw.choice((*SMOOTH, *(CORNERS if corners else ()))):
            case (Op.ADD | Op.SUB | Op.MIN | Op.MAX) as op:
                return Apply(op, (part(), part()))
            case Op.MUL:
                return Apply(Op.MUL, (part() if bold else Apply(Op.SIN, (part(),)), part()))
            case Op.DIV:
                return part() / (self.number(2) + part() if bold else 2 + part() ** 2)
            case Op.POW:
                return Apply(Op.POW, (Apply(Op.TANH, (part(),)), Const(draw.choice((2, 3, 2, 4, 0)))))
            case (Op.SQRT | Op.LOG) as op:
                return Apply(op, (2 + part() if bold else 1 + part() ** 2,))
            case Op.EXP:
                return Apply(Op.EXP, (part() if bold else Apply(Op.COS, (part(),)),))
            case Op.TAN:
                return Apply(Op.TAN, (part() if bold else Fraction(9, 10) * Apply(Op.TANH, (part(),)),))
            case (Op.ASIN | Op.ACOS) as op:
                share = Fraction(1) if bold else Fraction(4, 5)
                return Apply(op, (share * Apply(Op.SIN, (part(),)),))
            case Op.ITE:
                return ite(part() < part(), part(), part())
            case op:
                return Apply(op, (part(),))

    def weights(self, rows: int, columns: int, size: float = 1.5) -> np.ndarray:
        return np.array(
            [[self.draw.uniform(-size, size) for _ in range(columns)] for _ in range(rows)], np.float32
        )

    def network(self, inputs: int, outputs: int) -> Network:
        draw, hidden = self.draw, self.draw.randint(2, 4)

        def layer(source: int, rows: int, columns: int) -> Affine:
            return Affine(source, self.weights(rows, columns), self.weights(1, rows, 1.0)[0])

        def activation(source: int) -> Activation:
            shape = draw.choice(FOLLOWED)
            parameters: tuple[float, ...] = ()
            if shape is Shape.LEAKY_RELU:
                parameters = (draw.choice((0.125, 0.5, -0.25, 1.5)),)
            elif shape is Shape.CLIP:
                parameters = draw.choice(((-0.5, 0.75), (0.0, 1.0), (-1.0, -0.25)))
            return Activation(source, shape, parameters)

        nodes: list[Node] = [layer(0, hidden, inputs), activation(1)]
        if draw.random() < 0.5:
            nodes += [layer(2, hidden, hidden), activation(3)]
        last = len(nodes)
        match draw.randrange(8):
            case 0:
                nodes.append(Combine(2, last, draw.choice((Pairing.ADD, Pairing.MAXIMUM, Pairing.MULTIPLY))))
            case 1:
                nodes.append(Pick(last, np.array([draw.randrange(hidden) for _ in range(hidden)])))
            case 2:
                nodes.append(
                    Elementwise(last, draw.choice(list(Constant)), self.weights(1, hidden)[0] + np.float32(2))
                )
            case 3:  # a quotient: the divisor is 1.5 … 2.5
                nodes += [
                    Activation(last, Shape.SIGMOID),
                    Elementwise(last + 1, Constant.ADD, np.full(hidden, 1.5, np.float32)),
                    Combine(last, last + 2, Pairing.DIVIDE),
                ]
            case 4:
                nodes.append(Join((2, last)))
                hidden *= 2
        nodes.append(layer(len(nodes), outputs, hidden))
        return Network(inputs, tuple(nodes))

    def observe(self, reals: list[str], more: list[str]) -> tuple[Term, ...]:
        plain = [
            Var(n) if self.draw.random() < 0.8 else Var(n) * self.number(2) + self.number() for n in reals
        ]
        return (*plain, *(Var(n) / 4 for n in more))

    def policy(
        self, reals: list[str], more: list[str], controls: int, actions: tuple[str, ...], choose: Choose
    ) -> Policy:
        def neural() -> NeuralPolicy:
            seen = self.observe(reals, more)
            return NeuralPolicy(self.network(len(seen), controls or len(actions)), seen, actions, choose)

        if choose is Choose.ARGMAX_APPLICABLE or self.draw.random() < 0.75:
            return neural()
        when = Var(self.draw.choice(reals)) < self.number()
        first: object = neural()
        if self.draw.random() < 0.4:
            first = (
                tuple(self.term(reals, 1, True) for _ in range(controls))
                if controls
                else self.draw.choice(actions)
            )
        return ProgramPolicy((Branch(when, first), Branch(TRUE, neural())))  # type: ignore[arg-type]

    def controls(self) -> tuple[Control, ...]:
        found = []
        for i in range(self.draw.randint(1, 2)):
            low, high = self.draw.choice(
                (
                    (None, None),
                    (Fraction(-1, 2), Fraction(7, 10)),
                    (None, Fraction(3, 10)),
                    (Fraction(-1, 3), None),
                )
            )
            if self.draw.random() < 0.15:
                found.append(Control(f"u{i}", Fraction(-20), Fraction(20), False))
            else:
                found.append(Control(f"u{i}", low, high))
        return tuple(found)

    def make(self) -> RandomLoop:
        draw = self.draw
        reals = [f"x{i}" for i in range(draw.choice((1, 1, 2, 2, 2, 3, 3, 4)))]
        starts = {}
        for name in reals:
            low = Fraction(round(draw.uniform(-1, 1) * 1000), 1000)
            starts[name] = (low, low + Fraction(draw.choice((0, 1, 20, 200, 500)), 1000))
        variables = []
        for name in reals:
            limits = (Fraction(-4), Fraction(4)) if draw.random() < 0.15 else (None, None)
            variables.append(Variable(name, Real(*limits)))
        initial = conjunction_of(tuple(c for n, (a, b) in starts.items() for c in (Var(n) >= a, Var(n) <= b)))
        if self.kind == "time":
            return self._timed(reals, starts, variables, initial)
        return self._stepped(reals, starts, variables, initial)

    def _timed(
        self,
        reals: list[str],
        starts: dict[str, tuple[Fraction, Fraction]],
        variables: list[Variable],
        initial: Term,
    ) -> RandomLoop:
        draw, controls = self.draw, self.controls()
        chosen = tuple(
            Choice(f"w{i}", Real(Fraction(-1, 20), Fraction(1, 10)))
            for i in range(draw.choice((0, 0, 0, 1, 2)))
        )
        corners = draw.random() < 0.25
        names = [*reals, *(c.name for c in controls), *(c.name for c in chosen)]
        derivatives = [(n, self.term(names, draw.choice((2, 3)), corners)) for n in reals]
        if len(reals) > 1 and draw.random() < 0.3:  # constant during a run
            derivatives = derivatives[:-1]
        period = draw.choice((Fraction(1, 10), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2)))
        environment = Environment(
            "loop",
            tuple(variables),
            initial,
            (Component("plant", (Edge(chosen=chosen),)),),
            controls,
            flow=Flow(tuple(derivatives), period, continuous=True),
        )
        policy = self.policy(reals, [], len(controls), (), Choose.VALUE)
        problem = Problem(f"loop-{self.seed}", environment, policy, Never(FALSE))
        return RandomLoop("time", problem, starts, {}, tuple(reals))

    def _stepped(
        self,
        reals: list[str],
        starts: dict[str, tuple[Fraction, Fraction]],
        variables: list[Variable],
        initial: Term,
    ) -> RandomLoop:
        draw = self.draw
        acts = draw.random() < 0.55
        controls = () if acts else self.controls()
        actions = ("a", "b", "c")[: draw.randint(2, 3)] if acts else ()
        others: dict[str, int | bool] = {}
        places = ("p", "q") if draw.random() < 0.3 else ("here",)
        if draw.random() < 0.4:
            variables = [*variables, Variable("k", Int(0, 50))]
            others["k"] = draw.randint(0, 3)
            initial = initial & equal(Var("k"), others["k"])
        if draw.random() < 0.3:
            variables = [*variables, Variable("b", Bool())]
            others["b"] = draw.random() < 0.5
            initial = initial & (Var("b") if others["b"] else ~Var("b"))
        edges = [
            edge
            for place in places
            for action in actions or (None,)
            for edge in self._edges(reals, others, controls, action, place, places)
        ]
        if acts and draw.random() < 0.2:  # the environment's own
            edges += self._edges(reals, others, controls, None, places[0], places)
        environment = Environment(
            "loop",
            tuple(variables),
            initial,
            (Component("plant", tuple(edges), places, places[:1]),),
            controls,
            arithmetic=Arithmetic.FLOAT64 if self.kind == "float64" else Arithmetic.EXACT,
        )
        choose = draw.choice((Choose.ARGMAX, Choose.ARGMAX_APPLICABLE)) if acts else Choose.VALUE
        policy = self.policy(reals, ["k"] if "k" in others else [], len(controls), actions, choose)
        problem = Problem(f"loop-{self.seed}", environment, policy, Never(FALSE))
        return RandomLoop(self.kind, problem, starts, others, tuple(reals))

    def _edges(
        self,
        reals: list[str],
        others: dict[str, int | bool],
        controls: tuple[Control, ...],
        action: str | None,
        place: str,
        places: tuple[str, ...],
    ) -> list[Edge]:
        draw = self.draw
        guard = Var(draw.choice(reals)) < self.number()
        several: tuple[list[Term], ...] = ([guard, ~guard], [guard, TRUE], [guard])
        guards: list[Term] = draw.choice(several) if draw.random() < 0.35 else [TRUE]
        found = []
        for one in guards:
            chosen: list[Choice] = []
            names = [*reals, *(c.name for c in controls)]
            if draw.random() < 0.4:
                chosen.append(Choice("w", Real(Fraction(-1, 10), Fraction(1, 5))))
                names.append("w")
            if "k" in others and draw.random() < 0.3:
                chosen.append(Choice("j", Int(0, 2)))
            updates = [Update(Var(n), self.term(names, draw.choice((1, 2, 2)), True)) for n in reals]
            if "k" in others:
                value = Var("k") + (Var("j") if any(c.name == "j" for c in chosen) else 1)
                updates.append(Update(Var("k"), Apply(Op.MIN, (Const(50), value))))
            if "b" in others:
                updates.append(Update(Var("b"), draw.choice((~Var("b"), Var(reals[0]) < self.number(2)))))
            assuming = Var("w") < Var(reals[0]) if "w" in names and draw.random() < 0.2 else TRUE
            target = draw.choice(places)
            outcomes: tuple[Outcome, ...] = (Outcome(updates=tuple(updates), target=target),)
            if draw.random() < 0.15:
                half = Const(Fraction(1, 2))
                again = Update(Var(reals[0]), self.term(names, 1, True))
                outcomes = (
                    Outcome(half, tuple(updates), target=target),
                    Outcome(half, (again,), target=place),
                )
            found.append(Edge(place, action, one, tuple(chosen), assuming, outcomes))
        return found
