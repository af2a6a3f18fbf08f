"""The benchmarks of Zhu et al. (PLDI 2019), Tables 1 and 3, as numbers: equations, boxes, limits of controls.

Facts of the paper's benchmarks, written down anew; README.md says where paper and artifact disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Ends = tuple[str, str]  # two numbers


@dataclass(frozen=True, slots=True)
class PaperPlant:
    """`rates`: the next value of each variable, or its derivative if there is a step (Euler)."""

    rates: tuple[str, ...]
    starts: tuple[Ends, ...]
    unsafe: str
    controls: tuple[Ends | None, ...]
    step: str | None = None
    variables: tuple[str, ...] = ()  # x1, x2, … if there are none here
    disturbances: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    def names(self) -> tuple[str, ...]:
        return self.variables or tuple(f"x{i + 1}" for i in range(len(self.rates)))


def _symmetric_box(size: str, count: int) -> tuple[Ends, ...]:
    return ((f"-{size}", size),) * count


def _outside_box(*sides: Ends, names: tuple[str, ...] = ()) -> str:
    """Not strictly inside the box."""
    used = names or tuple(f"x{i + 1}" for i in range(len(sides)))
    return " or ".join(f"{n} <= {low} or {n} >= {high}" for n, (low, high) in zip(used, sides, strict=True))


def _platoon_plant(cars: int, sides: tuple[Ends, ...], step: str | None) -> PaperPlant:
    """The leader's speed, then for each follower its gap and how much faster the car before it is."""
    speeds = [f"u{i} - u{i + 1}" for i in range(1, cars)]
    gaps = [f"x{2 * i + 1}" for i in range(1, cars)]
    rates = ["u1", *(part for pair in zip(gaps, speeds, strict=True) for part in pair)]
    if step is None:
        rates = [f"x{i + 1} + 0.1*({rate})" for i, rate in enumerate(rates)]
    return PaperPlant(
        tuple(rates),
        _symmetric_box("0.1", len(rates)),
        _outside_box(*sides),
        _symmetric_box("10", cars),
        step,
    )


def _pendulum_plant(pull: str, push: str) -> PaperPlant:
    names = ("eta", "omega")
    return PaperPlant(
        ("omega", f"{pull}*eta + {push}*u1"),
        _symmetric_box("0.35", 2),
        _outside_box(*_symmetric_box("0.5", 2), names=names),
        _symmetric_box("15", 1),
        "0.01",
        names,
    )


_OSCILLATOR = ("-2*x1 + u1", "-x2 + u2", "5*x1 - 5*x3", *(f"5*x{i} - 5*x{i + 1}" for i in range(3, 18)))
_FOUR_CARS = (
    ("-2", "2"),
    *_symmetric_box("0.5", 1),
    *_symmetric_box("0.35", 1),
    *(_symmetric_box("0.5", 1) + _symmetric_box("1", 1)) * 2,
)
_EIGHT_CARS = (
    ("-2", "2"),
    ("-0.9", "0.5"),
    *_symmetric_box("1", 1),
    *(_symmetric_box("0.5", 1) + _symmetric_box("1", 1)) * 6,
)
_LANE = (
    "x2 + 27.7*x3",
    "-(231800/45705)*x2 + (9462/45705 - 27.7)*x4 + (133000/1650)*u1",
    "x4 + wind",
    "(9462/64133.81)*x2 - (413645.58/64133.81)*x4 + (147630/2315.3)*u2",
)
_CART_SIDES = (*_symmetric_box("0.3", 1), *_symmetric_box("0.5", 1)) * 2

