"""Start states of any initial condition, as columns: drawn uniformly where that is easy, else spread out."""

from surefoot.simulate.starts.draw_starts import (
    StartSamples,
    StartSource,
    draw_starts,
    prepare_starts,
    with_corners,
)

__all__ = ["StartSamples", "StartSource", "draw_starts", "prepare_starts", "with_corners"]
