"""Every operator has its place in every table."""

import pytest

from surefoot.problem.term import Op
from surefoot.query.arithmetic import NUMBER
from surefoot.query.linear import LINEAR
from surefoot.query.lower import TRUTH
from surefoot.solve.z3.terms import ELEMENTARY, LAZY, MEANING


@pytest.mark.parametrize(
    "table",
    [LINEAR, NUMBER, TRUTH, {*MEANING, *LAZY, *ELEMENTARY, Op.ARRAY}],
    ids=["linear", "number", "truth", "z3"],
)
def test_no_operator_is_missing(table: object) -> None:
    assert set(table) == set(Op)
