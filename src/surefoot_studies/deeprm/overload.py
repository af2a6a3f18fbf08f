"""DeepRM over many steps: an overloaded cluster in which all jobs are alike.

Every job needs all of one resource, so that jobs run one after the other and the plan is told by its first
steps: used or not. Where a job was placed the next one arrives at once. The environment chooses how long ago
a job arrived, anew at each step, which over-approximates the cluster. The likeliest action is taken, and a
run goes on for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Choice, Component, Edge, Environment, Law, Outcome, Update, Variable
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Recurs
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Const, Term, Var, disjunction_of, free_names
from surefoot.term.value_types import Int, Real
from surefoot_studies.deeprm.cluster import (
    ACTIONS,
    CAPACITY,
    HORIZON,
    LONGEST_SILENCE,
    NEED,
    RESOURCES,
    SILENCE,
    SLOTS,
    assemble_image,
)

OUTPUTS = tuple(Var(network_output_name(i)) for i in range(len(ACTIONS)))
# On a tie the lower index is chosen, and `wait` is the last.
PLACES = disjunction_of(tuple(other >= OUTPUTS[-1] for other in OUTPUTS[:-1]))


def keeps_placing(network: Network, length: int, memory: int, cpu: int) -> Problem:
    """A job is placed again and again, while the cluster is busy with at most one job.

    `length`: steps of a job; it must need all of one resource. A job that is placed behind another one would
    leave these plans: then the property is not proved.
    """
    needs = dict(zip(RESOURCES, (memory, cpu), strict=True))
    if max(needs.values()) != CAPACITY:
        raise InvalidProblem("here a job needs all of one resource", fix=f"give one of them {CAPACITY} units")
    plan = tuple(Var(f"planned_{row}") for row in range(length))
    ends = (Fraction(0), Fraction(LONGEST_SILENCE))
    silence = Choice("new_silence", Real(*ends), Law("uniform", ends))
    anew = Update(SILENCE, Var("new_silence"))
    later: tuple[Term, ...] = (*plan[1:], Const(0))
    waiting = Outcome(updates=(*(Update(p, after) for p, after in zip(plan, later, strict=True)), anew))
    # On a free cluster the job takes all its steps; behind another one it would take the same number more.
    placing = Outcome(updates=(*(Update(p, p + 1) for p in plan), anew))
    edges = [Edge(action=a, chosen=(silence,), outcomes=(placing,)) for a in ACTIONS[:-1]]
    edges.append(Edge(action=ACTIONS[-1], chosen=(silence,), outcomes=(waiting,)))
    where = Environment(
        name="deeprm",
        variables=(*(Variable(p.name, Int(0, 1)) for p in plan), Variable("silence", Real(*ends))),
        initial=TRUE,
        components=(Component("cluster", tuple(edges)),),
        overapproximate=True,
        notes=(
            f"five visible jobs of {length} steps that need {memory} units of memory and {cpu} of cpu",
            f"no backlog, the cluster is busy for at most {length} steps, any silence may come next",
        ),
    )
    who = NeuralPolicy(network, _overload_image(plan, length, needs), ACTIONS, Choose.ARGMAX)
    return Problem(f"deeprm/keeps-placing-{length}-{memory}-{cpu}", where, who, Recurs(PLACES))


def _overload_image(plan: tuple[Var, ...], length: int, needs: Mapping[str, int]) -> tuple[Term, ...]:
    """The image: the first rows of the plans as the state has them, all slots with the same job."""
    canvas: dict[tuple[str, int, int], Term] = {
        (r, row, unit): plan[row] if row < length and unit < needs[r] else Const(0)
        for r in RESOURCES
        for row in range(HORIZON)
        for unit in range(CAPACITY)
    }
    known = {"length": (length,) * SLOTS, "backlog": 0}
    known |= {NEED[r].name: (needs[r],) * SLOTS for r in RESOURCES}
    moving = {SILENCE.name, *(p.name for p in plan)}
    return tuple(
        t if free_names(t) & moving else Const(evaluate_term(t, known)) for t in assemble_image(canvas)
    )
