"""Every operator has its place in every table."""

import pytest

from surefoot.query.lower import TRUTH_RULES
from surefoot.query.lower_arithmetic import NUMBER_RULES
from surefoot.solvers.z3.term_encoding import LAZY, MEANING
from surefoot.term.linear import LINEAR_RULES
from surefoot.term.term import Op
from surefoot.term.types import ELEMENTARY


@pytest.mark.parametrize(
    "table",
    [LINEAR_RULES, NUMBER_RULES, TRUTH_RULES, {*MEANING, *LAZY, *ELEMENTARY, Op.ARRAY}],
    ids=["linear", "number", "truth", "z3"],
)
def test_no_operator_is_missing(table: object) -> None:
    assert set(table) == set(Op)
