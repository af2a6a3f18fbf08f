"""Violations that a random run almost never meets, but that a search can be led to.

Each problem is asked with ten seeds, with so much processor time each; printed is how many are solved, and
the median time of those. `--random` makes random runs only; `--chance` counts random runs that violate.

    python -m benchmarks.rare_violations [--seconds 5] [--seeds 10] [--random] [--chance] [name ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from fractions import Fraction
from time import process_time

import numpy as np

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.engines.falsify.looking import RunBatches, property_steps
from surefoot.engines.falsify.watch import Watch, compile_watched
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
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property, Within
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.simulate.batch.model import make_batch_model
from surefoot.simulate.batch.runs import begin_runs
from surefoot.simulate.starts import prepare_starts
from surefoot.term.term import TRUE, Apply, Op, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

HALF = Fraction(1, 2)


def go(
    action: str | None, updates: dict[str, Term], guard: Term = TRUE, chosen: tuple[Choice, ...] = ()
) -> Edge:
    changes = tuple(Update(Var(n), t) for n, t in updates.items())
    return Edge("main", action, guard=guard, chosen=chosen, outcomes=(Outcome(1, changes, target="main"),))


def single(
    name: str,
    kinds: dict[str, object],
    start: Term,
    edges: Sequence[Edge],
    asked: Property,
    policy: object = None,
    arithmetic: Arithmetic = Arithmetic.FLOAT64,
) -> Problem:
    component = Component("main", tuple(edges), ("main",), ("main",))
    variables = tuple(Variable(n, k) for n, k in kinds.items())  # type: ignore[arg-type]
    environment = Environment(name, variables, start, (component,), arithmetic=arithmetic)
    return Problem(name, environment, policy, asked)  # type: ignore[arg-type]


def needle() -> Problem:
    """Four numbers, of which each has to be in a fiftieth of its range: 1.6e-7."""
    terms = [Var(n) for n in "abcd"]
    near = Fraction(1, 100)
    bad = conjunction_of(
        [
            (t >= Fraction(2 * i + 1, 9) - near) & (t <= Fraction(2 * i + 1, 9) + near)
            for i, t in enumerate(terms)
        ]
    )
    kinds = {n: Real(Fraction(0), Fraction(1)) for n in "abcd"}
    return single("needle", kinds, TRUE, [go(None, {})], Never(bad))


def ball() -> Problem:
    """A point of a cube of 12 dimensions that comes near to another one after it was turned about."""
    names = [f"x{i}" for i in range(12)]
    terms = [Var(n) for n in names]
    turn = {
        n: Fraction(4, 5) * terms[i] - Fraction(3, 5) * terms[(i + 1) % 12] + Fraction(1, 20) * terms[i] ** 2
        for i, n in enumerate(names)
    }
    distance = sum(
        ((t - Fraction((7 * i) % 5 - 2, 10)) ** 2 for i, t in enumerate(terms[1:])), (terms[0]) ** 2
    )
    kinds = {n: Real() for n in names}
    start = conjunction_of([(t >= -1) & (t <= 1) for t in terms])
    return single("ball", kinds, start, [go(None, turn)], Never(distance < Fraction(1, 4), 5))


def resonance() -> Problem:
    """A spring that only pushes in its own rhythm bring so far."""
    x, v, d = Var("x"), Var("v"), Var("d")
    push = Choice("d", Real(Fraction(-1, 10), Fraction(1, 10)))
    new = v - Fraction(1, 8) * x - Fraction(1, 20) * v + d
    edge = go(None, {"x": x + new, "v": new}, chosen=(push,))
    start = equal(x, 0) & equal(v, 0)
    return single("resonance", {"x": Real(), "v": Real()}, start, [edge], Never(x > Fraction(47, 10)))


def uphill() -> Problem:
    """A walk that goes down twice as often as up, and further."""
    x = Var("x")
    walk = Edge(
        "main",
        None,
        guard=x > 0,
        outcomes=(
            Outcome(Fraction(1, 3), (Update(x, x + 1),), target="main"),
            Outcome(Fraction(2, 3), (Update(x, Apply(Op.MAX, (x - 2, 0 * x))),), target="main"),
        ),
    )
    kinds = {"x": Int(0, 60)}
    return single("uphill", kinds, equal(x, 5), [walk], Never(x >= 26), arithmetic=Arithmetic.EXACT)


def keys() -> Problem:
    """Four keys of a maze have to be found in their order, and then a place."""
    x, y, k = Var("x"), Var("y"), Var("k")
    edges = [
        go("east", {"x": x + 1}, x < 11),
        go("west", {"x": x - 1}, x > 0),
        go("north", {"y": y + 1}, y < 11),
        go("south", {"y": y - 1}, y > 0),
    ]
    for number, (a, b) in enumerate([(11, 0), (0, 11), (11, 11), (0, 0)]):
        edges.append(go(f"take{number}", {"k": k + 1}, equal(k, number) & equal(x, a) & equal(y, b)))
    kinds = {"x": Int(0, 11), "y": Int(0, 11), "k": Int(0, 4)}
    start = equal(x, 5) & equal(y, 5) & equal(k, 0)
    bad = equal(k, 4) & equal(x, 5) & equal(y, 6)
    return single("keys", kinds, start, edges, Never(bad), arithmetic=Arithmetic.EXACT)


def lock() -> Problem:
    """Eight digits in a row, each right with one chance in six; a wrong one begins again."""
    n = Var("n")
    digits = [3, 1, 4, 1, 5, 2, 0, 5]
    edges = []
    for digit in range(6):
        right = conjunction_of([~equal(n, i) for i, wanted in enumerate(digits) if wanted != digit])
        edges.append(go(f"d{digit}", {"n": n + 1}, (n < 8) & right))
        edges.append(go(f"d{digit}", {"n": 0 * n}, (n < 8) & ~right))
    return single(
        "lock", {"n": Int(0, 8)}, equal(n, 0), edges, Never(equal(n, 8)), arithmetic=Arithmetic.EXACT
    )


def saddle() -> Problem:
    """Everything leaves in time but what begins on a ridge."""
    x, y, z = Var("x"), Var("y"), Var("z")
    side = x + Fraction(1, 3) * y - Fraction(1, 5) * z + Fraction(1, 7)
    edge = go(
        None,
        {
            "x": x + Fraction(1, 12) * side,
            "y": Fraction(9, 10) * y,
            "z": Fraction(9, 10) * z,
        },
    )
    start = conjunction_of([(t >= -1) & (t <= 1) for t in (x, y, z)])
    good = (x > 2) | (x < -2)
    return single("saddle", {n: Real() for n in "xyz"}, start, [edge], Within(good, 180))


def cloud() -> Problem:
    """A point of a cube of 60 dimensions that has to come much nearer to another one, through a sine."""
    names = [f"x{i}" for i in range(60)]
    terms = [Var(n) for n in names]
    turn = {n: Apply(Op.SIN, (2 * terms[i] + HALF * terms[(i + 1) % 60],)) for i, n in enumerate(names)}
    goal = [Fraction((7 * i) % 11 - 5, 10) for i in range(60)]
    distance = sum(
        ((t - g) ** 2 for t, g in zip(terms[1:], goal[1:], strict=True)), (terms[0] - goal[0]) ** 2
    )
    start = conjunction_of([(t >= -1) & (t <= 1) for t in terms])
    asked = Never(distance < Fraction(1, 100), 1)
    return single("cloud", {n: Real() for n in names}, start, [go(None, turn)], asked)


def gusts() -> Problem:
    """A point mass that a series of small pushes has to bring through a small gate after forty steps."""
    x, y, v, w = (Var(n) for n in "xyvw")
    push = tuple(Choice(n, Real(Fraction(-1), Fraction(1))) for n in ("d", "e"))
    edge = go(
        None,
        {
            "x": x + Fraction(1, 10) * v,
            "y": y + Fraction(1, 10) * w,
            "v": Fraction(9, 10) * v + Fraction(1, 10) * Var("d"),
            "w": Fraction(9, 10) * w + Fraction(1, 10) * Var("e") * (1 + x),
        },
        chosen=push,
    )
    kinds = {n: Real() for n in "xyvw"}
    start = conjunction_of([equal(t, 0) for t in (x, y, v, w)])
    near = (x - Fraction(3, 2)) ** 2 + (y + 2) ** 2 + (v + Fraction(1, 5)) ** 2 + w**2
    return single("gusts", kinds, start, [edge], Never(near < Fraction(1, 2000), 48))


def seam(gain: float = 1e7) -> Problem:
    """Two actions on two sides of a plane, by outputs that are flat away from it; on it a third one wins."""
    names = ("a", "b", "c")
    terms = [Var(n) for n in names]
    w = gain * np.array([0.8, -0.5, 0.25], np.float32)
    network = dense_network(
        [
            (np.array([w, w], np.float32), np.array([1, -1], np.float32)),
            (np.array([[1, -1], [-1, 1], [0, 0]], np.float32), np.array([-1, 1, 0.2], np.float32)),
        ]
    )
    policy = NeuralPolicy(network, tuple(terms), ("up", "down", "wrong"), Choose.ARGMAX)
    fatal = Var("fatal")
    edges = [
        go("up", {"a": HALF * terms[0]}),
        go("down", {"b": HALF * terms[1]}),
        go("wrong", {"fatal": TRUE}),
    ]
    start = conjunction_of([(t >= -1) & (t <= 1) for t in terms]) & ~fatal
    kinds: dict[str, object] = {n: Real() for n in names}
    return single("seam", {**kinds, "fatal": Bool()}, start, edges, Never(fatal, 1), policy)


def slip(width: float = 4e-6) -> Problem:
    """A network whose wrong action wins in a thin slab of what it sees; a wrong one is fatal."""
    names = ("a", "b", "c")
    terms = [Var(n) for n in names]
    # the second output is above the first where |w . x - 0.3| < width
    w = np.array([0.8, -0.5, 0.33], np.float32)
    first = np.array([w, -w], np.float32)
    network = dense_network(
        [
            (first, np.array([-0.3, 0.3], np.float32)),
            (np.array([[0, 0], [-1, -1]], np.float32), np.array([0, width], np.float32)),
        ]
    )
    policy = NeuralPolicy(network, tuple(terms), ("good", "wrong"), Choose.ARGMAX)
    fatal = Var("fatal")
    edges = [
        go("good", {n: Fraction(9, 10) * t - Fraction(1, 10) for n, t in zip(names, terms, strict=True)}),
        go("wrong", {"fatal": TRUE}),
    ]
    kinds: dict[str, object] = {n: Real() for n in names}
    start = conjunction_of([(t >= -2) & (t <= 2) for t in terms]) & ~fatal & (terms[0] > Fraction(3, 2))
    start = start & (terms[1] > 1) & (terms[2] < -1)
    return single("slip", {**kinds, "fatal": Bool()}, start, edges, Never(fatal), policy)


def steering() -> Problem:
    """A car with noise on a straight road under a feedback: only a rare series of gusts leads off it."""
    x, v, d = Var("x"), Var("v"), Var("d")
    gust = Choice("d", Real(Fraction(-1), Fraction(1)))
    u = Var("u")
    edge = go(None, {"x": x + Fraction(1, 10) * v, "v": v + Fraction(1, 10) * (u + d)}, chosen=(gust,))
    component = Component("main", (edge,), ("main",), ("main",))
    environment = Environment(
        "steering",
        (Variable("x", Real()), Variable("v", Real())),
        equal(x, 0) & equal(v, 0),
        (component,),
        controls=(Control("u", Fraction(-2), Fraction(2)),),
        arithmetic=Arithmetic.FLOAT64,
    )
    policy = ProgramPolicy((Branch(TRUE, (-4 * x - Fraction(1, 2) * v,)),))
    return Problem("steering", environment, policy, Never(x > Fraction(95, 100)))


def vault() -> Problem:
    """Two dials and a valve: pressure builds only in one place, and leaks everywhere else."""
    a, b, p, d = Var("a"), Var("b"), Var("p"), Var("d")
    turn = Choice("d", Int(-3, 3))

    def within(term: Term) -> Term:
        return Apply(Op.MAX, (Apply(Op.MIN, (term, 0 * term + 40)), 0 * term))

    inside = equal(a, 31) & equal(b, 7)
    press = Apply(Op.ITE, (inside, Apply(Op.MIN, (p + 1, 0 * p + 6)), Apply(Op.MAX, (p - 1, 0 * p))))
    edges = [
        go("first", {"a": within(a + d), "p": press}, chosen=(turn,)),
        go("second", {"b": within(b + d), "p": press}, chosen=(turn,)),
    ]
    kinds = {"a": Int(0, 40), "b": Int(0, 40), "p": Int(0, 6)}
    start = equal(a, 0) & equal(b, 40) & equal(p, 0)
    return single("vault", kinds, start, edges, Never(equal(p, 6)), arithmetic=Arithmetic.EXACT)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    f.__name__: f
    for f in (needle, ball, resonance, uphill, keys, lock, saddle, slip, steering, vault, cloud, gusts, seam)
}


def solve(problem: Problem, seed: int, seconds: float) -> float | None:
    """Processor seconds until a violation that replays."""
    executed = discretise(problem)
    ending, began = end_at_goal(executed), process_time()
    looking = Falsify().begin(ending, seed)
    while process_time() - began < seconds:
        found = looking.check(ending, Budget(min(0.5, seconds)))
        if isinstance(found, Violated):
            assert replay(executed, found.trace) is None
            took = process_time() - began
            return took if took <= seconds else None
    return None


def estimate_chance(problem: Problem, seconds: float) -> str:
    """How many plain random runs of up to 256 steps violate it."""
    ending = end_at_goal(discretise(problem))
    model, rng, began = make_batch_model(ending), np.random.default_rng(99), process_time()
    source, watched = prepare_starts(ending.environment, rng), compile_watched(ending, model)
    runs, hits = 0, 0
    while process_time() - began < seconds:
        starts = source.draw(4096, rng)
        made, watch = begin_runs(model, starts.columns), Watch(ending, watched, len(starts))
        seen: set[int] = set()
        steps = property_steps(ending) or 256
        for _ in range(steps + 1):
            state, alive, rows = made.state, made.alive.copy(), made.rows
            step = made.advance(lambda _, some: rng.random(len(some)))
            seen |= set(watch.look(state, alive, rows, step).tolist())
            if not made.alive.any():
                break
        runs, hits = runs + len(starts), hits + len(seen)
    return f"{hits} of {runs}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--random", action="store_true", help="no search, random runs only")
    parser.add_argument("--chance", action="store_true", help="how many random runs violate")
    given = parser.parse_args()
    if given.random:
        RunBatches.search = lambda *_: iter(())  # type: ignore[method-assign]
    for name, make in PROBLEMS.items():
        if given.names and name not in given.names:
            continue
        if given.chance:
            print(f"{name:<12}{estimate_chance(make(), given.seconds)}", flush=True)
            continue
        times = [solve(make(), seed, given.seconds) for seed in range(given.seeds)]
        solved = sorted(t for t in times if t is not None)
        middle = f"{solved[len(solved) // 2]:.2f} s" if solved else "-"
        print(f"{name:<12}{len(solved):>3} of {given.seeds}   {middle}", flush=True)


if __name__ == "__main__":
    main()
