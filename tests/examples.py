"""Tiny problems with known answers: every engine may answer `Unknown` on them, but never contradict.

`tests/test_examples.py` checks the answers by visiting every state with the reference semantics. A fixed bug
adds a line.
"""

from dataclasses import dataclass
from fractions import Fraction

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import (
    Branch,
    Choose,
    EdgesOf,
    NeuralPolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_name,
    location_name,
    network_output_name,
)
from surefoot.term.term import TRUE, Const, Term, Var, array_term, equal, term_from_python
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real


@dataclass(frozen=True, slots=True)
class Example:
    """`holds`: the property is true. `steps`: length of the shortest violating run (of its finite part)."""

    problem: Problem
    holds: bool
    steps: int | None = None

    @property
    def name(self) -> str:
        return self.problem.name


N, X = Var("n"), Var("x")
HALF = Const(Fraction(1, 2))


def becomes(target: Term, value: Term | int) -> Outcome:
    return Outcome(updates=(Update(target, term_from_python(value)),))


def counter(*edges: Edge, high: int = 9) -> Environment:
    """One number that starts at 0."""
    return Environment("counter", (Variable("n", Int(0, high)),), equal(N, 0), (Component("counter", edges),))


UP = Edge(action="up", outcomes=(becomes(N, N + 1),))
UP_TO_TWO = Edge(action="up", guard=N < 2, outcomes=(becomes(N, N + 1),))
REST = Edge(action="rest")
RESET = Edge(action="reset", outcomes=(becomes(N, 0),))


def program(*branches: tuple[Term, str]) -> ProgramPolicy:
    return ProgramPolicy(tuple(Branch(when, then) for when, then in branches))


def climbs_until(limit: int) -> ProgramPolicy:
    return program((limit > N, "up"), (TRUE, "rest"))


def preferring(first: str, second: str) -> NeuralPolicy:
    """Outputs (n, 2): the second action below 2, the first above, and at 2 a tie, which goes to the first."""
    return NeuralPolicy(dense_network([([[1], [0]], [0, 2])]), (N,), (first, second))


def tired() -> NeuralPolicy:
    """Outputs (2, n): `up` below 2, `rest` above, and at 2 a tie, which goes to `up`."""
    return NeuralPolicy(dense_network([([[0], [1]], [2, 0])]), (N,), ("up", "rest"))


def always_up(choose: Choose) -> NeuralPolicy:
    return NeuralPolicy(dense_network([([[0], [0]], [1, 0])]), (N,), ("up", "rest"), choose)


def handshake() -> Environment:
    """Two components that move together on `meet`; only the left one can also move alone."""
    left = Component(
        "left",
        (
            Edge("a", "meet", outcomes=(Outcome(target="b"),)),
            Edge("b", "tick", outcomes=(Outcome(target="b"),)),
        ),
        ("a", "b"),
        ("a",),
    )
    right = Component(
        "right", (Edge("c", "meet", N >= 2, outcomes=(Outcome(target="d"),)),), ("c", "d"), ("c",)
    )
    clock = Component("clock", (Edge(action="tick", guard=N < 3, outcomes=(becomes(N, N + 1),)),))
    vectors = (
        Synchronisation(("meet", "meet", None), "meet"),
        Synchronisation((None, None, "tick"), "tick"),
        Synchronisation(("tick", None, "tick"), "both"),
    )
    return Environment(
        "handshake", (Variable("n", Int(0, 3)),), equal(N, 0), (left, right, clock), synchronisations=vectors
    )


def walk() -> Environment:
    """A position on a ring of four cells, whose successor is looked up in an array."""
    edge = Edge(action="go", outcomes=(becomes(N, array_term(2, 3, 1, 0)[N]),))
    return counter(edge, high=3)


def stack() -> Environment:
    """Writes into an array, element by element, in two rounds of assignments."""
    cells, top = Var("cells"), Var("top")
    push = Outcome(updates=(Update(cells[top], top + 1), Update(top, top + 1, index=1)))
    return Environment(
        "stack",
        (Variable("cells", Array(Int(0, 3), 3)), Variable("top", Int(0, 3))),
        equal(cells, array_term(0, 0, 0)) & equal(top, 0),
        (Component("stack", (Edge(action="push", guard=top < 3, outcomes=(push,)),)),),
    )


def plant(arithmetic: Arithmetic, step: Fraction) -> Environment:
    """x moves by the control, which is clipped to [-1, 1], times a step."""
    edge = Edge(outcomes=(becomes(X, X + step * Var("u")),))
    control = Control("u", Fraction(-1), Fraction(1))
    kind = Real(Fraction(-8), Fraction(8))
    return Environment(
        "plant",
        (Variable("x", kind),),
        equal(X, 0),
        (Component("plant", (edge,)),),
        (control,),
        arithmetic=arithmetic,
    )


def pushes_to(target: int) -> NeuralPolicy:
    """u = relu(5 * (target - x)): full speed until close."""
    return NeuralPolicy(dense_network([([[-5]], [5 * target]), ([[1]], [0])]), (X,), choose=Choose.VALUE)


def gusty() -> Environment:
    """The environment adds 0, 1 or 2, but two only from an even number."""
    gust = Choice("gust", Int(0, 2))
    assuming = (Var("gust") < 2) | equal(N % 2, 0)
    edge = Edge(
        action="up", guard=N < 7, chosen=(gust,), assuming=assuming, outcomes=(becomes(N, N + Var("gust")),)
    )
    return counter(edge)


