"""A figure as JSON data: every number of the picture, with its bounds, runs and start states."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.formats.result_json.exact_numbers import (
    INFINITE,
    bounds_text,
    exact_text,
    round_ends_outward,
    value_to_json,
)
from surefoot.problem.semantics import State
from surefoot.report.heatmap.cells import Axis, HeatCell
from surefoot.report.heatmap.heat_figure import Figure, Panel
from surefoot.report.heatmap.start_values import StartValue

LONGEST = 20  # characters of a number that is not rounded
MOST_STARTS = 100  # of one cell that are listed


def figure_to_json(figure: Figure) -> dict[str, Any]:
    """One JSON object; numbers are texts that contain the true value."""
    data: dict[str, Any] = {
        "schema": 1,
        "kind": "heatmap",
        "title": figure.title,
        "notes": list(figure.notes),
        "columns": figure.columns,
        "drawn": figure.end,
        "scales": {unit: {"low": s.low, "high": s.high} for unit, s in figure.scales.items()},
        "panels": [_panel_to_json(panel) for panel in figure.panels],
    }
    if figure.curve is not None:
        data["curve"] = {
            "x": figure.curve.x,
            "y": figure.curve.y,
            "points": [list(p) for p in figure.curve.points],
            "checkpoints": [{"x": x, "name": name} for x, name in figure.curve.marks],
        }
    return data


def _panel_to_json(panel: Panel) -> dict[str, Any]:
    map = panel.map
    return {
        "title": panel.title,
        "property": panel.asked,
        "quantity": map.which,
        "unit": panel.unit,
        "aggregate": map.aggregate,
        "aggregated": list(map.others),
        "x": _axis_to_json(map.x),
        "y": None if map.y is None else _axis_to_json(map.y),
        "cells": [_cell_to_json(cell) for cell in map.cells],
        **panel.facts,
    }


def _axis_to_json(axis: Axis) -> dict[str, Any]:
    return {"name": axis.name, "values": [value_to_json(v) for v in axis.values]}


def _cell_to_json(cell: HeatCell) -> dict[str, Any]:
    return {
        "column": cell.column,
        "row": cell.row,
        **start_value_to_json(cell.value),
        "starts": [start_state_to_json(s) for s in cell.starts[:MOST_STARTS]],
        "number of starts": len(cell.starts),
    }


def start_value_to_json(value: StartValue) -> dict[str, Any]:
    """Bounds, confidence and counts; or why there are none."""
    if value.trouble:
        return {"unknown": value.trouble, "counts": dict(value.counts)}
    low, high = value.low, value.high
    ends: tuple[str, str] = INFINITE, INFINITE
    if low is not None and high is not None:
        ends = _short_bounds(low, high)
    elif low is not None:
        ends = _short_bounds(low, low)[0], INFINITE
    sure = None if value.confidence is None else exact_text(value.confidence)
    law = {"average_over": value.average_over} if value.average_over else {}
    return {"low": ends[0], "high": ends[1], "confidence": sure, "counts": dict(value.counts), **law}


def _short_bounds(low: Fraction, high: Fraction) -> tuple[str, str]:
    """The ends themselves where that is short, otherwise rounded outward."""
    exact = bounds_text(low, high)
    return exact if max(map(len, exact)) <= LONGEST else round_ends_outward(low, high, LONGEST - 3)


def start_state_to_json(state: State) -> Mapping[str, object]:
    return {name: value_to_json(value) for name, value in state.items()}
