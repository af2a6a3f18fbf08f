"""Controls that are clipped: the checker's forms hold every value, and are as narrow as the engine's."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from surefoot.engines.reach.form_series import bounds_of
from surefoot.engines.reach.network_forms import clip_forms
from surefoot_checker.claims.reach.affine_form import FormArithmetic, form_bounds
from surefoot_checker.claims.reach.decision import _limit_control
from surefoot_checker.kernel.problem import Control
from surefoot_checker.kernel.strict_json import Refused

BITS = 44
ONE = 1 << BITS
ENDS = [Fraction(-1), Fraction(1, 3), Fraction(2), None]
LIMITS = [(low, high) for low in ENDS for high in ENDS if low is None or high is None or low <= high]


@pytest.mark.parametrize(("low", "high"), LIMITS)
def test_clipped_controls(low: Fraction | None, high: Fraction | None) -> None:
    draw = random.Random(str((low, high)))
    least, most = (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))
    for _ in range(60):
        centre, slopes = draw.uniform(-3, 3), [draw.uniform(-2, 2) for _ in range(2)]
        form = (int(centre * ONE), [int(a * ONE) for a in slopes], int(draw.choice([0, 0.1]) * ONE))
        c, a, r = _limit_control(Control("u", low, high, True), form, FormArithmetic(BITS, 2))
        for _ in range(40):
            e = [draw.choice([-1.0, 1.0, draw.uniform(-1, 1)]) for _ in range(3)]
            inside = (form[0] + form[1][0] * e[0] + form[1][1] * e[1] + form[2] * e[2]) / ONE
            gap = min(max(inside, least), most) - (c + a[0] * e[0] + a[1] * e[1]) / ONE
            assert abs(gap) <= r / ONE + 1e-9
        engine = np.array([[[form[0] / ONE, *(x / ONE for x in form[1]), form[2] / ONE]]])
        down, up = bounds_of(clip_forms(engine, np.array([least]), np.array([most])))
        lower, upper = form_bounds((c, a, r))
        assert (upper - lower) / ONE <= (up - down).item() * (1 + 1e-4) + 1e-4


def test_limits_that_do_not_clip() -> None:
    control = Control("u", Fraction(-1), Fraction(1), False)
    arithmetic = FormArithmetic(BITS, 1)
    assert _limit_control(control, (0, [ONE], 0), arithmetic) == (0, [ONE], 0)
    with pytest.raises(Refused, match="outside of its range"):
        _limit_control(control, (1, [ONE], 0), arithmetic)
