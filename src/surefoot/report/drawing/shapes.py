"""What a picture is made of. Coordinates are pixels, from the upper left corner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

MarkForm: TypeAlias = Literal["disc", "ring", "cross", "arrow"]
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
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
    """Straight pieces from point to point; `dash`: lengths of strokes and gaps, in turns."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1
    dash: tuple[int, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled area, without its outline."""

    points: tuple[tuple[float, float], ...]
    fill: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A small sign at a point, with a title; in PNG files discs and rings are squares."""

    x: float
    y: float
    colour: str
    title: str
    form: MarkForm = "disc"
    size: float = 3  # from its middle to its edge


@dataclass(frozen=True, slots=True)
class Text:
    """`y` is the base line; the letters are about 7/10 of `size` high."""

    x: float
    y: float
    text: str
    size: int = 11
    anchor: Anchor = "start"
    colour: str = "#333333"
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that a page can show and hide together, by the classes of their element."""

    classes: str
    shapes: tuple[Shape, ...]


Shape: TypeAlias = "Rectangle | Cells | Polyline | Polygon | Mark | Text | Group"


@dataclass(frozen=True, slots=True)
class Drawing:
    width: int
    height: int
    shapes: tuple[Shape, ...]
    label: str = ""  # what is read out instead of it


def shift_shapes(shapes: Iterable[Shape], right: int, down: int) -> tuple[Shape, ...]:
    """The same shapes at another place."""
    moved: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Cells):
            moved.append(replace(shape, x=shape.x + right, y=shape.y + down))
        elif isinstance(shape, Group):
            moved.append(replace(shape, shapes=shift_shapes(shape.shapes, right, down)))
        elif isinstance(shape, Polyline | Polygon):
            moved.append(replace(shape, points=tuple((x + right, y + down) for x, y in shape.points)))
        else:
            moved.append(replace(shape, x=shape.x + right, y=shape.y + down))
    return tuple(moved)


def mark_corners(mark: Mark) -> tuple[tuple[tuple[float, float], ...], ...]:
    """The lines of a cross, or the outline of an arrow that points upwards."""
    x, y, s = mark.x, mark.y, mark.size
    if mark.form == "cross":
        return ((x - s, y - s), (x + s, y + s)), ((x - s, y + s), (x + s, y - s))
    foot = y + 0.75 * s
    return (((x - s, foot), (x, y - 1.25 * s), (x + s, foot), (x - s, foot)),)


def text_width(text: str, size: int = 11) -> int:
    """About how many pixels a text takes."""
    return -(-len(text) * size * 3 // 5)
