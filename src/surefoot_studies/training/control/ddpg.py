"""Deep deterministic policy gradients (Lillicrap et al., ICLR 2016) in numpy.

By this algorithm the networks of the shield paper were trained (Zhu et al., PLDI 2019, section 5).

Many plants run at once, in float64 as they are executed. The actor's outputs go through tanh to the ends of
the controls; inputs are divided by the widths of the starts, which is folded into the first layer at the end.
A step costs the mean distance from the origin in these widths and a little for controls; an unsafe state ends
the run and costs `unsafe`. The actor that is kept is the best one of the looks at held-out runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.training.control import dense


@dataclass(frozen=True, slots=True)
class ActorRecipe:
    hidden: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64, 64)
    updates: int = 3000
    lanes: int = 32  # plants at once; one update after each of their steps
    horizon: int = 200  # steps after which a run begins anew
    batch: int = 128
    memory: int = 100_000
    discount: float = 0.98
    actor_rate: float = 3e-4
    critic_rate: float = 1e-3
    share: float = 0.01  # by which the targets follow
    noises: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01)  # of a control's reach; it falls to a tenth
    trial: int = 20  # steps: the largest noise is taken that makes few runs unsafe within them
    imitation: int = 0  # updates at the beginning: imitate a linear-quadratic regulator
    patience: int = 0  # updates of the critic alone after that
    effort: float = 0.01
    unsafe: float = 20.0
    looks: int = 12
    held_out: int = 64
    single: bool = False  # layers in float32: half the time where they are large


@dataclass(frozen=True, slots=True, eq=False)
class TrainedActor:
    """`layers` read the plant's variables; tanh and the reach of the controls come after them."""

    layers: dense.Layers
    reach: dense.Floats
    curve: tuple[tuple[int, float, int], ...]  # after so many updates: mean return, unsafe runs
    cpu_seconds: float
    interrupted: bool = False

    def best_point(self) -> tuple[int, float, int]:
        """The point of the curve whose actor this is."""
        return max(self.curve, key=lambda point: point[1])


def train_actor(
    system: api.ControlSystem, recipe: ActorRecipe, seed: int, tell: Tell = lambda _: None
) -> TrainedActor:
    """An actor for a plant; the same seed gives the same actor on the same machine.

    An interruption after the first look keeps the best actor so far.
    """
    began, learner = process_time(), _Learner(system, recipe, seed)
    held_out = api.draw_start_states(
        [list(system.initial)], recipe.held_out, np.random.default_rng((seed, 1))
    )
    curve: list[tuple[int, float, int]] = []
    best, most = dense.copy_layers(learner.actor), -np.inf
    interrupted = False
    try:
        if recipe.imitation:
            tell("ddpg: imitating a regulator")
            learner.imitate()
        for update in range(1, recipe.updates + 1):
            learner.live(1 - 0.9 * update / recipe.updates)
            learner.improve(update > recipe.patience)
            if update * recipe.looks // recipe.updates > (update - 1) * recipe.looks // recipe.updates:
                worth, fallen = learner.evaluate_actor(held_out)
                if worth > most:
                    best, most = dense.copy_layers(learner.actor), worth
                curve.append((update, worth, fallen))
                told = f"mean return {worth:.4g}, {fallen} runs unsafe"
                tell(f"ddpg: update {update} of {recipe.updates}, {told}")
    except KeyboardInterrupt:
        if not curve:
            raise
        interrupted = True
    first, bias = best[0]
    layers = [(first / learner.widths, bias), *best[1:]]
    return TrainedActor(layers, learner.reach, tuple(curve), process_time() - began, interrupted)


