"""DeepRM, the cluster scheduler: the queries of whiRL 1.0 (section 5) and whiRL 2.0 (section VI.C)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.deeprm import cluster
from surefoot_studies.deeprm.overload import keeps_placing

Job: TypeAlias = tuple[int, int]  # steps, and units of each resource
Cell: TypeAlias = tuple[str, int, int]  # of a plan: resource, step, unit
SMALL, LARGE = (1, 1), (20, 10)
SHADE, FULL = api.Var("shade"), api.Real(Fraction(1), Fraction(1))
OUTPUTS = tuple(api.Var(api.network_output_name(i)) for i in range(len(cluster.ACTIONS)))
# `wait` is the last output: on a tie the lower index is chosen, so it is preferred only if strictly largest.
WAIT_IS_PREFERRED = api.conjunction_of(tuple(OUTPUTS[-1] > other for other in OUTPUTS[:-1]))


def _deeprm_policy(network: api.Network, shade: api.Operand = 1) -> api.NeuralPolicy:
    """The scheduler samples its action from the softmax of six outputs."""
    return api.NeuralPolicy(network, cluster.cluster_image(shade), cluster.ACTIONS, api.Choose.SAMPLE)


def _single_image_problem(
    name: str, network: api.Network, job: Job, cells: dict[Cell, api.Term], kind: api.Real, bad: api.Term
) -> api.Problem:
    """A question about one picture: identical jobs, nothing in the backlog, and these cells as the plans.

    All other cells are constants, so the variables are those that the plans mention.
    """
    length, need = job
    known = {"length": (length,) * cluster.SLOTS, "backlog": 0, "silence": 0}
    known |= {variable.name: (need,) * cluster.SLOTS for variable in cluster.NEED.values()}
    free = {cell.name for cell in cells.values() if isinstance(cell, api.Var)} or {SHADE.name}
    where = api.EnvironmentData(
        name="deeprm",
        variables=tuple(api.Variable(n, kind) for n in sorted(free)),
        initial=api.TRUE,
        components=(api.Component("cluster", tuple(api.Edge(action=action) for action in cluster.ACTIONS)),),
        notes=(
            f"five jobs of {length} steps and {need} units of each resource; backlog and silence are 0",
            f"{', '.join(sorted(free)[:2])}{', …' if len(free) > 2 else ''} in [{kind.low}, {kind.high}]",
        ),
    )
    observe = tuple(
        c if isinstance(c, api.Var) else api.Const(api.evaluate_term(c, known))
        for c in cluster.assemble_image(cells)
    )
    return api.Problem(
        f"deeprm/{name}",
        where,
        api.NeuralPolicy(network, observe, cluster.ACTIONS, api.Choose.SAMPLE),
        api.Never(bad, 0),
    )


def _uniform_plans(cell: Callable[[str, int], api.Term]) -> dict[Cell, api.Term]:
    """Plans in which all future steps look the same: a value per resource and unit."""
    return {
        (r, row, unit): cell(r, unit)
        for r in cluster.RESOURCES
        for row in range(cluster.HORIZON)
        for unit in range(cluster.CAPACITY)
    }


def free_cluster_schedules(network: api.Network) -> api.Problem:
    """D1: with all resources free and five small jobs, waiting is not the most likely choice."""
    free = _uniform_plans(lambda *_: api.Const(0))
    return _single_image_problem("free-cluster", network, SMALL, free, FULL, WAIT_IS_PREFERRED)


def full_cluster(
    network: api.Network, job: Job = SMALL, waits: bool = True, shade: api.Real = FULL
) -> api.Problem:
    """D2, D3: with no resources and five such jobs, waiting is the most likely choice; inverse: it never is.

    `shade` is the value of an unavailable cell: 1, or a range, as the original colours cells.
    """
    name = f"full-cluster-{'small' if job == SMALL else 'large'}-jobs{'' if waits else '-inverse'}"
    bad = ~WAIT_IS_PREFERRED if waits else WAIT_IS_PREFERRED
    return _single_image_problem(name, network, job, _uniform_plans(lambda *_: SHADE), shade, bad)


def prefers_second_slot(network: api.Network, job: Job = SMALL) -> api.Problem:
    """D*: whatever the utilisation, with five identical jobs `schedule2` beats `wait`.

    As in the paper's appendix there are 20 utilisation inputs in [0, 1], one per unit of each resource; each
    stands for the whole column of the image.
    """
    name = f"prefers-second-slot-{'small' if job == SMALL else 'large'}"
    units = _uniform_plans(lambda resource, unit: api.Var(f"utilisation_{resource}_{unit}"))
    return _single_image_problem(
        name, network, job, units, api.Real(Fraction(0), Fraction(1)), OUTPUTS[1] <= OUTPUTS[-1]
    )


def empties_queue(network: api.Network) -> api.Problem:
    """Ours, over many steps: from five small jobs on a free cluster, nothing waits any more one day."""
    empty = api.conjunction_of(
        (*(api.equal(cluster.LENGTH[i], 0) for i in range(cluster.SLOTS)), api.equal(cluster.BACKLOG, 0))
    )
    where = cluster.deeprm_environment(cluster.uniform_plan(0) & cluster.identical_jobs(*SMALL))
    return api.Problem("deeprm/empties-queue", where, _deeprm_policy(network), api.Eventually(empty))


QUESTIONS: dict[str, Callable[..., api.Problem]] = {
    "free-cluster": free_cluster_schedules,
    "full-cluster-small-jobs": full_cluster,
    "full-cluster-small-jobs-inverse": partial(full_cluster, waits=False),
    "full-cluster-large-jobs": partial(full_cluster, job=LARGE),
    "full-cluster-large-jobs-inverse": partial(full_cluster, job=LARGE, waits=False),
    "prefers-second-slot-small": prefers_second_slot,
    "prefers-second-slot-large": partial(prefers_second_slot, job=LARGE),
    "keeps-placing-cpu-jobs": partial(keeps_placing, length=1, memory=1, cpu=cluster.CAPACITY),
    "keeps-placing-memory-jobs": partial(keeps_placing, length=3, memory=cluster.CAPACITY, cpu=1),
}
POLICY = "deeprm-20"


def _shipped_problem(question: str) -> api.Problem:
    """A question about the shipped policy."""
    return QUESTIONS[question](shipped_network("deeprm", POLICY))


PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    f"{question}/{POLICY}": partial(_shipped_problem, question) for question in QUESTIONS
}
NEEDS_NETWORK: dict[str, Callable[..., api.Problem]] = {**QUESTIONS, "empties-queue": empties_queue}
