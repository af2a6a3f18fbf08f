"""A flowpipe as a drawing, for SVG and PNG files: panels over time, then the plane of two variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot, isfinite

from surefoot.report.drawing.frame import Frame, tick_values
from surefoot.report.drawing.shapes import (
    Drawing,
    Polygon,
    Polyline,
    Rectangle,
    Shape,
    Text,
    shift_shapes,
    text_width,
)
from surefoot.report.flowpipe.pipe_scene import DrawnCondition, PipeScene, find_conditions
from surefoot.report.run_chart import EDGES, FILLS, GRID, INK, TITLE
from surefoot.verdict.artifact import FlowpipePiece

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640, 76, 20, 34, 58
OVER_TIME, PLANE = 170, 340  # how high a panel is
EARLY, LATE = (0xC3, 0xDC, 0xF2), (0x2E, 0x75, 0xB6)  # colours of boxes by their time
SHADES = 8
OPEN = "#f3b562"  # where nothing is shown any more
RUN, START = "#1b2631", "#1f5fa8"
MOST_OUTLINES = 40
MOST_PANELS = 8
GAP = 6
STRIDE = 2.0  # pixels between the points of a run
OVERLAP = 0.6  # pixels, so that no gap shows between neighbours


def draw_flowpipe(scene: PipeScene, axes: Sequence[str] | None = None) -> Drawing:
    """The picture of two names, or all telling ones below each other."""
    if axes is not None:
        pairs = [scene.choose_axes(axes)]
    else:
        pairs = [(scene.pipe.unit, name) for name in scene.telling_names()[:MOST_PANELS]]
        plane = scene.telling_plane()
        pairs += [plane] if plane is not None else []
    shapes: list[Shape] = []
    top = 0
    for pair in pairs:
        part = _draw_panel(scene, *pair)
        shapes += shift_shapes(part.shapes, 0, top)
        top += part.height + GAP
    return Drawing(WIDTH, top - GAP, tuple(shapes), f"sets that runs of {scene.problem.name} stay in")


def _draw_panel(scene: PipeScene, across: str, upwards: str) -> Drawing:
    height = OVER_TIME if across == scene.pipe.unit else PLANE
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, TOP + height, scene.view(across), scene.view(upwards))
    conditions = find_conditions(scene, across, upwards)
    shapes: list[Shape] = []
    for one in conditions:
        shapes += _fill_condition(frame, one)
    shapes += _draw_grid(frame, scene, across, upwards)
    shapes += _draw_boxes(scene, frame, across, upwards)
    for one in conditions:
        shapes += _outline_condition(frame, one)
    shapes += _draw_starts(scene, frame, across, upwards)
    shapes += _draw_runs(scene, frame, across, upwards)
    corners = [(frame.left, frame.top), (frame.right, frame.top), (frame.right, frame.bottom)]
    shapes.append(Polyline((*corners, (frame.left, frame.bottom), corners[0]), INK))
    title = f"{scene.label_of(upwards)} over {scene.label_of(across)}"
    shapes.append(Text(LEFT, 18, title, 13, colour=TITLE, bold=True))
    shapes.append(
        Text((frame.left + frame.right) / 2, frame.bottom + 30, scene.label_of(across), 12, "middle", TITLE)
    )
    shapes += _draw_legend(scene, conditions, frame.bottom + 48, plane=across != scene.pipe.unit)
    return Drawing(WIDTH, TOP + height + BOTTOM, tuple(shapes), title)


def _draw_grid(frame: Frame, scene: PipeScene, across: str, upwards: str) -> Iterator[Shape]:
    steps = across == "step" and scene.pipe.unit == "step"
    for value in tick_values(*frame.across, whole=steps):
        yield Polyline(((frame.x(value), frame.top), (frame.x(value), frame.bottom)), GRID, 0.6)
        yield Text(frame.x(value), frame.bottom + 15, f"{value:.6g}", anchor="middle", colour=INK)
    for value in tick_values(*frame.along):
        yield Polyline(((frame.left, frame.y(value)), (frame.right, frame.y(value))), GRID, 0.6)
        yield Text(frame.left - 6, frame.y(value) + 4, f"{value:.6g}", anchor="end", colour=INK)


def box_ends(scene: PipeScene, piece: FlowpipePiece, name: str) -> tuple[float, float]:
    """From where to where a box lies along an axis; a step is drawn half a step to both sides."""
    if name != scene.pipe.unit:
        place = scene.pipe.names.index(name)
        return piece.low[place], piece.high[place]
    half = 0.5 if scene.pipe.unit == "step" else 0.0
    return float(piece.begin) - half, float(piece.end) + half


def _draw_boxes(scene: PipeScene, frame: Frame, across: str, upwards: str) -> Iterator[Shape]:
    """Those on top of which others lie are left out: late ones first, so that the start is seen."""
    last = scene.horizon[1] or 1.0
    seen: set[tuple[int, int, int, int, str]] = set()
    over_time = across == scene.pipe.unit
    pieces = sorted(scene.pipe.pieces, key=lambda p: (scene.is_past_knowledge(p), -p.begin))
    for piece in pieces:
        (x0, x1), (y0, y1) = box_ends(scene, piece, across), box_ends(scene, piece, upwards)
        left, right = max(frame.x(x0), frame.left), min(frame.x(x1), frame.right)
        top, bottom = max(frame.y(y1), frame.top), min(frame.y(y0), frame.bottom)
        shade = 0.4 if over_time else float(piece.begin) / last
        colour = OPEN if scene.is_past_knowledge(piece) else _shade(shade)
        key = (round(2 * left), round(2 * right), round(2 * top), round(2 * bottom), colour)
        if key in seen or right < left or bottom < top:
            continue
        seen.add(key)
        yield Rectangle(left, top, right - left + OVERLAP, max(bottom - top, OVERLAP), colour)


def _shade(share: float) -> str:
    level = min(int(share * SHADES), SHADES - 1) / (SHADES - 1)
    mixed = (round(a + (b - a) * level) for a, b in zip(EARLY, LATE, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _placed(frame: Frame, one: DrawnCondition) -> list[tuple[tuple[float, float], ...]]:
    return [
        tuple(
            (min(max(frame.x(x), frame.left), frame.right), min(max(frame.y(y), frame.top), frame.bottom))
            for x, y in area
        )
        for area in one.region.areas
    ]


def _fill_condition(frame: Frame, one: DrawnCondition) -> Iterator[Shape]:
    for area in _placed(frame, one):
        if len(area) > 2:
            yield Polygon(area, FILLS[one.kind])


def _outline_condition(frame: Frame, one: DrawnCondition) -> Iterator[Shape]:
    if one.region.exact:
        for area in _placed(frame, one):
            yield Polyline((*area, area[0]), EDGES[one.kind], 1, (5, 3) if one.part or one.when else ())


def _draw_starts(scene: PipeScene, frame: Frame, across: str, upwards: str) -> Iterator[Shape]:
    """In the plane: the boxes of starts, or what they all lie in."""
    variables = scene.pipe.variables
    if not {across, upwards} <= set(variables):
        return
    i, j = variables.index(across), variables.index(upwards)
    boxes = [
        (float(b.low[i]), float(b.high[i]), float(b.low[j]), float(b.high[j])) for b in scene.pipe.starts
    ]
    if len(boxes) > MOST_OUTLINES:
        lows, highs = [min(b[k] for b in boxes) for k in (0, 2)], [max(b[k] for b in boxes) for k in (1, 3)]
        boxes = [(lows[0], highs[0], lows[1], highs[1])]
    for x0, x1, y0, y1 in dict.fromkeys(boxes):
        corners = [frame.place(x, y) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))]
        yield Polyline(tuple(corners), START, 1.2, (4, 3))


def _draw_runs(scene: PipeScene, frame: Frame, across: str, upwards: str) -> Iterator[Shape]:
    (x0, x1), (y0, y1) = frame.across, frame.along
    for run in scene.runs:
        path: list[tuple[float, float]] = []
        for x, y in zip(scene.values_along(run, across), scene.values_along(run, upwards), strict=True):
            if not (isfinite(x) and isfinite(y) and x0 <= x <= x1 and y0 <= y <= y1):
                break
            spot = frame.place(x, y)
            if not path or hypot(spot[0] - path[-1][0], spot[1] - path[-1][1]) >= STRIDE:
                path.append(spot)
        if len(path) > 1:
            yield Polyline(tuple(path), RUN, 0.7)


def _draw_legend(
    scene: PipeScene, conditions: Sequence[DrawnCondition], y: float, *, plane: bool
) -> Iterator[Shape]:
    entries = [(_shade(0.4), "sets")]
    if any(scene.is_past_knowledge(p) for p in scene.pipe.pieces):
        entries.append((OPEN, "not shown to keep it"))
    for kind in dict.fromkeys(one.kind for one in conditions):
        own = [one for one in conditions if one.kind == kind]
        when = f" {own[0].when}" if own[0].when else ""
        part = ", if the rest holds too" if any(one.part for one in own) else ""
        entries.append((FILLS[kind], kind + when + part))
    entries += [(START, "starts")] if plane else []
    entries += [(RUN, f"{len(scene.runs)} simulated runs")] if scene.runs else []
    x = float(LEFT)
    for colour, text in entries:
        yield Rectangle(x, y - 9, 10, 10, colour)
        yield Text(x + 15, y, text, colour=INK)
        x += 32 + text_width(text)
