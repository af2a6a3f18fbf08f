"""Figures 2 to 6 of Deep Statistical Model Checking with our tracks and drivers, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from math import log2

from surefoot import api
from surefoot_studies import paper_figures as paper
from surefoot_studies.assets import recipe_curve
from surefoot_studies.racetrack.drivers import EARLIER, LATER, driver_question
from surefoot_studies.racetrack.track import GOAL, TRACKS, Track, shipped_track

LARGE = TRACKS[1:]
NEAR, FAR = 4, 15  # cells from the goal along the track
STRESS = Fraction(1, 2)
NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def _with_more_slip(build: Callable[..., api.Problem]) -> Callable[[], api.Problem]:
    return lambda: build(noise=STRESS)


_GOAL_BIG = driver_question("goal", "big", "driver-big")
FIGURES: dict[str, paper.FigureSpec] = {
    figure.name: figure
    for figure in (
        paper.FigureSpec(
            "2",
            "crash probability of the best drivers, 20 % noise",
            tuple(paper.PanelSpec(t, t, driver_question("crash", t, f"driver-{t}")) for t in LARGE),
            columns=3,
            limits=(0.0, 0.1),
        ),
        paper.FigureSpec(
            "3",
            "goal probability on the big track",
            (
                paper.PanelSpec("trained", "20 % noise, as in training", _GOAL_BIG),
                paper.PanelSpec("stress", "50 % noise", _with_more_slip(_GOAL_BIG)),
                paper.PanelSpec(
                    "optimum",
                    "50 % noise, optimal",
                    _with_more_slip(driver_question("goal", "big", "best")),
                    sampled=False,
                ),
            ),
            columns=3,
        ),
        paper.FigureSpec(
            "4",
            f"goal probability on the big track after {EARLIER} and {LATER} episodes",
            tuple(
                paper.PanelSpec(
                    name, f"{n} episodes", driver_question("goal", "big", f"driver-big-after-{n}")
                )
                for name, n in (("earlier", EARLIER), ("later", LATER))
            ),
            columns=2,
            curve=paper.LearningCurve("driver-big", ((EARLIER, f"{EARLIER}"), (LATER, f"{LATER}"))),
        ),
        paper.FigureSpec(
            "5",
            "goal probability on the ring, trained from the start line and from anywhere",
            (
                paper.PanelSpec(
                    "line", "from the start line", driver_question("goal", "ring", "driver-ring-line")
                ),
                paper.PanelSpec("anywhere", "from anywhere", driver_question("goal", "ring", "driver-ring")),
            ),
            columns=2,
        ),
        paper.FigureSpec(
            "6",
            "effort: log2 of the number of runs for the goal probability",
            tuple(
                paper.PanelSpec(f"{t} {word}", f"{t}, {word}", driver_question("goal", t, who), "effort")
                for word, mask in (("network", "driver-{}"), ("by hand", "by-hand"))
                for t, who in ((t, mask.format(t)) for t in LARGE)
            ),
            columns=3,
        ),
        paper.FigureSpec(
            "random",
            "goal probability of uniformly random accelerations",
            tuple(paper.PanelSpec(t, t, driver_question("goal", t, "random")) for t in LARGE),
            columns=3,
        ),
    )
}


@cache
def goal_distances(track: str) -> Mapping[tuple[int, int], int]:
    """Per cell: how many cells the nearest goal is away along the track."""
    where = shipped_track(track)
    found: dict[tuple[int, int], int] = dict.fromkeys(where.places(GOAL), 0)
    frontier = list(found)
    while frontier:
        following = []
        for x, y in frontier:
            for dx, dy in NEIGHBOURS:
                near = (x + dx, y + dy)
                if near not in found and not where.is_blocked(*near):
                    found[near] = found[x, y] + 1
                    following.append(near)
        frontier = following
    return found


def _values_by_cell(table: paper.SampledValues) -> dict[tuple[int, int], paper.SampledValue]:
    return {(int(s["car_x"]), int(s["car_y"])): value for s, value in table}


def _share_below(table: paper.SampledValues) -> float:
    return sum(value.estimate < 0.1 for _, value in table) / len(table)


def _share_above_half(table: paper.SampledValues) -> float:
    return sum(value.estimate > 0.5 for _, value in table) / len(table)


def _mean_value(table: paper.SampledValues, keep: Callable[[int, int], bool] = lambda x, y: True) -> float:
    kept = [value.estimate for place, value in _values_by_cell(table).items() if keep(*place)]
    return float(sum(kept, Fraction(0)) / len(kept))


def _rank_correlation(table: paper.SampledValues, track: str) -> float:
    """Spearman's, of the probability at a start and its distance from the goal."""
    from scipy.stats import spearmanr

    cells, apart = _values_by_cell(table), goal_distances(track)
    return float(spearmanr([apart[p] for p in cells], [float(v.estimate) for v in cells.values()]).statistic)


