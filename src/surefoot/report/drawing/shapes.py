"""What a picture is made of. Coordinates are pixels, from the upper left corner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Rectangle:
    x: int
    y: int
    width: int
    height: int
    fill: str  # "#rrggbb"


@dataclass(frozen=True, slots=True)
class Cells:
    """A grid of squares, row by row from the top; `signs` are drawn into them, a pointer shows `titles`."""

    x: int
    y: int
    size: int
    colours: tuple[tuple[str, ...], ...]
    signs: tuple[tuple[str, ...], ...]
    titles: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> int:
        return len(self.colours[0]) if self.colours else 0


@dataclass(frozen=True, slots=True)
class Polyline:
    """Straight pieces from point to point."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: int = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """A small square around a point, with a title."""

    x: float
    y: float
    colour: str
    title: str


@dataclass(frozen=True, slots=True)
class Text:
    """`y` is the base line; the letters are about 7/10 of `size` high."""

    x: int
    y: int
    text: str
    size: int = 11
    anchor: Anchor = "start"
    colour: str = "#333333"
    bold: bool = False


Shape: TypeAlias = Rectangle | Cells | Polyline | Mark | Text


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    shapes: tuple[Shape, ...]


def shift_shapes(shapes: Iterable[Shape], right: int, down: int) -> tuple[Shape, ...]:
    """The same shapes at another place."""
    moved: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Polyline):
            moved.append(replace(shape, points=tuple((x + right, y + down) for x, y in shape.points)))
        elif isinstance(shape, Mark):
            moved.append(replace(shape, x=shape.x + right, y=shape.y + down))
        else:
            moved.append(replace(shape, x=shape.x + right, y=shape.y + down))
    return tuple(moved)


def text_width(text: str, size: int = 11) -> int:
    """About how many pixels a text takes."""
    return -(-len(text) * size * 3 // 5)
