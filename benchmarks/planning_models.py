"""Planning problems in the shapes of policy predicate abstraction, with violations that random runs meet.

Starts that an equation ties together, 50 to 400 edges, ReLU networks of up to five layers that pick an
applicable action, goal states that end a run. Networks are random; what is bad is such that of 1,000 random
runs some meet it. `python -m benchmarks.planning_models` asks every engine in turns, as `surefoot check`
does, and prints the processor time of each answer; `--runs` counts how many of 1,000 random runs violate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from time import process_time

import numpy as np

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.term.term import Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int, Real
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

WIDE = (256, 128, 64, 32, 16)


def random_network(inputs: int, outputs: int, hidden: Sequence[int], seed: int) -> Network:
    rng = np.random.default_rng(seed)
    sizes = [inputs, *hidden, outputs]
    layers = [
        (
            rng.normal(0, (2 / a) ** 0.5, size=(b, a)).astype(np.float32),
            rng.normal(0, 0.1, size=b).astype(np.float32),
        )
        for a, b in pairwise(sizes)
    ]
    return dense_network(layers)


def _sum(terms: Sequence[Term]) -> Term:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _problem(
    name: str,
    variables: tuple[Variable, ...],
    start: Term,
    edges: Sequence[Edge],
    bad: Term,
    goal: Term,
    hidden: Sequence[int],
    seed: int,
    places: tuple[str, ...] = ("main",),
) -> Problem:
    labels = tuple(dict.fromkeys(e.action for e in edges if e.action is not None))
    component = Component("world", tuple(edges), places, (places[0],))
    environment = Environment(name, variables, start, (component,))
    network = random_network(len(variables), len(labels), hidden, seed)
    observed = tuple(Var(v.name) for v in variables)
    policy = NeuralPolicy(network, observed, labels, Choose.ARGMAX_APPLICABLE)
    return Problem(name, environment, policy, NeverBefore(bad, goal))


def heaps(count: int, most: int, total: int, hidden: Sequence[int], seed: int) -> Problem:
    """Things are moved one by one between heaps, of which none may become too high."""
    names = [f"h{i}" for i in range(count)]
    heap = [Var(n) for n in names]
    edges = [
        Edge(
            "main",
            f"move_{i}_{j}",
            guard=(heap[i] >= 1) & (heap[j] < most),
            outcomes=(
                Outcome(
                    Fraction(9, 10),
                    (Update(heap[i], heap[i] - 1), Update(heap[j], heap[j] + 1)),
                    target="main",
                ),
                Outcome(Fraction(1, 10), (), target="main"),
            ),
        )
        for i, j in permutations(range(count), 2)
    ]
    bad = disjunction_of([h >= most for h in heap])
    goal = conjunction_of([h <= -(-total // count) for h in heap])
    start = equal(_sum(heap), total) & conjunction_of([h <= most // 2 for h in heap])
    variables = tuple(Variable(n, Int(0, most)) for n in names)
    return _problem(f"heaps-{count}", variables, start, edges, bad, goal, hidden, seed)


def robots(count: int, size: int, hidden: Sequence[int], seed: int, meeting: int | None = None) -> Problem:
    """Robots on a grid, which begin on a common diagonal; none, or not the first ones, may meet."""
    names = [f"{c}{i}" for i in range(count) for c in "xy"]
    at = {n: Var(n) for n in names}
    edges = []
    for i, (axis, by) in product(range(count), product("xy", (-1, 1))):
        place = at[f"{axis}{i}"]
        inside = place < size if by > 0 else place > 0
        edges.append(
            Edge(
                "main",
                f"go_{i}_{axis}_{'up' if by > 0 else 'down'}",
                guard=inside,
                outcomes=(Outcome(1, (Update(place, place + by),), target="main"),),
            )
        )
        for other in range(count):  # a push along a row that is shared
            if other != i:
                also = at[f"{axis}{other}"]
                room = also < size if by > 0 else also > 0
                edges.append(
                    Edge(
                        "main",
                        f"push_{i}_{other}_{axis}_{by + 1}",
                        guard=inside & room & equal(place, also),
                        outcomes=(
                            Outcome(1, (Update(place, place + by), Update(also, also + by)), target="main"),
                        ),
                    )
                )
    pairs = [(i, j) for i in range(count) for j in range(i)]
    bad = disjunction_of(
        [equal(at[f"x{i}"], at[f"x{j}"]) & equal(at[f"y{i}"], at[f"y{j}"]) for i, j in pairs]
    )
    goal = conjunction_of([equal(at[f"x{i}"], size) for i in range(count)])
    start = conjunction_of([equal(at[f"x{i}"] + at[f"y{i}"], size - i) for i in range(count)]) & ~bad
    if meeting is not None:
        bad = conjunction_of([equal(at[f"{c}{i}"], at[f"{c}0"]) for i in range(1, meeting) for c in "xy"])
    variables = tuple(Variable(n, Int(0, size)) for n in names)
    return _problem(f"robots-{count}", variables, start, edges, bad, goal, hidden, seed)


def tanks(count: int, hidden: Sequence[int], seed: int, full: int = 3) -> Problem:
    """Tanks that hold 10 together are emptied into one another; none may run dry while another overflows."""
    names = [f"t{i}" for i in range(count)]
    tank = [Var(n) for n in names]
    edges = [
        Edge(
            "main",
            f"pump_{i}_{j}_{k}",
            guard=(tank[i] >= Fraction(k, 4)) & (tank[j] <= 10 - Fraction(k, 4)),
            outcomes=(
                Outcome(
                    1,
                    (Update(tank[i], tank[i] - Fraction(k, 4)), Update(tank[j], tank[j] + Fraction(k, 4))),
                    target="main",
                ),
            ),
        )
        for (i, j), k in product(permutations(range(count), 2), (1, 2, 4))
    ]
    bad = disjunction_of([t < Fraction(1, 4) for t in tank]) & disjunction_of([t > full for t in tank])
    goal = conjunction_of([(t > 1) & (t < Fraction(3, 2)) for t in tank])
    start = equal(_sum(tank), 10) & conjunction_of([(t >= Fraction(1, 2)) & (t <= 2) for t in tank])
    variables = tuple(Variable(n, Real(Fraction(0), Fraction(10))) for n in names)
    return _problem(f"tanks-{count}", variables, start, edges, bad, goal, hidden, seed)


def deliveries(stations: int, hidden: Sequence[int], seed: int, load_lost: int = 0) -> Problem:
    """A van between stations with goods to bring; fuel and goods begin with one sum."""
    places = tuple(f"s{i}" for i in range(stations))
    names = [f"g{i}" for i in range(stations)]
    goods, fuel, load = [Var(n) for n in names], Var("fuel"), Var("load")
    edges = []
    for i, j in permutations(range(stations), 2):
        cost = 1 + abs(i - j) // 2
        edges.append(
            Edge(
                places[i],
                f"drive_{j}",
                guard=fuel >= cost,
                outcomes=(
                    Outcome(Fraction(4, 5), (Update(fuel, fuel - cost),), target=places[j]),
                    Outcome(Fraction(1, 5), (Update(fuel, fuel - 1),), target=places[i]),
                ),
            )
        )
    for i in range(stations):
        for by in (1, 2):
            more = ((goods[i] >= by) & (load <= 6 - by), -by)
            less = ((load >= by) & (goods[i] <= 9 - by), by)
            for word, (guard, change) in (("take", more), ("leave", less)):
                edges.append(
                    Edge(
                        places[i],
                        f"{word}_{by}",
                        guard=guard,
                        outcomes=(
                            Outcome(
                                1,
                                (Update(goods[i], goods[i] + change), Update(load, load - change)),
                                target=places[i],
                            ),
                        ),
                    )
                )
        edges.append(
            Edge(
                places[i],
                "rest",
                guard=fuel < 30,
                outcomes=(Outcome(1, (Update(fuel, fuel + (i % 2)),), target=places[i]),),
            )
        )
    bad = equal(fuel, 0) & (load >= load_lost)
    goal = conjunction_of([g >= 2 for g in goods])
    start = equal(_sum([*goods, fuel]), 17) & equal(load, 0) & (fuel >= 4)
    variables = (
        *(Variable(n, Int(0, 9)) for n in names),
        Variable("fuel", Int(0, 30)),
        Variable("load", Int(0, 6)),
    )
    return _problem(f"deliveries-{stations}", variables, start, edges, bad, goal, hidden, seed, places)


def level_heaps(count: int, total: int, hidden: Sequence[int], seed: int) -> Problem:
    """Heaps of which all are never above their mean, because no move changes their sum: for any network.

    What keeps them from that is the sum of the starts, which occurs in no guard and not in what is bad.
    """
    made = heaps(count, 3 * total, total, hidden, seed)
    bad = conjunction_of([Var(f"h{i}") >= total // count + 1 for i in range(count)])
    return replace(made, name=f"level-heaps-{count}", property=Never(bad))


def blocks(count: int, table: int | None, most_cost: int, hidden: Sequence[int], seed: int) -> Problem:
    """Blocks that a hand moves one by one; each has a cost that grows where a move fails, half of the times.

    Place 0 of a block is the hand, 1 the table, and 2 + i on block i. Flags say which blocks are clear, and a
    counter how many stand on the table, where up to `table` may. Without such a limit it is bad that the
    hand is empty and a block in it, which no run comes to, whatever the network.
    """
    on, clear, cost = ([Var(f"{w}_{i}") for i in range(count)] for w in ("block", "clear", "cost"))
    hand, counter, step = Var("hand_empty"), Var("table_counter"), Var("step_cost")

    def move(i: int, label: str, where: Term, taking: bool, updates: Sequence[Update]) -> Edge:
        asked = equal(hand, 1 if taking else 0) & equal(clear[i], 1 if taking else 0)
        same = (Update(hand, 0 if taking else 1), Update(clear[i], 0 if taking else 1), Update(step, cost[i]))
        failed = (Update(step, cost[i]), Update(cost[i], cost[i] + 1))
        half = Fraction(1, 2)
        outcomes = (Outcome(half, (*same, *updates), target="main"), Outcome(half, failed, target="main"))
        return Edge("main", label, guard=asked & where & (cost[i] + 1 <= most_cost), outcomes=outcomes)

    edges: list[Edge] = []
    for i in range(count):
        take, put = f"choose_block_{i}", "choose_table"
        table_now = (Update(on[i], 0), Update(counter, counter - 1))
        edges.append(move(i, take, equal(on[i], 1), True, table_now))
        placed = (Update(on[i], 1), Update(counter, counter + 1))
        edges.append(move(i, put, equal(on[i], 0) & (counter <= count - 1), False, placed))
        for j in range(count):
            if j != i:
                freed = (Update(on[i], 0), Update(clear[j], 1))
                edges.append(move(i, take, equal(on[i], j + 2), True, freed))
                covered = (Update(on[i], j + 2), Update(clear[j], 0))
                edges.append(
                    move(i, f"choose_block_{j}", equal(on[i], 0) & equal(clear[j], 1), False, covered)
                )
    start = conjunction_of(
        [
            *(equal(on[i], i + 3 if i < count - 1 else 1) for i in range(count)),
            *(equal(clear[i], 0 if i else 1) for i in range(count)),
            equal(hand, 1),
            equal(counter, 1),
            *(c <= 1 for c in cost),
            equal(step, 0),
        ]
    )
    variables = (
        Variable("hand_empty", Int(0, 1)),
        Variable("table_counter", Int(0, count)),
        *(Variable(b.name, Int(0, count + 1)) for b in on),
        *(Variable(c.name, Int(0, 1)) for c in clear),
        *(Variable(c.name, Int(0, most_cost)) for c in cost),
        Variable("step_cost", Int(0, most_cost)),
    )
    goal = conjunction_of([equal(on[i], i + 1) for i in range(count)])
    held = equal(hand, 1) & disjunction_of([equal(b, 0) for b in on])
    bad = held if table is None else counter > table
    return _problem(f"blocks-{count}", variables, start, edges, bad, goal, hidden, seed)


MODELS: dict[str, Callable[[], Problem]] = {
    "heaps-8": lambda: heaps(8, 8, 17, (32, 16), 1),
    "heaps-20": lambda: heaps(20, 6, 40, WIDE, 2),
    "robots-4": lambda: robots(4, 12, (64, 64), 3),
    "robots-7": lambda: robots(7, 20, WIDE, 4),
    "tanks-8": lambda: tanks(8, (64, 32, 16), 5),
    "deliveries-12": lambda: deliveries(12, (128, 64, 32), 6),
    "level-heaps-4": lambda: level_heaps(4, 17, (16, 16), 1),
    "level-heaps-8": lambda: level_heaps(8, 17, (64, 32), 1),
    "blocks-4": lambda: blocks(4, None, 50, (16, 16), 1),
    "blocks-6": lambda: blocks(6, 3, 50, (32, 32), 2),
    "blocks-8": lambda: blocks(8, 4, 50, WIDE, 3),
    # one random run in hundreds or thousands violates these
    "heaps-16-rare": lambda: heaps(16, 20, 30, WIDE, 8),
    "heaps-20-rare": lambda: heaps(20, 17, 40, WIDE, 2),
    "robots-6-rare": lambda: robots(6, 40, WIDE, 3, 2),
    "robots-8-rare": lambda: robots(8, 50, WIDE, 9, 2),
    "tanks-8-rare": lambda: tanks(8, (64, 32, 16), 5, 6),
    "deliveries-12-rare": lambda: deliveries(12, (128, 64, 32), 6, 6),
}


def count_violating_runs(problem: Problem, runs: int, steps: int) -> int:
    """Of so many random runs those that are bad before their goal."""
    from surefoot.simulate.batch.conditions import compile_batch_conditions
    from surefoot.simulate.batch.model import make_batch_model
    from surefoot.simulate.batch.numbers import random_numbers
    from surefoot.simulate.batch.runs import begin_runs
    from surefoot.simulate.starts import draw_starts

    ending, rng = end_at_goal(discretise(problem)), np.random.default_rng(0)
    model = make_batch_model(ending)
    made = begin_runs(model, draw_starts(ending.environment, runs, rng).columns)
    bad = compile_batch_conditions(model, [ending.property.bad])  # type: ignore[union-attr]
    violated, uniform = np.zeros(runs, dtype=np.bool_), random_numbers(rng)
    for _ in range(steps + 1):
        state, alive = made.state, made.alive.copy()
        violated |= alive & bad(state, made.advance(uniform), runs).columns[0]
    return int(violated.sum())


def main(arguments: Sequence[str]) -> None:
    for name, make in MODELS.items():
        if any(a in MODELS for a in arguments) and name not in arguments:
            continue
        problem = make()
        edges = sum(len(c.edges) for c in problem.environment.components)
        if "--runs" in arguments:
            print(f"{name}: {count_violating_runs(problem, 4000, 60)} of 4,000 runs of 60 steps violate it")
            continue
        before = process_time()
        result = verify(problem, budget=Budget(60))
        length = len(result.verdict.trace.moves) if isinstance(result.verdict, Violated) else "-"
        print(
            f"{name}: {edges} edges, {type(result.verdict).__name__} by {result.engine}, certified"
            f" {result.certified}, {length} steps, {process_time() - before:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
