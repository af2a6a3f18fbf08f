"""Everything that a user of surefoot needs, in one place; `import surefoot` offers the same names.

import surefoot as sf
p = sf.load("toy.toml", property="below_ten")
r = sf.check(p, engine="bmc", timeout=60)
print(r)
"""

from __future__ import annotations

from surefoot.interface.environment import Environment
from surefoot.interface.expression import Expression, array, boolean, choose_value, integer, real
from surefoot.interface.policy import Policy
from surefoot.interface.properties import (
    eventually,
    expected_reward,
    never,
    never_before,
    probability_of,
    recurs,
    within,
)
from surefoot.interface.questions import check, check_certificate, heatmap, load, probability, shield
from surefoot.interface.result import CheckResult

__all__ = [
    "CheckResult",
    "Environment",
    "Expression",
    "Policy",
    "array",
    "boolean",
    "check",
    "check_certificate",
    "choose_value",
    "eventually",
    "expected_reward",
    "heatmap",
    "integer",
    "load",
    "never",
    "never_before",
    "probability",
    "probability_of",
    "real",
    "recurs",
    "shield",
    "within",
]
