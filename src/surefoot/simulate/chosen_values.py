"""Values that the environment chooses for one step, drawn by their laws."""

from __future__ import annotations

from surefoot.errors import Unsupported
from surefoot.explore.interpret.joint_steps import JointTransition, undefined_error
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Environment
from surefoot.problem.semantics import free_choices, has_value_type
from surefoot.simulate.draw import draw_choice
from surefoot.term.closures import UNDEFINED_ERRORS, Row
from surefoot.work.philox import Stream

_MOST_REJECTIONS = 1000


def draw_chosen_values(
    environment: Environment, layout: RowLayout, plan: JointTransition, row: Row, stream: Stream
) -> Row:
    """The row with values that the environment chooses by their laws, until the assumption is met."""
    free = free_choices(environment, plan.transition)
    if not free and not plan.assuming:
        return row
    for _ in range(_MOST_REJECTIONS):
        extended = [*row, *(None for _ in layout.chosen)]
        values = [draw_choice(c, environment.arithmetic, stream) for c in free]
        for choice, value in zip(free, values, strict=True):
            extended[layout.slots[choice.name]] = value
        try:
            fit = (
                has_value_type(v, c.kind, environment.arithmetic) for c, v in zip(free, values, strict=True)
            )
            if all(fit) and all(holds(tuple(extended)) for holds in plan.assuming):
                return tuple(extended)
        except UNDEFINED_ERRORS as error:
            where = f"the assumption of `{plan.transition.describe(environment)}`"
            raise undefined_error(error, where, layout, row) from None
    name = plan.transition.describe(environment)
    raise Unsupported(
        f"{_MOST_REJECTIONS} draws for `{name}` all missed its assumption",
        fix="give the chosen values laws that fit the assumption",
    )
