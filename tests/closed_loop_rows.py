"""The rows of the competition's category AINNCS as problem files, in continuous time as it states them.

The networks are in `../shared/data/ainncs` (see `PROVENANCE.md` there); VCAS is about steps of one second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHARED_NETWORKS = Path(__file__).resolve().parents[2] / "shared" / "data" / "ainncs"


@dataclass(frozen=True, slots=True)
class ClosedLoopRow:
    """A plant with a network: ranges of starts, derivatives, and what is asked."""

    network: str
    period: str
    starts: Mapping[str, tuple[str, str]]
    derivatives: Mapping[str, str]
    controls: Mapping[str, str]  # with the term over outputs that each of them is
    asked: str
    observe: Sequence[str] = ()  # empty: all variables that have a derivative
    limit: int = 1000  # of the size of every variable and control

    def problem_text(self, name: str) -> str:
        """The problem file; a variable without derivative is constant during a run."""
        variables = "".join(f'{v} = "real [-{self.limit}, {self.limit}]"\n' for v in self.starts)
        limits = f'{{ limits = "[-{self.limit}, {self.limit}]", clipped = false }}'
        initial = " and ".join(f"{low} <= {v} <= {high}" for v, (low, high) in self.starts.items())
        rates = "".join(f'{v} = "{rate}"\n' for v, rate in self.derivatives.items())
        observed = ", ".join(f'"{term}"' for term in self.observe or self.derivatives)
        set_by = ", ".join(f'"{term}"' for term in self.controls.values())
        return (
            f'name = "{name}"\ninitial = "{initial}"\n'
            f"[variables]\n{variables}"
            f"[controls]\n{''.join(f'{c} = {limits}' + chr(10) for c in self.controls)}"
            f'[flow]\ntime = "continuous"\nperiod = {self.period}\n'
            f"[flow.derivatives]\n{rates}"
            "[[edges]]\n"
            f'[policy]\nfile = "{SHARED_NETWORKS / self.network}.onnx"\n'
            f'observe = [{observed}]\nchoose = "value"\ncontrols = [{set_by}]\n'
            f'[properties]\nasked = "{self.asked}"\n'
        )


def _cruise_control(network: str) -> ClosedLoopRow:
    return ClosedLoopRow(
        network,
        "0.1",
        {
            "x1": ("90", "110"),
            "x2": ("32", "32.2"),
            "x3": ("0", "0"),
            "x4": ("10", "11"),
            "x5": ("30", "30.2"),
            "x6": ("0", "0"),
        },
        {
            "x1": "x2",
            "x2": "x3",
            "x3": "-2*x3 + 2*(-2) - 0.0001*x2^2",
            "x4": "x5",
            "x5": "x6",
            "x6": "-2*x6 + 2*u - 0.0001*x5^2",
        },
        {"u": "output[0]"},
        "never x1 - x4 < 10 + 1.4*x5 for 5 seconds",
        ("30", "1.4", "x5", "x1 - x4", "x2 - x5"),
    )


def _tora(
    network: str, period: str, starts: Mapping[str, tuple[str, str]], control: str, asked: str
) -> ClosedLoopRow:
    derivatives = {"x1": "x2", "x2": "-x1 + 0.1*sin(x3)", "x3": "x4", "x4": "u"}
    return ClosedLoopRow(network, period, starts, derivatives, {"u": control}, asked)


def _pendulum(high: str) -> ClosedLoopRow:
    return ClosedLoopRow(
        "single_pendulum",
        "0.05",
        {"x1": ("1", high), "x2": ("0", "0.2")},
        {"x1": "x2", "x2": "2*sin(x1) + 8*u"},
        {"u": "output[0]"},
        "always 0 <= x1 <= 1 from 0.5 to 1 seconds",
    )


def _airplane() -> ClosedLoopRow:
    open_starts, closed = ("u", "v", "w", "phi", "th", "psi"), ("r", "p", "q")
    starts = dict.fromkeys("xyz", ("0", "0")) | dict.fromkeys(open_starts, ("0", "1"))
    sideways = "(sin(th)*sin(phi)*q + sin(th)*cos(phi)*r)/cos(th)"
    return ClosedLoopRow(
        "airplane",
        "0.1",
        starts | dict.fromkeys(closed, ("0", "0")),
        {
            "x": "cos(psi)*cos(th)*u + (cos(psi)*sin(th)*sin(phi) - sin(psi)*cos(phi))*v"
            " + (cos(psi)*sin(th)*cos(phi) + sin(psi)*sin(phi))*w",
            "y": "sin(psi)*cos(th)*u + (sin(psi)*sin(th)*sin(phi) + cos(psi)*cos(phi))*v"
            " + (sin(psi)*sin(th)*cos(phi) - cos(psi)*sin(phi))*w",
            "z": "-sin(th)*u + cos(th)*sin(phi)*v + cos(th)*cos(phi)*w",
            "u": "-sin(th) + Fx - q*w + r*v",
            "v": "cos(th)*sin(phi) + Fy - r*u + p*w",
            "w": "cos(th)*cos(phi) + Fz - p*v + q*u",
            "phi": f"p + {sideways}",
            "th": "cos(phi)*q - sin(phi)*r",
            "psi": "(sin(phi)*q + cos(phi)*r)/cos(th)",
            "r": "Mz",
            "p": "Mx",
            "q": "My",
        },
        {c: f"output[{i}]" for i, c in enumerate(("Fx", "Fy", "Fz", "Mx", "My", "Mz"))},
        "always -1 <= y <= 1 and -1 <= phi <= 1 and -1 <= th <= 1 and -1 <= psi <= 1 for 2 seconds",
    )


def _docking(speed: str) -> ClosedLoopRow:
    return ClosedLoopRow(
        "docking",
        "1",
        {
            "x1": ("70", "106"),
            "x2": ("70", "106"),
            "x3": (f"-{speed}", speed),
            "x4": (f"-{speed}", speed),
        },
        {
            "x1": "x3",
            "x2": "x4",
            "x3": "0.002054*x4 + 0.000003164187*x1 + Fx/12",
            "x4": "-0.002054*x3 + Fy/12",
        },
        {"Fx": "output[0]", "Fy": "output[1]"},
        "never sqrt(x3^2 + x4^2) > 0.2 + 0.002054*sqrt(x1^2 + x2^2) for 40 seconds",
    )


def _unicycle() -> ClosedLoopRow:
    return ClosedLoopRow(
        "unicycle",
        "0.2",
        {
            "x1": ("9.5", "9.55"),
            "x2": ("-4.5", "-4.45"),
            "x3": ("2.1", "2.11"),
            "x4": ("1.5", "1.51"),
            "w": ("-0.0001", "0.0001"),
        },
        {"x1": "x4*cos(x3)", "x2": "x4*sin(x3)", "x3": "u2", "x4": "u1 + w"},
        {"u1": "output[0] - 20", "u2": "output[1] - 20"},
        "within 10 seconds -0.6 <= x1 <= 0.6 and -0.2 <= x2 <= 0.2"
        " and -0.06 <= x3 <= 0.06 and -0.3 <= x4 <= 0.3",
    )


CONTINUOUS_ROWS: dict[str, ClosedLoopRow] = {
    "acc_relu": _cruise_control("acc_relu"),
    "acc_tanh": _cruise_control("acc_tanh"),
    "tora_relu": _tora(
        "tora_relu",
        "1",
        {"x1": ("0.6", "0.7"), "x2": ("-0.7", "-0.6"), "x3": ("-0.4", "-0.3"), "x4": ("0.5", "0.6")},
        "output[0] - 10",
        "always -2 <= x1 <= 2 and -2 <= x2 <= 2 and -2 <= x3 <= 2 and -2 <= x4 <= 2 for 20 seconds",
    ),
    "tora_sigmoid": _tora(
        "tora_sigmoid",
        "0.5",
        {"x1": ("-0.77", "-0.75"), "x2": ("-0.45", "-0.43"), "x3": ("0.51", "0.54"), "x4": ("-0.3", "-0.28")},
        "11*output[0]",
        "at time 5 (-0.1 <= x1 <= 0.2 and -0.9 <= x2 <= -0.6)",
    ),
    "unicycle": _unicycle(),
    "single_pendulum": _pendulum("1.175"),
    "single_pendulum_wide": _pendulum("1.2"),
    "airplane": _airplane(),
    "docking": _docking("0.14"),
    "docking_wide": _docking("0.28"),
}
CLIMB_RATES = {
    "vcas_19_5": "-19.5",
    "vcas_22_5": "-22.5",
    "vcas_25_5": "-25.5",
    "vcas_28_5": "-28.5",
}  # feet per second
_WEAK, _STRONG = "7*32.2/24", "32.2/3"
ADVISORIES = {  # when the climb rate complies with it, and the acceleration elsewhere
    "COC": ("true", "0"),
    "DNC": ("r <= 0", f"-{_WEAK}"),
    "DND": ("r >= 0", _WEAK),
    "DES1500": ("r <= -25", f"-{_WEAK}"),
    "CL1500": ("r >= 25", _WEAK),
    "SDES1500": ("r <= -25", f"-{_STRONG}"),
    "SCL1500": ("r >= 25", _STRONG),
    "SDES2500": ("r <= -125/3", f"-{_STRONG}"),
    "SCL2500": ("r >= 125/3", _STRONG),
}


def collision_avoidance_text(name: str, rate: str) -> str:
    """VCAS: nine networks; the one of the last advisory decides on the next one."""
    edges = ""
    for number, (advisory, (complies, acceleration)) in enumerate(ADVISORIES.items(), 1):
        a = f"ite({complies}, 0, {acceleration})"
        edges += (
            f'[[edges]]\naction = "{advisory}"\n'
            f'updates = {{ h = "h - r - {a}/2", r = "r + {a}", tau = "tau - 1", last = "{number}" }}\n'
        )
    actions = ", ".join(f'"{a}"' for a in ADVISORIES)
    branches = "".join(
        f'[[policy.program.branches]]\nwhen = "last = {number}"\n'
        f'network = {{ file = "{SHARED_NETWORKS}/vcas_{number}.onnx", actions = [{actions}], '
        'observe = ["h/16000", "r/5000", "(tau - 20)/40"] }\n'
        for number in range(1, len(ADVISORIES) + 1)
    )
    return (
        f'name = "{name}"\ninitial = "-133 <= h <= -129 and r = {rate} and tau = 25 and last = 1"\n'
        '[variables]\nh = "real [-9000, 9000]"\nr = "real [-500, 500]"\n'
        f'tau = "int 0..25"\nlast = "int 1..9"\n{edges}{branches}'
        '[properties]\nasked = "never abs(h) <= 100 for 10 steps"\n'
    )


def write_closed_loop_row(name: str, folder: Path) -> Path:
    """The problem file of a row, written into a folder."""
    row = CONTINUOUS_ROWS.get(name)
    text = collision_avoidance_text(name, CLIMB_RATES[name]) if row is None else row.problem_text(name)
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return path
