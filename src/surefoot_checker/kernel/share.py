"""Shares of the work on one certificate, for several processes: together they look at everything.

Every process reads the same certificate and derives the same obligations. What has to be shown is numbered
(the steps of proofs, the cells of regions), and each number belongs to exactly one share by arithmetic alone,
so that nothing that the certificate says can leave a number to nobody. A certificate is accepted if every
share of it is.
"""

from __future__ import annotations

from dataclasses import dataclass

_BLOCKS = 8  # of each share: neighbours have most of their way from the root in common


@dataclass(frozen=True, slots=True)
class Share:
    """Share `number` of `count`."""

    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.count:
            raise ValueError("no such share")

    def owns(self, place: int) -> bool:
        """Of things that are dealt one by one."""
        return place % self.count == self.number


WHOLE = Share()


@dataclass(slots=True)
class StepShare:
    """Which of `total` steps are looked at, block by block; those of earlier proofs are `before`."""

    share: Share
    total: int
    before: int = 0

    def _block(self, place: int) -> int:
        return (self.before + place) // max(1, -(-self.total // (self.share.count * _BLOCKS)))

    def owns(self, place: int) -> bool:
        return self.share.owns(self._block(place))

    def touches(self, first: int, end: int) -> bool:
        """Does it own one of these steps?"""
        return any(self.share.owns(block) for block in range(self._block(first), self._block(end - 1) + 1))
