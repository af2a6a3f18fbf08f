"""DeepRM's cluster: two resources planned 20 steps ahead, five visible jobs and a backlog.

The state is compact: how much of each resource each future step uses, what the five visible jobs need, how
many more wait, and how long ago a job arrived. The image that the network reads is made of terms over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot import api
from surefoot_studies.terms import maximum_term, minimum_term

HORIZON, CAPACITY, SLOTS = 20, 10, 5
BACKLOG_COLUMNS, LONGEST_SILENCE = 3, 10
RESOURCES = ("memory", "cpu")
ACTIONS = (*(f"schedule{i}" for i in range(1, SLOTS + 1)), "wait")
LENGTH, BACKLOG, SILENCE, BEGIN = api.Var("length"), api.Var("backlog"), api.Var("silence"), api.Var("begin")
USED = {r: api.Var(f"used_{r}") for r in RESOURCES}
NEED = {r: api.Var(f"need_{r}") for r in RESOURCES}


def deeprm_environment(initial: api.Term, longest_job: int = 15) -> api.EnvironmentData:
    """The cluster. The environment chooses new jobs: at most `longest_job` steps, 1 to 10 of each resource.

    A job that is placed leaves its slot to one from the backlog; which one is not tracked, so its size is
    chosen again. That permits more runs than the real system has.
    """
    visible, plan = api.Array(api.Int(0, CAPACITY), SLOTS), api.Array(api.Int(0, CAPACITY), HORIZON)
    edges = [_placing_edge(slot, longest_job) for slot in range(SLOTS)]
    edges += [_waiting_edge(f"schedule{slot + 1}", ~_can_place(slot), longest_job) for slot in range(SLOTS)]
    edges.append(_waiting_edge("wait", api.Const(True), longest_job))
    return api.EnvironmentData(
        name="deeprm",
        variables=(
            *(api.Variable(v.name, plan) for v in USED.values()),
            api.Variable("length", api.Array(api.Int(0, HORIZON), SLOTS)),
            *(api.Variable(v.name, visible) for v in NEED.values()),
            api.Variable("backlog", api.Int(0, HORIZON * BACKLOG_COLUMNS)),
            api.Variable("silence", api.Int(0, LONGEST_SILENCE)),
            api.Variable("begin", api.Int(0, HORIZON)),
        ),
        initial=initial,
        components=(api.Component("cluster", tuple(edges)),),
        overapproximate=True,
        notes=("jobs that leave the backlog may have any size",),
    )


def _job_fits(slot: int, at: int) -> api.Term:
    """Does the job in this slot fit into the plan when it begins `at` steps from now?

    As in the original, a job must end before the last planned step, so one of 20 steps fits nowhere.
    """
    length = LENGTH[slot]
    room = tuple(
        api.disjunction_of((length <= row - at, USED[r][row] + NEED[r][slot] <= CAPACITY))
        for row in range(at, HORIZON)
        for r in RESOURCES
    )
    return api.conjunction_of((length < HORIZON - at, *room))


def _can_place(slot: int) -> api.Term:
    """Is there a job in this slot, and a step at which it can begin?"""
    return (LENGTH[slot] > 0) & api.disjunction_of(tuple(_job_fits(slot, at) for at in range(HORIZON)))


def _placing_edge(slot: int, longest_job: int) -> api.Edge:
    """Schedule the job at the first step where it fits; time stands still."""
    earliest: api.Term = api.Const(HORIZON)
    for at in reversed(range(HORIZON)):
        earliest = api.ite(_job_fits(slot, at), at, earliest)
    running = {row: (row >= BEGIN) & (BEGIN + LENGTH[slot] > row) for row in range(HORIZON)}
    plan = tuple(
        api.Update(USED[r][row], USED[r][row] + api.ite(running[row], NEED[r][slot], 0), index=1)
        for r in RESOURCES
        for row in range(HORIZON)
    )
    refill = tuple(
        api.Update(target[slot], api.ite(BACKLOG > 0, api.Var(f"new_{name}"), 0), index=2)
        for name, target in (("length", LENGTH), *NEED.items())
    )
    updates = (
        api.Update(BEGIN, earliest),
        *plan,
        *refill,
        api.Update(BACKLOG, maximum_term(BACKLOG - 1, 0), index=3),
        api.Update(BEGIN, api.Const(0), index=3),
    )
    return api.Edge(
        action=f"schedule{slot + 1}",
        guard=_can_place(slot),
        chosen=_new_job(1, longest_job),
        outcomes=(api.Outcome(updates=updates),),
    )


def _waiting_edge(action: str, guard: api.Term, longest_job: int) -> api.Edge:
    """Wait, or try a slot that is empty or does not fit: time moves on, a job may arrive (length 0: none)."""
    new = api.Var("new_length")
    plan = tuple(
        api.Update(USED[r][row], USED[r][row + 1] if row + 1 < HORIZON else api.Const(0))
        for r in RESOURCES
        for row in range(HORIZON)
    )
    first_empty: api.Term = api.Const(SLOTS)
    for slot in reversed(range(SLOTS)):
        first_empty = api.ite(api.equal(LENGTH[slot], 0), slot, first_empty)
    arrival = tuple(
        api.Update(
            target[slot],
            api.ite((new > 0) & api.equal(first_empty, slot), api.Var(f"new_{name}"), target[slot]),
        )
        for name, target in (("length", LENGTH), *NEED.items())
        for slot in range(SLOTS)
    )
    waiting = api.ite(
        (new > 0) & api.equal(first_empty, SLOTS),
        minimum_term(BACKLOG + 1, HORIZON * BACKLOG_COLUMNS),
        BACKLOG,
    )
    silence = api.ite(new > 0, 0, minimum_term(SILENCE + 1, LONGEST_SILENCE))
    updates = (*plan, *arrival, api.Update(BACKLOG, waiting), api.Update(SILENCE, silence))
    return api.Edge(
        action=action, guard=guard, chosen=_new_job(0, longest_job), outcomes=(api.Outcome(updates=updates),)
    )


def _new_job(shortest: int, longest: int) -> tuple[api.Choice, ...]:
    bounds = {"new_length": (shortest, longest), **{f"new_{r}": (1, CAPACITY) for r in RESOURCES}}
    return tuple(
        api.Choice(name, api.Int(low, high), api.Law("integer", (Fraction(low), Fraction(high))))
        for name, (low, high) in bounds.items()
    )


def cluster_image(shade: api.Operand = 1) -> tuple[api.Term, ...]:
    """The 20 x 124 image, row by row: per resource the plan and five jobs, then backlog and silence.

    Plans are filled from the left in the original too, with a colour per job; here every used cell has the
    same `shade`.
    """
    canvas = {
        (r, row, c): api.ite(USED[r][row] > c, shade, 0)
        for r in RESOURCES
        for row in range(HORIZON)
        for c in range(CAPACITY)
    }
    return assemble_image(canvas)


def assemble_image(canvas: Mapping[tuple[str, int, int], api.Term]) -> tuple[api.Term, ...]:
    """The image with these cells as the plans; the other columns show jobs, backlog and silence."""
    cells: list[api.Term] = []
    for row in range(HORIZON):
        for r in RESOURCES:
            cells += [canvas[r, row, column] for column in range(CAPACITY)]
            cells += [
                api.ite((LENGTH[slot] > row) & (NEED[r][slot] > column), 1, 0)
                for slot in range(SLOTS)
                for column in range(CAPACITY)
            ]
        cells += [
            api.ite(row * BACKLOG_COLUMNS + column < BACKLOG, 1, 0) for column in range(BACKLOG_COLUMNS)
        ]
        cells.append(SILENCE / LONGEST_SILENCE)
    return tuple(cells)


def identical_jobs(length: int, need: int) -> api.Term:
    """Five identical jobs, nothing in the backlog, a job has just arrived."""
    same = tuple(api.equal(v, api.array_term(*[need] * SLOTS)) for v in NEED.values())
    rest = api.equal(BACKLOG, 0), api.equal(SILENCE, 0), api.equal(BEGIN, 0)
    return api.conjunction_of((api.equal(LENGTH, api.array_term(*[length] * SLOTS)), *same, *rest))


def uniform_plan(level: int) -> api.Term:
    """Every future step uses this much of each resource."""
    return api.conjunction_of(tuple(api.equal(v, api.array_term(*[level] * HORIZON)) for v in USED.values()))
