"""Aurora, the congestion controller (whiRL 1.0, section 5; whiRL 2.0, section VI.A and appendix A)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.checkpoints import TrainingRun
from surefoot_studies.generalisation import Instances

HISTORY = 10
EPSILON = Fraction(1, 100)
RATE_CHANGE = api.Var(api.network_output_name(0))
RESET = (0, 1, 1)  # latency gradient, latency ratio and send ratio of an interval without packets


def aurora_environment(
    epsilon: Fraction, send_ratio: tuple[Fraction, Fraction], from_reset: bool = False
) -> api.EnvironmentData:
    """Ten past intervals; each step forgets the oldest, and the environment picks a fresh one in bounds.

    All states are starts, as in the papers; `from_reset`: only the history that the system begins with.
    """
    bounds = {
        "latency_gradient": (-epsilon, epsilon),
        "latency_ratio": (Fraction(1), 1 + epsilon),
        "send_ratio": send_ratio,
    }
    windows = tuple(api.window(name, HISTORY, api.Real(*pair)) for name, pair in bounds.items())
    chosen = tuple(
        api.Choice(f"new_{n}", api.Real(*pair), api.Law("uniform", pair)) for n, pair in bounds.items()
    )
    shift = tuple(u for w in windows for u in w.shift(api.Var(f"new_{w.name}")))
    reset = tuple(api.equal(t, v) for w, v in zip(windows, RESET, strict=True) for t in w.terms)
    return api.EnvironmentData(
        name="aurora",
        variables=tuple(v for w in windows for v in w.variables),
        initial=api.conjunction_of(reset) if from_reset else api.TRUE,
        components=(
            api.Component("link", (api.Edge(chosen=chosen, outcomes=(api.Outcome(updates=shift),)),)),
        ),
        controls=(api.Control("rate_change", clipped=False),),
        overapproximate=True,
        notes=(
            f"latency gradient in [-{epsilon}, {epsilon}], latency ratio in [1, {1 + epsilon}], "
            f"send ratio in [{send_ratio[0]}, {send_ratio[1]}], in every interval",
            "the link is any sequence of observations in these bounds: it does not react to the rate",
        ),
    )


def aurora_policy(network: api.Network) -> api.NeuralPolicy:
    """30 inputs, time-major, oldest first: gradient, ratio and send ratio of each interval in turn."""
    windows = (
        api.window(name, HISTORY, api.Real()) for name in ("latency_gradient", "latency_ratio", "send_ratio")
    )
    return api.NeuralPolicy(network, api.interleave_windows(*windows), choose=api.Choose.VALUE)


def _aurora_problem(
    name: str, network: api.Network, where: api.EnvironmentData, asked: api.Property
) -> api.Problem:
    return api.Problem(f"aurora/{name}", where, aurora_policy(network), asked)


def _excellent_link(epsilon: Fraction) -> api.EnvironmentData:
    return aurora_environment(epsilon, (Fraction(1), Fraction(1)))


def _lossy_link(
    epsilon: Fraction, largest_ratio: Fraction, smallest_ratio: Fraction = Fraction(2)
) -> api.EnvironmentData:
    return aurora_environment(epsilon, (smallest_ratio, largest_ratio))


def liveness_excellent(
    network: api.Network, epsilon: Fraction = EPSILON, steps: int | None = None
) -> api.Problem:
    """A1: in excellent conditions the rate is increased again and again (within `steps` steps, if given)."""
    good = RATE_CHANGE > 0
    asked = api.Recurs(good) if steps is None else api.Within(good, steps)
    return _aurora_problem("liveness-excellent", network, _excellent_link(epsilon), asked)


def liveness_loss(
    network: api.Network,
    epsilon: Fraction = EPSILON,
    largest_ratio: Fraction = Fraction(10),
    steps: int | None = None,
) -> api.Problem:
    """A2: under loss the rate is decreased again and again. The papers give no largest send ratio."""
    good = RATE_CHANGE < 0
    asked = api.Recurs(good) if steps is None else api.Within(good, steps)
    return _aurora_problem("liveness-loss", network, _lossy_link(epsilon, largest_ratio), asked)


def safety_excellent(network: api.Network, epsilon: Fraction = EPSILON) -> api.Problem:
    """A3: in excellent conditions the rate is never decreased. All states are starts, so k = 1 decides."""
    return _aurora_problem(
        "safety-excellent", network, _excellent_link(epsilon), api.Never(RATE_CHANGE < 0, steps=0)
    )


def safety_shallow_buffer(
    network: api.Network,
    epsilon: Fraction = EPSILON,
    largest_ratio: Fraction = Fraction(10),
    smallest_ratio: Fraction = Fraction(2),
) -> api.Problem:
    """A4: under loss with low latency (shallow buffers) the rate is always decreased."""
    where = _lossy_link(epsilon, largest_ratio, smallest_ratio)
    return _aurora_problem("safety-shallow-buffer", network, where, api.Never(RATE_CHANGE >= 0, steps=0))


NEEDS_NETWORK: dict[str, Callable[..., api.Problem]] = {
    "liveness-excellent": liveness_excellent,
    "liveness-loss": liveness_loss,
    "safety-excellent": safety_excellent,
    "safety-shallow-buffer": safety_shallow_buffer,
}
NEAR = Fraction(1, 250)  # a smaller epsilon, closer to excellent conditions
LARGEST_RATIO = Fraction(8)  # send ratio under loss, in the questions about the shipped policies
LARGEST_RATIOS = {"aurora-32x16-tanh": Fraction(13, 2)}  # what was decided; with 8 induction got to k = 3
UNDER_LOSS = ("liveness-loss", "safety-shallow-buffer")
QUESTIONS: dict[str, Callable[..., api.Problem]] = {
    "liveness-excellent": liveness_excellent,
    "liveness-excellent-near": partial(liveness_excellent, epsilon=NEAR),
    "liveness-loss": liveness_loss,
    "safety-excellent": safety_excellent,
    "safety-excellent-near": partial(safety_excellent, epsilon=NEAR),
    "safety-shallow-buffer": safety_shallow_buffer,
}
POLICIES = ("aurora-48", "aurora-32x16", "aurora-32x16-tanh", *(f"aurora-48-{s}" for s in range(1, 5)))


def _shipped_problem(question: str, name: str) -> api.Problem:
    """A question about a shipped policy."""
    given = {"largest_ratio": LARGEST_RATIOS.get(name, LARGEST_RATIO)} if question in UNDER_LOSS else {}
    return QUESTIONS[question](shipped_network("aurora", name), **given)


TRAINING = TrainingRun(
    study="aurora",
    policy="aurora-48",
    decisions=(0, 124_800, 240_000, 480_000, 720_000, 960_000, 1_200_000, 1_440_000),
    question=safety_excellent,
    words="in excellent conditions the rate is never decreased (A3)",
    parameter="epsilon",
    usual=NEAR,
    largest=Fraction(1, 20),
    options={"solver": "native"},
)
INSTANCES = Instances(
    policies=POLICIES[:3],
    scales=(Fraction(2), Fraction(4), Fraction(8)),
    question=lambda network, largest: safety_shallow_buffer(network, EPSILON, largest, Fraction(1)),
    tighten="send_ratio>=",
    lowest=Fraction(1),
    precision=Fraction(1, 8),
    words="invariant B: with all send ratios in [L, P] and low latency the rate is always decreased",
    quantity="send ratio",
)
PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    f"{question}/{name}": partial(_shipped_problem, question, name)
    for question in QUESTIONS
    for name in POLICIES
}