TABLE_1: dict[str, PaperPlant] = {
    "satellite": PaperPlant(
        ("2*x1 - x2 + 2*u1", "x1"),
        _symmetric_box("1", 2),
        _outside_box(*_symmetric_box("1.5", 2)),
        _symmetric_box("10", 1),
    ),
    "dcmotor": PaperPlant(
        ("0.98965*x1 + 0.000000014747*x2 + 128*u1", "0.0000000074506*x1"),
        _symmetric_box("1", 2),
        _outside_box(*_symmetric_box("1.5", 2)),
        _symmetric_box("1", 1),
    ),
    "tape": PaperPlant(
        ("5.5197e-17*x1 - 3.5503e-17*x2 + 6.2468e-32*x3 + 0.25*u1", "2.7756e-17*x1", "2.7756e-17*x2"),
        _symmetric_box("1", 3),
        _outside_box(*_symmetric_box("3", 3)),
        _symmetric_box("10", 1),
    ),
    "magnetic-pointer": PaperPlant(
        ("2.6629*x1 - 1.1644*x2 + 0.66598*x3 + 0.25*u1", "2*x1", "0.5*x2"),
        _symmetric_box("1", 3),
        _outside_box(*_symmetric_box("3.5", 3)),
        _symmetric_box("15", 1),
    ),
    "suspension": PaperPlant(
        (
            "0.02366*x1 - 0.31922*x2 + 0.0012041*x3 - 4.0292e-17*x4 + 256*u1",
            "0.25*x1",
            "0.0019531*x2",
            "0.0019531*x3",
        ),
        _symmetric_box("1", 4),
        _outside_box(*_symmetric_box("3", 4)),
        _symmetric_box("10", 1),
    ),
    "biology": PaperPlant(
        ("-0.01*x1 - x2*(x1 + 4.5) + u1", "-0.025*x2 + 0.000013*x3", "-0.093*(x3 + 15) + u2/12"),
        (("-2", "2"), ("0", "0"), ("-0.1", "0.1")),
        "x1 >= 5",
        _symmetric_box("50", 2),
        "0.01",
        notes=("u2/12 as in the artifact's proof; its simulation has 0*u2",),
    ),
    "datacenter-cooling": PaperPlant(
        ("1.01*x1 + 0.01*x2 + u1", "0.01*x1 + 1.01*x2 + 0.01*x3 + u2", "0.01*x2 + 1.01*x3 + u3"),
        (("1.6", "3.2"),) * 3,
        _outside_box(*_symmetric_box("3.2", 3)),
        _symmetric_box("1", 3),
    ),
    "quadcopter": PaperPlant(
        ("x1 + x2", "x2 + u1"),
        _symmetric_box("0.5", 2),
        _outside_box(*_symmetric_box("1", 2)),
        _symmetric_box("15", 1),
    ),
    "pendulum": PaperPlant(
        ("1.9027*x1 - x2 + u1", "x1"),
        _symmetric_box("0.5", 2),
        _outside_box(*_symmetric_box("0.6", 2)),
        _symmetric_box("1", 1),
    ),
    "cartpole": PaperPlant(
        ("x2", "0.716*x3 + 0.9755*u1", "x4", "15.76*x3 + 1.46*u1"),
        (("-0.05", "0.05"), ("-0.1", "0.1"), ("-0.05", "0.05"), ("-0.05", "0.05")),
        _outside_box(*_CART_SIDES),
        _symmetric_box("15", 1),
        "0.01",
    ),
    "self-driving": PaperPlant(
        ("-2*(x2 - x2^3/6)", "u1"),
        (("-1", "1"), ("-0.78539815", "0.78539815")),
        "x1 <= -2 or x1 >= 2",
        _symmetric_box("10", 1),
        "0.1",
    ),
    "lane-keeping": PaperPlant(
        _LANE,
        _symmetric_box("0.1", 4),
        "x1 <= -0.9 or x1 >= 0.9",
        _symmetric_box("1", 2),
        "0.01",
        disturbances=(("wind", "-0.035", "0.035"),),
    ),
    "four-car-platoon": _platoon_plant(4, _FOUR_CARS, None),
    "eight-car-platoon": _platoon_plant(8, _EIGHT_CARS, "0.01"),
    "oscillator": PaperPlant(
        _OSCILLATOR,
        (("0.2", "0.3"), ("-0.1", "0.1"), *(("0", "0"),) * 16),
        "x18 >= 0.05",
        _symmetric_box("50", 2),
        "0.01",
    ),
}

CHANGED: dict[str, PaperPlant] = {  # Table 3
    "pendulum-continuous": _pendulum_plant("10", "1"),  # before the changes
    "pendulum-heavier": _pendulum_plant("10", "(1/1.17)"),
    "pendulum-longer": _pendulum_plant("(10/1.2)", "(1/1.44)"),
    "cartpole-longer-pole": PaperPlant(
        (
            "x1 + 0.02*x2",
            "x2 - 0.027942438056430846*x3 + 0.04049576936856093*u1",
            "x3 + 0.02*x4",
            "0.2593927853935493*x3 + x4 - 0.046906296565900694*u1",
        ),
        (*_symmetric_box("0.1", 2), *_symmetric_box("0.05", 2)),
        _outside_box(*_CART_SIDES),
        _symmetric_box("15", 1),
    ),
    "self-driving-obstacle": PaperPlant(
        ("x3", "x4", "-1.2*x3 + 0.1*x4 + u1", "0.1*x3 - 1.2*x4 + u2"),
        (("-7", "-6"), ("-8", "-7"), ("0", "0"), ("0", "0")),
        "x1 >= -3.1 and x1 <= -2.9 and x2 >= -3.1 and x2 <= -2.9",
        _symmetric_box("1", 2),
        "0.01",
    ),
}

OTHERS: dict[str, PaperPlant] = {
    "duffing": PaperPlant(  # Example 4.3
        ("y", "-0.6*y - x - x^3 + u1"),
        (("-2.5", "2.5"), ("-2", "2")),
        "x < -5 or x > 5 or y < -5 or y > 5",
        (None,),
        "0.01",
        ("x", "y"),
    )
}
