"""How do policies that were trained alike generalise (whiRL 2.0, section VI.A, the end of invariant B)?

A property holds from some bound L on, where the inputs go up to a scale P. For several P the tipping point
of L is searched, with a proof on one side and a replayed violation on the other, so L is known to lie between
two numbers. If one number L fits all P, what the policy has learnt depends on absolute values; if one ratio
P / L fits all P, on the ratio. In between L grows like a power of P: 0 is the first case, 1 the second. The
range of that exponent is computed from the two numbers alone, so it is as certain as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import log

from surefoot import api
from surefoot_studies import STUDIES


@dataclass(frozen=True, slots=True)
class Instances:
    """Which policies are compared, and by which question."""

    policies: tuple[str, ...]
    scales: tuple[Fraction, ...]  # P, from small to large
    question: Callable[[api.Network, Fraction], api.Problem]  # of a network and P
    tighten: str  # the bound that moves, between `lowest` and P
    lowest: Fraction
    precision: Fraction
    words: str  # what holds from the bound on
    quantity: str  # what is bounded


@dataclass(frozen=True, slots=True)
class TippingBounds:
    """Where the property begins to hold: after `refuted`, at the latest at `proved`."""

    policy: str
    scale: Fraction
    refuted: Fraction | None  # None: no value is refuted, it holds from the lowest on
    proved: Fraction | None  # None: nothing was proved
    certified: bool  # both ends: a certificate that the checker accepts, a trace that replays
    seconds: float
    reached: bool = True  # the two are as close as was asked for


@dataclass(frozen=True, slots=True)
class DependenceAnswer:
    """What the bound of one policy depends on."""

    policy: str
    depends: str  # "the absolute value", "the ratio", "both fit", "neither alone" or "not known"
    exponent: tuple[float, float] | None  # of P, between which the bound's growth lies
    sentence: str


def load_instances(name: str) -> Instances:
    """What a study compares; an error if nothing."""
    found = getattr(import_module(f"{STUDIES[name]}.problem"), "INSTANCES", None)
    if not isinstance(found, Instances):
        raise api.InvalidProblem(f"the study `{name}` compares no instances", fix="`aurora` does")
    return found


def find_tipping_bounds(
    about: Instances, policy: str, network: api.Network, scale: Fraction, asking: api.SearchSettings
) -> TippingBounds:
    """The tipping point of one policy at one scale."""
    problem = about.question(network, scale)
    moving = api.parse_bound_template(about.tighten, problem)
    _, result = api.find_tipping_point(problem, moving, (about.lowest, scale), about.precision, asking)
    if api.is_interrupted(result.verdict):
        raise KeyboardInterrupt
    match result.verdict:
        case api.Found(api.TippingPoint(proved=proved, refuted=refuted) as point):
            ends = (None if refuted is None else refuted.value, None if proved is None else proved.value)
            return TippingBounds(
                policy, scale, *ends, result.certified, result.seconds, point.is_within_precision
            )
        case _:
            return TippingBounds(policy, scale, None, None, False, result.seconds, False)


def judge_dependence(about: Instances, found: tuple[TippingBounds, ...]) -> DependenceAnswer:
    """What the tipping points of one policy say, computed from their two ends alone."""
    policy = found[0].policy
    known = [(t.scale, t.refuted or about.lowest, t.proved) for t in found if t.proved is not None]
    if len(known) < 2:
        return DependenceAnswer(policy, "not known", None, f"{policy}: bounds at fewer than two scales")
    lows, highs = [low for _, low, _ in known], [high for _, _, high in known]
    least = max(scale / high for scale, _, high in known)
    greatest = min(scale / low for scale, low, _ in known)
    # A value that is refuted does not fit; where none is, the lowest one may.
    refuted = [(t.scale, t.refuted) for t in found if t.proved is not None and t.refuted is not None]
    absolute = all(min(highs) > low for _, low in refuted)
    ratio = all(least < scale / low for scale, low in refuted) and least <= greatest
    exponent = _growth_exponent(known[0], known[-1])
    scales = f"P = {', '.join(f'{float(s):g}' for s, _, _ in known)}"
    grows = f"L grows like P to the power of {exponent[0]:.2f} to {exponent[1]:.2f}"
    match absolute, ratio:
        case True, False:
            depends = "the absolute value"
            fits = (
                f"L between {float(max(lows)):g} and {float(min(highs)):g} fits {scales}, no ratio P / L does"
            )
        case False, True:
            depends = "the ratio"
            fits = f"P / L between {float(least):.3g} and {float(greatest):.3g} fits {scales}, no L does"
        case True, True:
            depends = "both fit"
            fits = f"at {scales} the precision does not tell"
        case _:
            depends = "neither alone"
            fits = f"neither one L nor one ratio P / L fits {scales}"
    verb = "" if depends in ("both fit", "neither alone") else "depends on "
    return DependenceAnswer(policy, depends, exponent, f"{policy}: {verb}{depends}: {fits}; {grows}")


def _growth_exponent(
    first: tuple[Fraction, Fraction, Fraction], last: tuple[Fraction, Fraction, Fraction]
) -> tuple[float, float]:
    """Between the smallest and the largest scale."""
    over = log(last[0] / first[0])
    return log(last[1] / first[2]) / over, log(last[2] / first[1]) / over


def render_tipping_bounds(
    about: Instances, found: tuple[TippingBounds, ...], answers: tuple[DependenceAnswer, ...]
) -> str:
    """The tipping points as text, with the ratio that each means."""
    lines = [
        about.words,
        f"{'policy':24} {'P':>6} {'refuted at L':>12} {'proved from L':>13} {'P / L':>15}  evidence",
    ]
    for t in found:
        low = f"{float(t.refuted):.4g}" if t.refuted is not None else "-"
        high = f"{float(t.proved):.4g}" if t.proved is not None else "-"
        ratio = ""
        if t.proved is not None:
            ratio = f"{float(t.scale / t.proved):.3g} to {float(t.scale / (t.refuted or about.lowest)):.3g}"
        kind = "certified" if t.certified else "not certified"
        kind += "" if t.reached else ", less precise than asked"
        lines.append(f"{t.policy:24} {float(t.scale):>6g} {low:>12} {high:>13} {ratio:>15}  {kind}")
    return "\n".join([*lines, *(a.sentence for a in answers)])
