"""Disturbances that were estimated from logged runs, in words and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.shields.logged_runs import DisturbanceEstimate
from surefoot.visible import join_visible


def render_disturbances(found: DisturbanceEstimate) -> str:
    """What was found and what it supposes, for people."""
    variables, controls, box, linear = found.variables, found.controls, found.box, found.linear
    confidence = found.confidence
    lines = []
    if linear is not None:
        columns = (*variables, *controls, "1")
        for name, row, near in zip(variables, linear.matrix, linear.within, strict=True):
            parts = [f"({k:.6g} ± {w:.2g})*{c}" for k, w, c in zip(row, near, columns, strict=True)]
            lines.append(f"next {name} = {' + '.join(parts)}")
        lines.append(
            f"fitted       to {linear.count} steps; ± with confidence {confidence} for all at once, "
            "if residuals are independent and normal"
        )
    for name, low, high in zip(variables, box.low, box.high, strict=True):
        lines.append(f"disturbance  of next {name}: from {float(low)!r} to {float(high)!r}")
    lines.append(
        f"contains     a share of at least {np.floor(box.share * 1e6) / 1e6:.6f} of disturbances, with "
        f"confidence {confidence} ({box.count} steps)"
    )
    what = "disturbances" if linear is None else "disturbances, with the error of the fit,"
    lines.append(f"supposes     that {what} are independent and distributed alike")
    lines.append("a proof with this box is about runs whose disturbances stay in it; n steps all do with a")
    lines.append(f"probability of at least 1 - n * {np.ceil((1 - box.share) * 1e6) / 1e6:.6f}")
    return join_visible(lines)


def disturbances_to_json(found: DisturbanceEstimate) -> dict[str, Any]:
    """Everything as JSON."""
    variables, controls, box, linear = found.variables, found.controls, found.box, found.linear
    data: dict[str, Any] = {
        "confidence": found.confidence,
        "share": box.share,
        "steps of the box": box.count,
        "supposes": "disturbances (with the error of the fit) are independent and distributed alike",
        "disturbances": {
            n: [float(a), float(b)] for n, a, b in zip(variables, box.low, box.high, strict=True)
        },
    }
    if linear is not None:
        finite = bool(np.all(np.isfinite(linear.within)))
        data["linear"] = {
            "columns": [*variables, *controls, "1"],
            "matrix": linear.matrix.tolist(),
            "within": linear.within.tolist() if finite else None,
            "steps": linear.count,
        }
    return data