def _mean_gap(found: Mapping[str, paper.SampledValues], keep: Callable[[int], bool]) -> float:
    """Mean of optimum minus driver over the starts at some distance."""
    mine, best = _values_by_cell(found["stress"]), _values_by_cell(found["optimum"])
    apart = goal_distances("big")
    kept = [float(best[p].estimate - mine[p].estimate) for p in mine if keep(apart[p])]
    return sum(kept) / len(kept)


def _checkpoint_pairs(found: Mapping[str, paper.SampledValues]) -> list[tuple[float, float]]:
    """Per start: goal probability after fewer and after more episodes."""
    before, after = _values_by_cell(found["earlier"]), _values_by_cell(found["later"])
    return [(float(before[p].estimate), float(after[p].estimate)) for p in before]


def _more_return(_: Mapping[str, paper.SampledValues]) -> float:
    returns = recipe_curve("racetrack", "driver-big", "episodes")
    return returns[LATER] - returns[EARLIER]


def _in_top_third(track: Track) -> Callable[[int, int], bool]:
    return lambda x, y: y < track.height // 3


def _mean_effort(table: paper.SampledValues) -> float:
    return sum(log2(value.runs) for _, value in table) / len(table)


def _of_track(track: str) -> dict[str, paper.Measure]:
    network, by_hand = f"{track} network", f"{track} by hand"
    found: dict[str, paper.Measure] = {
        "share of starts with crash probability below 0.1": lambda f: _share_below(f[track]),
        "share of starts with crash probability above 0.5": lambda f: _share_above_half(f[track]),
        "rank correlation of crash probability and distance": lambda f: _rank_correlation(f[track], track),
        "runs by hand per run of the network": lambda f: (
            2 ** (_mean_effort(f[by_hand]) - _mean_effort(f[network]))
        ),
        "goal probability, network minus by hand": lambda f: (
            _mean_value(f[network]) - _mean_value(f[by_hand])
        ),
        "share of starts with goal probability below 0.1": lambda f: _share_below(f[track]),
    }
    return {f"{track}: {name}": measure for name, measure in found.items()}


_TOP = _in_top_third(shipped_track("ring"))
MEASURES: dict[str, paper.Measure] = {
    **{name: measure for track in LARGE for name, measure in _of_track(track).items()},
    "mean goal probability at 20 % noise": lambda f: _mean_value(f["trained"]),
    "mean goal probability at 50 % noise": lambda f: _mean_value(f["stress"]),
    "least optimal goal probability": lambda f: min(float(v.estimate) for _, v in f["optimum"]),
    "mean gap to the optimum near the goal": lambda f: _mean_gap(f, lambda d: d <= NEAR),
    "mean gap to the optimum far from the goal": lambda f: _mean_gap(f, lambda d: d >= FAR),
    "return, later minus earlier": _more_return,
    "mean goal probability, later minus earlier": lambda f: (
        _mean_value(f["later"]) - _mean_value(f["earlier"])
    ),
    "starts that fall below 0.25": lambda f: float(sum(a < 0.25 <= b for b, a in _checkpoint_pairs(f))),
    "largest loss of goal probability": lambda f: max(b - a for b, a in _checkpoint_pairs(f)),
    "top of the ring, from the start line": lambda f: _mean_value(f["line"], _TOP),
    "top of the ring, from anywhere": lambda f: _mean_value(f["anywhere"], _TOP),
    "whole ring, from the start line": lambda f: _mean_value(f["line"]),
    "whole ring, from anywhere": lambda f: _mean_value(f["anywhere"]),
}
