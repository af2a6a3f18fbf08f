"""DeepRM, the cluster scheduler: the queries of whiRL 1.0 (section 5) and whiRL 2.0 (section VI.C)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from surefoot.problem.environment import Real, Variable
from surefoot.problem.names import output_name
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property
from surefoot.problem.term import Operand, Term, Var, conjunction, equal
from surefoot.studies.deeprm.model import (
    ACTIONS,
    BACKLOG,
    CAPACITY,
    HORIZON,
    LENGTH,
    RESOURCES,
    SLOTS,
    assemble,
    environment,
    image,
    planned,
    queue_of,
    snapshot,
)

SMALL, LARGE = (1, 1), (20, 10)  # steps, and units of each resource
OUTPUTS = tuple(Var(output_name(i)) for i in range(len(ACTIONS)))
# `wait` is the last output: on a tie the lower index is chosen, so it is preferred only if strictly largest.
WAIT_IS_PREFERRED = conjunction(tuple(OUTPUTS[-1] > other for other in OUTPUTS[:-1]))


def policy(network: Network, shade: Operand = 1) -> NeuralPolicy:
    """The scheduler samples its action from the softmax of six outputs."""
    return NeuralPolicy(network, image(shade), ACTIONS, Choose.SAMPLE)


def _problem(name: str, network: Network, starts: Term, asked: Property, shade: Operand = 1) -> Problem:
    """A question about the start alone, so nothing has to happen afterwards."""
    return Problem(f"deeprm/{name}", snapshot(starts), policy(network, shade), asked)


def free_cluster_schedules(network: Network) -> Problem:
    """D1: with all resources free and five small jobs, waiting is not the most likely choice."""
    return _problem("free-cluster", network, planned(0) & queue_of(*SMALL), Never(WAIT_IS_PREFERRED, 0))


def full_cluster_waits_small(network: Network, shade: Operand = 1) -> Problem:
    """D2: with no resources and five small jobs, waiting is the most likely choice."""
    starts = planned(CAPACITY) & queue_of(*SMALL)
    return _problem("full-cluster-small-jobs", network, starts, Never(~WAIT_IS_PREFERRED, 0), shade)


def full_cluster_waits_large(network: Network, shade: Operand = 1) -> Problem:
    """D3: with no resources and five large jobs, waiting is the most likely choice."""
    starts = planned(CAPACITY) & queue_of(*LARGE)
    return _problem("full-cluster-large-jobs", network, starts, Never(~WAIT_IS_PREFERRED, 0), shade)


def prefers_second_slot(network: Network, job: tuple[int, int] = SMALL) -> Problem:
    """D*: whatever the utilisation, with five identical jobs `schedule2` beats `wait`.

    As in the paper's appendix there are 20 utilisation inputs in [0, 1], one per unit of each resource; each
    stands for the whole column of the image.
    """
    units = {(r, c): Var(f"utilisation_{r}_{c}") for r in RESOURCES for c in range(CAPACITY)}
    unit = Real(Fraction(0), Fraction(1))
    where = snapshot(planned(0) & queue_of(*job))
    where = replace(where, variables=(*where.variables, *(Variable(v.name, unit) for v in units.values())))
    cells = {(r, row, c): units[r, c] for r, c in units for row in range(HORIZON)}
    who = NeuralPolicy(network, assemble(cells), ACTIONS, Choose.SAMPLE)
    return Problem("deeprm/prefers-second-slot", where, who, Never(OUTPUTS[1] <= OUTPUTS[-1], 0))


def empties_queue(network: Network) -> Problem:
    """Ours, over many steps: from five small jobs on a free cluster, nothing waits any more one day."""
    empty = conjunction((*(equal(LENGTH[i], 0) for i in range(SLOTS)), equal(BACKLOG, 0)))
    where = environment(planned(0) & queue_of(*SMALL))
    return Problem("deeprm/empties-queue", where, policy(network), Eventually(empty))


PROBLEMS: dict[str, Callable[[], Problem]] = {}
NEEDS_NETWORK: dict[str, Callable[..., Problem]] = {
    "free-cluster": free_cluster_schedules,
    "full-cluster-small-jobs": full_cluster_waits_small,
    "full-cluster-large-jobs": full_cluster_waits_large,
    "prefers-second-slot": prefers_second_slot,
    "empties-queue": empties_queue,
}