class _Learner:
    """Actor, critic, their targets, the memory and the plants that are running."""

    def __init__(self, system: api.ControlSystem, recipe: ActorRecipe, seed: int) -> None:
        self.plant, self.recipe = api.BatchPlant(system), recipe
        self.generator = np.random.default_rng((seed, 0))
        low, high = self.plant.ends()
        if not np.all(np.isfinite(high - low)) or np.any(low != -high):
            raise api.Unsupported("an actor is trained for controls between -c and c")
        self.reach = high
        self.widths = np.array([max(abs(float(a)), abs(float(b)), 1e-2) for a, b in system.initial])
        states, controls = len(system.variables), len(high)
        self.kind = np.float32 if recipe.single else np.float64
        self.actor = dense.initialise_layers(
            (states, *recipe.hidden, controls), self.generator, 1e-2, self.kind
        )
        self.critic = dense.initialise_layers(
            (states + controls, *recipe.critic, 1), self.generator, 1e-2, self.kind
        )
        self.slow_actor, self.slow_critic = dense.copy_layers(self.actor), dense.copy_layers(self.critic)
        self.of_actor, self.of_critic = (
            dense.Adam(self.actor, recipe.actor_rate),
            dense.Adam(self.critic, recipe.critic_rate),
        )
        self.of_imitation = dense.Adam(self.actor, 1e-3)
        self.memory = np.zeros((recipe.memory, 2 * states + controls + 2))
        self.filled = 0
        self.states = self._starts(recipe.lanes)
        self.age = self.generator.integers(0, recipe.horizon, recipe.lanes)
        still = self._unsafe_share(0.0)
        self.noise = next(
            (n for n in recipe.noises if self._unsafe_share(n) <= still + 0.2), recipe.noises[-1]
        )

    def _unsafe_share(self, noise: float) -> float:
        """The share of runs that noise alone makes unsafe soon."""
        states = self._starts(256)
        bad = np.zeros(len(states), dtype=bool)
        for _ in range(self.recipe.trial):
            acts = np.clip(noise * self.generator.normal(size=(len(states), len(self.reach))), -1, 1)
            states, _, goes_on = self._step_plants(states, acts)
            bad |= goes_on == 0
            states = np.where(bad[:, None], 0.0, states)
        return float(bad.mean())

    def _starts(self, count: int) -> dense.Floats:
        return api.draw_start_states([list(self.plant.system.initial)], count, self.generator)

    def _acts(self, actor: dense.Layers, states: dense.Floats) -> dense.Floats:
        found: dense.Floats = np.tanh(
            dense.forward_layers(actor, (states / self.widths).astype(self.kind))[-1]
        )
        return found

    def _step_plants(
        self, states: dense.Floats, acts: dense.Floats
    ) -> tuple[dense.Floats, dense.Floats, dense.Floats]:
        """Next states, rewards, and 1 where the run goes on."""
        following = self.plant.step(
            states, acts * self.reach, self.plant.draw_disturbances(len(states), self.generator)
        )
        bad = self.plant.is_unsafe(following)
        cost = np.minimum(np.abs(following / self.widths).mean(axis=1), self.recipe.unsafe)
        cost = cost + self.recipe.effort * np.abs(acts).mean(axis=1)
        return following, -np.where(bad, self.recipe.unsafe, cost), (~bad).astype(np.float64)

    def live(self, remaining: float) -> None:
        """One step of every plant with noise, remembered."""
        recipe = self.recipe
        acts = self._acts(self.actor, self.states)
        acts = np.clip(acts + self.noise * remaining * self.generator.normal(size=acts.shape), -1, 1)
        following, rewards, goes_on = self._step_plants(self.states, acts)
        rows = np.column_stack([self.states / self.widths, acts, following / self.widths, rewards, goes_on])
        rows = rows[np.isfinite(rows).all(axis=1)]
        self.memory[(self.filled + np.arange(len(rows))) % recipe.memory] = rows
        self.filled += len(rows)
        self.age += 1
        fresh = (goes_on == 0) | (self.age >= recipe.horizon)
        self.states = np.where(fresh[:, None], self._starts(recipe.lanes), following)
        self.age = np.where(fresh, 0, self.age)

    def imitate(self) -> None:
        """What a regulator does in states twice as far as starts, as the actor's first idea."""
        gain = api.baseline_regulator(self.plant.system)
        if gain is None:
            raise api.Unsupported("there is no regulator to imitate")
        for _ in range(self.recipe.imitation):
            rows = self.generator.uniform(-2, 2, (self.recipe.batch, len(self.widths))).astype(self.kind)
            wanted = self.plant.clip_controls(rows * self.widths @ gain.matrix.T + gain.offset) / self.reach
            wanted = wanted.astype(self.kind)
            own = dense.forward_layers(self.actor, rows)
            chosen = np.tanh(own[-1])
            slopes = (chosen - wanted) * (1 - chosen**2) / self.recipe.batch
            self.of_imitation.step(self.actor, dense.backpropagate_layers(self.actor, own, slopes)[0])
        self.slow_actor = dense.copy_layers(self.actor)

    def improve(self, actor: bool) -> None:
        """Critic towards its target, actor (if it is to learn already) up the critic."""
        recipe, states = self.recipe, len(self.widths)
        known = min(self.filled, recipe.memory)
        rows: dense.Floats = self.memory[self.generator.integers(0, known, recipe.batch)].astype(self.kind)
        now, acts = rows[:, :states], rows[:, states : -states - 2]
        later, rewards, goes_on = rows[:, -states - 2 : -2], rows[:, -2], rows[:, -1]
        then = np.tanh(dense.forward_layers(self.slow_actor, later)[-1])
        ahead = dense.forward_layers(self.slow_critic, np.column_stack([later, then]))[-1][:, 0]
        worst = -recipe.unsafe / (1 - recipe.discount)
        target = rewards + recipe.discount * goes_on * np.clip(ahead, worst, 0.0)
        values = dense.forward_layers(self.critic, np.column_stack([now, acts]))
        gap = values[-1][:, 0] - target
        slopes = np.clip(gap, -10, 10)[:, None] / recipe.batch
        self.of_critic.step(self.critic, dense.backpropagate_layers(self.critic, values, slopes)[0])
        dense.update_target(self.slow_critic, self.critic, recipe.share)
        if not actor:
            return
        own = dense.forward_layers(self.actor, now)
        chosen = np.tanh(own[-1])
        judged = dense.forward_layers(self.critic, np.column_stack([now, chosen]))
        down = np.full((recipe.batch, 1), -1.0 / recipe.batch, dtype=self.kind)
        upward = dense.backpropagate_layers(self.critic, judged, down)[1]
        through = upward[:, states:] * (1 - chosen**2)
        self.of_actor.step(self.actor, dense.backpropagate_layers(self.actor, own, through)[0])
        dense.update_target(self.slow_actor, self.actor, recipe.share)

    def evaluate_actor(self, starts: dense.Floats) -> tuple[float, int]:
        """The mean return without noise, and how many of these runs became unsafe."""
        states, total, alive = starts, np.zeros(len(starts)), np.ones(len(starts), dtype=bool)
        for _ in range(self.recipe.horizon):
            following, rewards, goes_on = self._step_plants(states, self._acts(self.actor, states))
            total += np.where(alive, rewards, -self.recipe.unsafe)
            alive &= goes_on > 0
            states = np.where(alive[:, None], following, starts)
        return float(total.mean()), int(np.count_nonzero(~alive))
