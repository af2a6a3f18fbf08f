"""DeepRM's cluster: two resources planned 20 steps ahead, five visible jobs and a backlog.

The state is compact: how much of each resource each future step uses, what the five visible jobs need, how
many more wait, and how long ago a job arrived. The image that the network reads is made of terms over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot.problem.environment import Choice, Component, Edge, Environment, Law, Outcome, Update, Variable
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Operand,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
    term_from_python,
)
from surefoot.term.value_types import Array, Int

HORIZON, CAPACITY, SLOTS = 20, 10, 5
BACKLOG_COLUMNS, LONGEST_SILENCE = 3, 10
RESOURCES = ("memory", "cpu")
ACTIONS = (*(f"schedule{i}" for i in range(1, SLOTS + 1)), "wait")
LENGTH, BACKLOG, SILENCE, BEGIN = Var("length"), Var("backlog"), Var("silence"), Var("begin")
USED = {r: Var(f"used_{r}") for r in RESOURCES}
NEED = {r: Var(f"need_{r}") for r in RESOURCES}


def deeprm_environment(initial: Term, longest_job: int = 15) -> Environment:
    """The cluster. The environment chooses new jobs: at most `longest_job` steps, 1 to 10 of each resource.

    A job that is placed leaves its slot to one from the backlog; which one is not tracked, so its size is
    chosen again. That permits more runs than the real system has.
    """
    visible, plan = Array(Int(0, CAPACITY), SLOTS), Array(Int(0, CAPACITY), HORIZON)
    edges = [_placing_edge(slot, longest_job) for slot in range(SLOTS)]
    edges += [_waiting_edge(f"schedule{slot + 1}", ~_can_place(slot), longest_job) for slot in range(SLOTS)]
    edges.append(_waiting_edge("wait", Const(True), longest_job))
    return Environment(
        name="deeprm",
        variables=(
            *(Variable(v.name, plan) for v in USED.values()),
            Variable("length", Array(Int(0, HORIZON), SLOTS)),
            *(Variable(v.name, visible) for v in NEED.values()),
            Variable("backlog", Int(0, HORIZON * BACKLOG_COLUMNS)),
            Variable("silence", Int(0, LONGEST_SILENCE)),
            Variable("begin", Int(0, HORIZON)),
        ),
        initial=initial,
        components=(Component("cluster", tuple(edges)),),
        overapproximate=True,
        notes=("jobs that leave the backlog may have any size",),
    )


def _job_fits(slot: int, at: int) -> Term:
    """Does the job in this slot fit into the plan when it begins `at` steps from now?

    As in the original, a job must end before the last planned step, so one of 20 steps fits nowhere.
    """
    length = LENGTH[slot]
    room = tuple(
        disjunction_of((length <= row - at, USED[r][row] + NEED[r][slot] <= CAPACITY))
        for row in range(at, HORIZON)
        for r in RESOURCES
    )
    return conjunction_of((length < HORIZON - at, *room))


def _can_place(slot: int) -> Term:
    """Is there a job in this slot, and a step at which it can begin?"""
    return (LENGTH[slot] > 0) & disjunction_of(tuple(_job_fits(slot, at) for at in range(HORIZON)))


def _placing_edge(slot: int, longest_job: int) -> Edge:
    """Schedule the job at the first step where it fits; time stands still."""
    earliest: Term = Const(HORIZON)
    for at in reversed(range(HORIZON)):
        earliest = ite(_job_fits(slot, at), at, earliest)
    running = {row: (row >= BEGIN) & (BEGIN + LENGTH[slot] > row) for row in range(HORIZON)}
    plan = tuple(
        Update(USED[r][row], USED[r][row] + ite(running[row], NEED[r][slot], 0), index=1)
        for r in RESOURCES
        for row in range(HORIZON)
    )
    refill = tuple(
        Update(target[slot], ite(BACKLOG > 0, Var(f"new_{name}"), 0), index=2)
        for name, target in (("length", LENGTH), *NEED.items())
    )
    updates = (
        Update(BEGIN, earliest),
        *plan,
        *refill,
        Update(BACKLOG, _maximum_term(BACKLOG - 1, 0), index=3),
        Update(BEGIN, Const(0), index=3),
    )
    return Edge(
        action=f"schedule{slot + 1}",
        guard=_can_place(slot),
        chosen=_new_job(1, longest_job),
        outcomes=(Outcome(updates=updates),),
    )


def _waiting_edge(action: str, guard: Term, longest_job: int) -> Edge:
    """Wait, or try a slot that is empty or does not fit: time moves on, a job may arrive (length 0: none)."""
    new = Var("new_length")
    plan = tuple(
        Update(USED[r][row], USED[r][row + 1] if row + 1 < HORIZON else Const(0))
        for r in RESOURCES
        for row in range(HORIZON)
    )
    first_empty: Term = Const(SLOTS)
    for slot in reversed(range(SLOTS)):
        first_empty = ite(equal(LENGTH[slot], 0), slot, first_empty)
    arrival = tuple(
        Update(target[slot], ite((new > 0) & equal(first_empty, slot), Var(f"new_{name}"), target[slot]))
        for name, target in (("length", LENGTH), *NEED.items())
        for slot in range(SLOTS)
    )
    waiting = ite(
        (new > 0) & equal(first_empty, SLOTS), _minimum_term(BACKLOG + 1, HORIZON * BACKLOG_COLUMNS), BACKLOG
    )
    silence = ite(new > 0, 0, _minimum_term(SILENCE + 1, LONGEST_SILENCE))
    updates = (*plan, *arrival, Update(BACKLOG, waiting), Update(SILENCE, silence))
    return Edge(
        action=action, guard=guard, chosen=_new_job(0, longest_job), outcomes=(Outcome(updates=updates),)
    )


def _new_job(shortest: int, longest: int) -> tuple[Choice, ...]:
    bounds = {"new_length": (shortest, longest), **{f"new_{r}": (1, CAPACITY) for r in RESOURCES}}
    return tuple(
        Choice(name, Int(low, high), Law("integer", (Fraction(low), Fraction(high))))
        for name, (low, high) in bounds.items()
    )


def cluster_image(shade: Operand = 1) -> tuple[Term, ...]:
    """The 20 x 124 image, row by row: per resource the plan and five jobs, then backlog and silence.

    Plans are filled from the left in the original too, with a colour per job; here every used cell has the
    same `shade`.
    """
    canvas = {
        (r, row, c): ite(USED[r][row] > c, shade, 0)
        for r in RESOURCES
        for row in range(HORIZON)
        for c in range(CAPACITY)
    }
    return assemble_image(canvas)


def assemble_image(canvas: Mapping[tuple[str, int, int], Term]) -> tuple[Term, ...]:
    """The image with these cells as the plans; the other columns show jobs, backlog and silence."""
    cells: list[Term] = []
    for row in range(HORIZON):
        for r in RESOURCES:
            cells += [canvas[r, row, column] for column in range(CAPACITY)]
            cells += [
                ite((LENGTH[slot] > row) & (NEED[r][slot] > column), 1, 0)
                for slot in range(SLOTS)
                for column in range(CAPACITY)
            ]
        cells += [ite(row * BACKLOG_COLUMNS + column < BACKLOG, 1, 0) for column in range(BACKLOG_COLUMNS)]
        cells.append(SILENCE / LONGEST_SILENCE)
    return tuple(cells)


def identical_jobs(length: int, need: int) -> Term:
    """Five identical jobs, nothing in the backlog, a job has just arrived."""
    same = tuple(equal(v, array_term(*[need] * SLOTS)) for v in NEED.values())
    rest = equal(BACKLOG, 0), equal(SILENCE, 0), equal(BEGIN, 0)
    return conjunction_of((equal(LENGTH, array_term(*[length] * SLOTS)), *same, *rest))


def uniform_plan(level: int) -> Term:
    """Every future step uses this much of each resource."""
    return conjunction_of(tuple(equal(v, array_term(*[level] * HORIZON)) for v in USED.values()))


def _minimum_term(left: Operand, right: Operand) -> Apply:
    return Apply(Op.MIN, (term_from_python(left), term_from_python(right)))


def _maximum_term(left: Operand, right: Operand) -> Apply:
    return Apply(Op.MAX, (term_from_python(left), term_from_python(right)))
