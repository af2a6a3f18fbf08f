"""A shield in simulation: its network with and without it, its program alone, baselines and adversaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.engines.barrier.float_system import Floats
from surefoot.problem.policy import NeuralPolicy, Policy, ShieldedPolicy
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.certified_shield import ShieldSynthesis
from surefoot.shields.evaluation.adversary import ADVERSARIES
from surefoot.shields.evaluation.baselines import baseline_regulator, random_search_policy
from surefoot.shields.evaluation.plant import (
    BatchPlant,
    Propose,
    by_gain,
    by_network,
    by_nobody,
    covered_boxes,
    draw_start_states,
)
from surefoot.shields.evaluation.simulation import (
    Campaign,
    count_needed_interventions,
    rerun_unshielded,
    simulate_campaign,
)
from surefoot.visible import join_visible
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class EvaluationSize:
    """How many runs of how many steps; `seconds` for each simulation."""

    runs: int = 1000
    steps: int = 5000
    seed: int = 0
    seconds: float = 300.0
    adversarial: int = 0  # shielded steps for each adversary


@dataclass(frozen=True, slots=True)
class ShieldEvaluation:
    """None: there is nobody to simulate. `needed`: of how many interventions that were asked about."""

    alone: Campaign | None = None
    shielded: Campaign | None = None
    program: Campaign | None = None
    needed: tuple[int, int] | None = None
    regulator: Campaign | None = None
    learnt: Campaign | None = None
    adversaries: tuple[tuple[str, Campaign], ...] = ()
    interrupted: bool = False

    def campaigns(self) -> list[tuple[str, Campaign]]:
        found = [
            ("network alone", self.alone),
            ("network and shield", self.shielded),
            ("program alone", self.program),
            ("regulator", self.regulator),
            ("learnt linear policy", self.learnt),
            *self.adversaries,
        ]
        return [(name, c) for name, c in found if c is not None]


def evaluate_shield(
    made: ShieldSynthesis, policy: Policy | None, size: EvaluationSize, tell: Callable[[str], None]
) -> ShieldEvaluation:
    """Simulate what can be; runs start in covered starts, or in any start if there is no set.

    Interrupted: what was simulated by then, the last of it in part.
    """
    found: dict[str, Any] = {}
    try:
        _run_campaigns(made, policy, size, tell, found)
    except KeyboardInterrupt:
        return ShieldEvaluation(**found, interrupted=True)
    return ShieldEvaluation(**found)


def _run_campaigns(
    made: ShieldSynthesis,
    policy: Policy | None,
    size: EvaluationSize,
    tell: Callable[[str], None],
    found: dict[str, Any],
) -> None:
    """Everything that there is to be simulated, one after the other, into `found`."""
    plant, generator = BatchPlant(made.system), np.random.default_rng((size.seed, 0))
    boxes = (
        covered_boxes([b.set.proof for b in made.found.branches], made.system.initial)
        if made.accepted
        else []
    )
    starts = draw_start_states(boxes or [list(made.system.initial)], size.runs, generator)

    def budget() -> Budget:
        return Budget(size.seconds, size.seed, tell)

    def keep(name: str, campaign: Campaign) -> Campaign:
        found[name] = campaign
        if campaign.interrupted:
            raise KeyboardInterrupt
        return campaign

    def simulate_policy(name: str, what: str, propose: Propose, guard: BatchGuard | None) -> Campaign:
        return keep(name, simulate_campaign(plant, starts, size.steps, propose, guard, budget(), what=what))

    propose = by_network(policy, made.system) if isinstance(policy, NeuralPolicy) else None
    if (gain := baseline_regulator(made.system)) is not None:
        simulate_policy("regulator", "regulator", by_gain(gain), None)
    simulate_policy(
        "learnt", "learnt linear policy", by_gain(random_search_policy(plant, starts, budget())), None
    )
    shields = made.accepted and isinstance(made.problem.policy, ShieldedPolicy)
    if propose is not None and not shields:
        simulate_policy("alone", "network alone", propose, None)
    if not made.accepted:
        return
    shield = BatchGuard(made.guard())
    simulate_policy("program", "program alone", by_nobody(len(made.system.controls)), shield)
    if shields and propose is not None:
        shielded = simulate_policy("shielded", "network and shield", propose, shield)
        keep("alone", rerun_unshielded(plant, starts, propose, shielded, budget(), what="network alone"))
        found["needed"] = count_needed_interventions(plant, shielded.moments, size.steps, propose, budget())
    if shields:
        for name, campaign in _simulate_adversaries(plant, shield, starts, size, budget):
            found["adversaries"] = (*found.get("adversaries", ()), (name, campaign))
            if campaign.interrupted:
                raise KeyboardInterrupt


def evaluate_guarded_network(
    made: ShieldSynthesis, policy: Policy | None, size: EvaluationSize, tell: Callable[[str], None]
) -> ShieldEvaluation | None:
    """The network behind its shield alone; None: there is no network or no shield."""
    if not made.accepted or not isinstance(made.problem.policy, ShieldedPolicy):
        return None
    if not isinstance(policy, NeuralPolicy):
        return None
    starts = draw_start_states(
        covered_boxes([b.set.proof for b in made.found.branches], made.system.initial),
        size.runs,
        np.random.default_rng((size.seed, 0)),
    )
    budget, propose = Budget(size.seconds, size.seed, tell), by_network(policy, made.system)
    what = "network and shield"
    guard = BatchGuard(made.guard())
    runs = simulate_campaign(BatchPlant(made.system), starts, size.steps, propose, guard, budget, what=what)
    return ShieldEvaluation(shielded=runs, interrupted=runs.interrupted)


def _simulate_adversaries(
    plant: BatchPlant, shield: BatchGuard, starts: Floats, size: EvaluationSize, budget: Callable[[], Budget]
) -> Iterator[tuple[str, Campaign]]:
    """Each adversary from the corners of what is covered and from random starts."""
    if not size.adversarial:
        return
    steps = max(1, size.adversarial // len(starts))
    for number, (name, made) in enumerate(ADVERSARIES.items()):
        propose = made(plant, shield, np.random.default_rng((size.seed, 4, number)))
        yield (
            name,
            simulate_campaign(plant, starts, steps, propose, shield, budget(), what=name, extreme=True),
        )


def evaluation_to_json(measured: ShieldEvaluation) -> dict[str, Any]:
    """Everything, for JSON."""
    names = ("runs", "steps", "taken", "failures", "interventions", "overruled_runs", "outside", "settled",
             "watched", "steps_to_steady", "complete")  # fmt: skip
    found: dict[str, Any] = {
        who: {n.replace("_", " "): _round_float(getattr(c, n)) for n in names}
        for who, c in measured.campaigns()
    }
    found |= {"interrupted": True} if measured.interrupted else {}
    if measured.needed is not None:
        found["interventions needed"] = {"of": measured.needed[1], "needed": measured.needed[0]}
    return found


def _round_float(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def render_evaluation(measured: ShieldEvaluation) -> str:
    """For people."""
    lines = []
    for who, c in measured.campaigns():
        text = f"{c.failures} of {c.runs} runs unsafe in {c.taken:,} steps"
        if who in ("network and shield", *ADVERSARIES):
            text += f", {c.interventions:,} interventions in {c.overruled_runs} runs"
        if c.steps_to_steady is not None and who not in ADVERSARIES:
            text += f", steady after {c.steps_to_steady:.1f} steps ({c.settled} of {c.watched} runs watched)"
        lines.append(f"  {who:<22}{text}{'' if c.complete else f' (not all: {_stop_reason(c)})'}")
    if measured.needed is not None and measured.needed[1]:
        yes, count = measured.needed
        lines.append(
            f"  {'needed':<22}{yes} of {count} interventions: the network alone becomes unsafe from there"
        )
    if measured.interrupted:
        lines.append("interrupted: what is not here was not simulated")
    return join_visible(lines)


def _stop_reason(campaign: Campaign) -> str:
    return "interrupted" if campaign.interrupted else "out of time"