def slippery() -> Environment:
    """`up` works with probability one half."""
    outcomes = (Outcome(HALF, (Update(N, N + 1),)), Outcome(HALF))
    return counter(Edge(action="up", guard=N < 5, outcomes=outcomes), REST)


def switches() -> Environment:
    """Two booleans that swap in every step: assignments of one index happen at once."""
    a, b = Var("a"), Var("b")
    swap = Outcome(updates=(Update(a, b), Update(b, a)))
    return Environment(
        "switches",
        (Variable("a", Bool()), Variable("b", Bool())),
        a & ~b,
        (Component("switches", (Edge(action="swap", outcomes=(swap,)),)),),
    )


def two_speeds() -> Environment:
    """Two edges share the label, so a policy must pick edges."""
    slow, fast = (Edge(action="go", guard=N < 6, outcomes=(becomes(N, N + k),)) for k in (1, 2))
    return counter(slow, fast)


def example(name: str, where: Environment, who: Policy, asked: Property, steps: int | None = None) -> Example:
    """An example with `steps` is violated, one without holds."""
    return Example(Problem(name, where, who, asked), steps is None, steps)


EDGE_PICKER = NeuralPolicy(
    dense_network([([[0], [1]], [1, 0])]), (N,), EdgesOf("counter")
)  # slow until n > 1
UPWARDS = program((TRUE, "up"))
GUARDED = ShieldedPolicy(climbs_until(9), ~Var(chosen_name("up")) | (N < 2), program((TRUE, "rest")))
EXAMPLES: tuple[Example, ...] = (
    example("climbs", counter(UP, REST), climbs_until(5), Never(N >= 3), 3),
    example("stops-in-time", counter(UP, REST), climbs_until(2), Never(N >= 3)),
    example("bounded-never", counter(UP, REST), climbs_until(5), Never(N >= 3, steps=2)),
    example("start-is-bad", counter(UP, REST), climbs_until(5), Never(equal(N, 0)), 0),
    example("tie-to-rest", counter(UP, REST), preferring("rest", "up"), Never(N >= 3)),
    example("tie-to-up", counter(UP, REST), tired(), Never(N >= 3), 3),
    example(
        "output-grows",
        counter(UP, REST),
        preferring("rest", "up"),
        Never(Var(network_output_name(0)) >= 2),
        2,
    ),
    example("stalls", counter(UP_TO_TWO, REST), always_up(Choose.ARGMAX), Never(Var(STALLED)), 2),
    example("applicable", counter(UP_TO_TWO, REST), always_up(Choose.ARGMAX_APPLICABLE), Never(Var(STALLED))),
    example("deadlocks", counter(UP_TO_TWO), UPWARDS, Never(Var(DEADLOCKED)), 2),
    example(
        "stall-is-no-deadlock", counter(UP_TO_TWO, REST), always_up(Choose.ARGMAX), Never(Var(DEADLOCKED))
    ),
    example("never-chosen", counter(UP, REST), climbs_until(3), Never(Var(chosen_name("rest"))), 3),
    example("shielded", counter(UP, REST), GUARDED, Never(N >= 3)),
    example("slips", slippery(), climbs_until(5), Never(N >= 4), 4),
    example("gusts", gusty(), UPWARDS, Never(N >= 5), 3),
    example("handshake", handshake(), program((TRUE, "meet")), Never(Var(location_name("right", "d"))), 3),
    example("array-walk", walk(), program((TRUE, "go")), Never(equal(N, 3)), 3),
    example("stack", stack(), program((TRUE, "push")), Never(equal(Var("cells")[2], 3)), 3),
    example("swap", switches(), program((TRUE, "swap")), Never(Var("a") & Var("b"))),
    example("picks-edges", two_speeds(), EDGE_PICKER, Never(N >= 5), 4),
    example("clipped", plant(Arithmetic.EXACT, Fraction(1)), pushes_to(4), Never(X >= 3), 3),
    example("clipped-in-time", plant(Arithmetic.EXACT, Fraction(1)), pushes_to(2), Never(X > 2)),
    example(
        "tenths", plant(Arithmetic.EXACT, Fraction(1, 10)), pushes_to(4), Never(equal(X, Fraction(3, 10))), 3
    ),
    example(
        "float64", plant(Arithmetic.FLOAT64, Fraction(1, 10)), pushes_to(4), Never(Fraction(3, 10) < X), 3
    ),
    example("within", counter(UP, REST), climbs_until(5), Within(N >= 3, 3)),
    example("within-too-late", counter(UP, REST), climbs_until(5), Within(N >= 3, 2), 2),
    example("within-after", counter(UP, REST), climbs_until(5), Within(N <= 1, 3, after=2), 3),
    example("within-ends-early", counter(UP_TO_TWO), UPWARDS, Within(N >= 3, 5), 2),
    example("eventually", counter(UP, REST), climbs_until(5), Eventually(N >= 3)),
    example("eventually-not", counter(UP, REST), climbs_until(2), Eventually(N >= 3), 3),
    example("eventually-ends", counter(UP_TO_TWO), UPWARDS, Eventually(N >= 3), 2),
    example("recurs", counter(UP, RESET), program((N < 3, "up"), (TRUE, "reset")), Recurs(equal(N, 0))),
    example("recurs-not", counter(UP, REST), climbs_until(3), Recurs(equal(N, 0)), 4),
)
