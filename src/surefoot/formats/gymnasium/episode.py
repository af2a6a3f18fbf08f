"""What all models share: starts by the reset law, the end of an episode, steps that are counted where asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.formats.gymnasium.gym_model import ELAPSED
from surefoot.problem.environment import Component, Control, Edge, Environment, Law, Outcome, Update, Variable
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Int

SINES = (
    "sine and cosine are rounded correctly here; the library takes those of its platform, which may differ in the "
    "last bit (proofs of `reach` cover 2^-51)"
)


def build_environment(
    name: str,
    variables: Sequence[Variable],
    reset: Mapping[str, Law | Const],
    edges: Sequence[Edge],
    *,
    over: Term | None = None,
    controls: Sequence[Control] = (),
    limit: int | None = None,
) -> Environment:
    """The environment; nothing happens where the episode is `over`, or after `limit` counted steps."""
    starts = [
        equal(Var(variable), value)
        if isinstance(value, Const)
        else (Const(value.parameters[0]) <= Var(variable)) & (Var(variable) <= Const(value.parameters[1]))
        for variable, value in reset.items()
    ]
    goes_on = [] if over is None else [~over]
    if limit is not None:
        variables = (*variables, Variable(ELAPSED, Int(0, limit)))
        starts.append(equal(Var(ELAPSED), Const(0)))
        goes_on.append(Var(ELAPSED) < limit)
        edges = [_count_step(edge) for edge in edges]
    guard = conjunction_of(goes_on) if goes_on else TRUE
    return Environment(
        name,
        tuple(variables),
        conjunction_of(starts),
        (Component("main", tuple(replace(edge, guard=guard) for edge in edges)),),
        tuple(controls),
        arithmetic=Arithmetic.FLOAT64,
        definitions=() if over is None else (("terminated", over),),
        start_laws=tuple((variable, law) for variable, law in reset.items() if isinstance(law, Law)),
    )


def _count_step(edge: Edge) -> Edge:
    counted = Update(Var(ELAPSED), Var(ELAPSED) + 1)
    return replace(edge, outcomes=tuple(_with_update(outcome, counted) for outcome in edge.outcomes))


def _with_update(outcome: Outcome, update: Update) -> Outcome:
    return replace(outcome, updates=(*outcome.updates, update))
