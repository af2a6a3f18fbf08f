"""Heat maps: values of all starts over one or two terms of the state, as pictures, pages, text and data."""

from surefoot.report.heatmap.cells import HeatMap, axes, heat_map, looked
from surefoot.report.heatmap.figure import Figure, Panel, figure
from surefoot.report.heatmap.html import heat_page
from surefoot.report.heatmap.layout import drawn
from surefoot.report.heatmap.measured import effort, gaps, values

__all__ = [
    "Figure",
    "HeatMap",
    "Panel",
    "axes",
    "drawn",
    "effort",
    "figure",
    "gaps",
    "heat_map",
    "heat_page",
    "looked",
    "values",
]
