"""DeepRM over many steps: an overloaded cluster in which all jobs are alike.

Every job needs all of one resource, so that jobs run one after the other and the plan is told by its first
steps: used or not. Where a job was placed the next one arrives at once. The environment chooses how long ago
a job arrived, anew at each step, which over-approximates the cluster. The likeliest action is taken, and a
run goes on for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot import api
from surefoot_studies.deeprm import cluster

OUTPUTS = tuple(api.Var(api.network_output_name(i)) for i in range(len(cluster.ACTIONS)))
# On a tie the lower index is chosen, and `wait` is the last.
PLACES = api.disjunction_of(tuple(other >= OUTPUTS[-1] for other in OUTPUTS[:-1]))


def keeps_placing(network: api.Network, length: int, memory: int, cpu: int) -> api.Problem:
    """A job is placed again and again, while the cluster is busy with at most one job.

    `length`: steps of a job; it must need all of one resource. A job that is placed behind another one would
    leave these plans: then the property is not proved.
    """
    needs = dict(zip(cluster.RESOURCES, (memory, cpu), strict=True))
    if max(needs.values()) != cluster.CAPACITY:
        raise api.InvalidProblem(
            "here a job needs all of one resource", fix=f"give one of them {cluster.CAPACITY} units"
        )
    plan = tuple(api.Var(f"planned_{row}") for row in range(length))
    ends = (Fraction(0), Fraction(cluster.LONGEST_SILENCE))
    silence = api.Choice("new_silence", api.Real(*ends), api.Law("uniform", ends))
    anew = api.Update(cluster.SILENCE, api.Var("new_silence"))
    later: tuple[api.Term, ...] = (*plan[1:], api.Const(0))
    waiting = api.Outcome(
        updates=(*(api.Update(p, after) for p, after in zip(plan, later, strict=True)), anew)
    )
    # On a free cluster the job takes all its steps; behind another one it would take the same number more.
    placing = api.Outcome(updates=(*(api.Update(p, p + 1) for p in plan), anew))
    edges = [api.Edge(action=a, chosen=(silence,), outcomes=(placing,)) for a in cluster.ACTIONS[:-1]]
    edges.append(api.Edge(action=cluster.ACTIONS[-1], chosen=(silence,), outcomes=(waiting,)))
    where = api.EnvironmentData(
        name="deeprm",
        variables=(
            *(api.Variable(p.name, api.Int(0, 1)) for p in plan),
            api.Variable("silence", api.Real(*ends)),
        ),
        initial=api.TRUE,
        components=(api.Component("cluster", tuple(edges)),),
        overapproximate=True,
        notes=(
            f"five visible jobs of {length} steps that need {memory} units of memory and {cpu} of cpu",
            f"no backlog, the cluster is busy for at most {length} steps, any silence may come next",
        ),
    )
    who = api.NeuralPolicy(network, _overload_image(plan, length, needs), cluster.ACTIONS, api.Choose.ARGMAX)
    return api.Problem(f"deeprm/keeps-placing-{length}-{memory}-{cpu}", where, who, api.Recurs(PLACES))


def _overload_image(plan: tuple[api.Var, ...], length: int, needs: Mapping[str, int]) -> tuple[api.Term, ...]:
    """The image: the first rows of the plans as the state has them, all slots with the same job."""
    canvas: dict[tuple[str, int, int], api.Term] = {
        (r, row, unit): plan[row] if row < length and unit < needs[r] else api.Const(0)
        for r in cluster.RESOURCES
        for row in range(cluster.HORIZON)
        for unit in range(cluster.CAPACITY)
    }
    known = {"length": (length,) * cluster.SLOTS, "backlog": 0}
    known |= {cluster.NEED[r].name: (needs[r],) * cluster.SLOTS for r in cluster.RESOURCES}
    moving = {cluster.SILENCE.name, *(p.name for p in plan)}
    return tuple(
        t if api.free_names(t) & moving else api.Const(api.evaluate_term(t, known))
        for t in cluster.assemble_image(canvas)
    )
