"""DeepRM, the cluster scheduler: the queries of whiRL 1.0 (section 5) and whiRL 2.0 (section VI.C)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Const, Operand, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Real
from surefoot_studies.assets import shipped_network
from surefoot_studies.deeprm.cluster import (
    ACTIONS,
    BACKLOG,
    CAPACITY,
    HORIZON,
    LENGTH,
    NEED,
    RESOURCES,
    SLOTS,
    assemble_image,
    cluster_image,
    deeprm_environment,
    identical_jobs,
    uniform_plan,
)
from surefoot_studies.deeprm.overload import keeps_placing

Job: TypeAlias = tuple[int, int]  # steps, and units of each resource
Cell: TypeAlias = tuple[str, int, int]  # of a plan: resource, step, unit
SMALL, LARGE = (1, 1), (20, 10)
SHADE, FULL = Var("shade"), Real(Fraction(1), Fraction(1))
OUTPUTS = tuple(Var(network_output_name(i)) for i in range(len(ACTIONS)))
# `wait` is the last output: on a tie the lower index is chosen, so it is preferred only if strictly largest.
WAIT_IS_PREFERRED = conjunction_of(tuple(OUTPUTS[-1] > other for other in OUTPUTS[:-1]))


def _deeprm_policy(network: Network, shade: Operand = 1) -> NeuralPolicy:
    """The scheduler samples its action from the softmax of six outputs."""
    return NeuralPolicy(network, cluster_image(shade), ACTIONS, Choose.SAMPLE)


def _single_image_problem(
    name: str,
    network: Network,
    job: Job,
    cells: dict[Cell, Term],
    kind: Real,
    bad: Term,
) -> Problem:
    """A question about one picture: identical jobs, nothing in the backlog, and these cells as the plans.

    All other cells are constants, so the variables are those that the plans mention.
    """
    length, need = job
    known = {"length": (length,) * SLOTS, "backlog": 0, "silence": 0}
    known |= {variable.name: (need,) * SLOTS for variable in NEED.values()}
    free = {cell.name for cell in cells.values() if isinstance(cell, Var)} or {SHADE.name}
    where = Environment(
        name="deeprm",
        variables=tuple(Variable(n, kind) for n in sorted(free)),
        initial=TRUE,
        components=(Component("cluster", tuple(Edge(action=action) for action in ACTIONS)),),
        notes=(
            f"five jobs of {length} steps and {need} units of each resource; backlog and silence are 0",
            f"{', '.join(sorted(free)[:2])}{', …' if len(free) > 2 else ''} in [{kind.low}, {kind.high}]",
        ),
    )
    observe = tuple(
        c if isinstance(c, Var) else Const(evaluate_term(c, known)) for c in assemble_image(cells)
    )
    return Problem(
        f"deeprm/{name}", where, NeuralPolicy(network, observe, ACTIONS, Choose.SAMPLE), Never(bad, 0)
    )


def _uniform_plans(cell: Callable[[str, int], Term]) -> dict[Cell, Term]:
    """Plans in which all future steps look the same: a value per resource and unit."""
    return {
        (r, row, unit): cell(r, unit) for r in RESOURCES for row in range(HORIZON) for unit in range(CAPACITY)
    }


def free_cluster_schedules(network: Network) -> Problem:
    """D1: with all resources free and five small jobs, waiting is not the most likely choice."""
    free = _uniform_plans(lambda *_: Const(0))
    return _single_image_problem("free-cluster", network, SMALL, free, FULL, WAIT_IS_PREFERRED)


def full_cluster(network: Network, job: Job = SMALL, waits: bool = True, shade: Real = FULL) -> Problem:
    """D2, D3: with no resources and five such jobs, waiting is the most likely choice; inverse: it never is.

    `shade` is the value of an unavailable cell: 1, or a range, as the original colours cells.
    """
    name = f"full-cluster-{'small' if job == SMALL else 'large'}-jobs{'' if waits else '-inverse'}"
    bad = ~WAIT_IS_PREFERRED if waits else WAIT_IS_PREFERRED
    return _single_image_problem(name, network, job, _uniform_plans(lambda *_: SHADE), shade, bad)


def prefers_second_slot(network: Network, job: Job = SMALL) -> Problem:
    """D*: whatever the utilisation, with five identical jobs `schedule2` beats `wait`.

    As in the paper's appendix there are 20 utilisation inputs in [0, 1], one per unit of each resource; each
    stands for the whole column of the image.
    """
    name = f"prefers-second-slot-{'small' if job == SMALL else 'large'}"
    units = _uniform_plans(lambda resource, unit: Var(f"utilisation_{resource}_{unit}"))
    return _single_image_problem(
        name, network, job, units, Real(Fraction(0), Fraction(1)), OUTPUTS[1] <= OUTPUTS[-1]
    )


def empties_queue(network: Network) -> Problem:
    """Ours, over many steps: from five small jobs on a free cluster, nothing waits any more one day."""
    empty = conjunction_of((*(equal(LENGTH[i], 0) for i in range(SLOTS)), equal(BACKLOG, 0)))
    where = deeprm_environment(uniform_plan(0) & identical_jobs(*SMALL))
    return Problem("deeprm/empties-queue", where, _deeprm_policy(network), Eventually(empty))


QUESTIONS: dict[str, Callable[..., Problem]] = {
    "free-cluster": free_cluster_schedules,
    "full-cluster-small-jobs": full_cluster,
    "full-cluster-small-jobs-inverse": partial(full_cluster, waits=False),
    "full-cluster-large-jobs": partial(full_cluster, job=LARGE),
    "full-cluster-large-jobs-inverse": partial(full_cluster, job=LARGE, waits=False),
    "prefers-second-slot-small": prefers_second_slot,
    "prefers-second-slot-large": partial(prefers_second_slot, job=LARGE),
    "keeps-placing-cpu-jobs": partial(keeps_placing, length=1, memory=1, cpu=CAPACITY),
    "keeps-placing-memory-jobs": partial(keeps_placing, length=3, memory=CAPACITY, cpu=1),
}
POLICY = "deeprm-20"


def _shipped_problem(question: str) -> Problem:
    """A question about the shipped policy."""
    return QUESTIONS[question](shipped_network("deeprm", POLICY))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    f"{question}/{POLICY}": partial(_shipped_problem, question) for question in QUESTIONS
}
NEEDS_NETWORK: dict[str, Callable[..., Problem]] = {**QUESTIONS, "empties-queue": empties_queue}
