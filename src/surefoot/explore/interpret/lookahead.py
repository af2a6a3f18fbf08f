"""Looking ahead: states in which nothing is decided and nothing earned are passed through, not stored.

Such a state lets itself be passed through (a condition says so), has exactly one choice, which is not the
policy's, with exactly one outcome, which earns nothing and leads to another state. The value of every
question that cannot tell the two apart is the same in both. A loop of such states goes on for ever: where
one is recognised (Brent's method: the states number 0, 1, 2, 4, 8, … of the way are compared with those that
follow), or after very many states, the present one is kept, so that the loop stays visible. Start states are
kept, and what leads to a state that is kept already leads there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surefoot.explore.interpret.joint_steps import JointTransitionCache
from surefoot.explore.limits import MOST_PASSED
from surefoot.term.closures import UNDEFINED_ERRORS, Closure, Row

LARGEST_MEMORY = 1 << 16  # states of which it is remembered where they lead


@dataclass(frozen=True, slots=True, eq=False)
class Lookahead:
    """`stays`: where a state is never passed through."""

    steps: JointTransitionCache
    stays: Closure
    ends: dict[Row, Row] = field(default_factory=dict)  # of ways that end, and are not too long

    def first_kept_state(self, row: Row) -> Row:
        """The first state from here on that is kept."""
        if (known := self.ends.get(row)) is not None:
            return known
        anchor = row
        way: list[Row] = []
        for count in range(MOST_PASSED):
            if count & (count - 1) == 0:
                anchor = row
            after = self._only_successor(row)
            if after is None or after == row:
                self._remember(way, row)
                return row
            way.append(row)
            row = after
            if row == anchor:
                break
        return row

    def _remember(self, way: list[Row], end: Row) -> None:
        if len(self.ends) + len(way) > LARGEST_MEMORY:
            self.ends.clear()
        self.ends.update(dict.fromkeys(way, end))

    def _only_successor(self, row: Row) -> Row | None:
        try:
            if self.stays(row):
                return None
            found = None
            for plan in self.steps.enabled_steps(row):
                if plan.action is not None:
                    return None
                for extended in self.steps.choices(plan, row):
                    if found is not None:
                        return None
                    found = self.steps.outcomes(plan, extended)
        except UNDEFINED_ERRORS:
            return None  # it is kept, and what is wrong with it is said when its turn comes
        if found is None or len(found) != 1 or any(found[0][2]):
            return None
        return found[0][1]
