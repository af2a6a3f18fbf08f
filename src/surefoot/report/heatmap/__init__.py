"""Heat maps: values of all starts over one or two terms of the state, as pictures, pages, text and data."""

from surefoot.report.heatmap.cells import HeatMap, common_axes, heat_map, parse_view
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure
from surefoot.report.heatmap.html import heat_page
from surefoot.report.heatmap.layout import draw_figure
from surefoot.report.heatmap.start_values import effort_table, gap_table, value_table

__all__ = [
    "Figure",
    "HeatMap",
    "Panel",
    "build_figure",
    "common_axes",
    "draw_figure",
    "effort_table",
    "gap_table",
    "heat_map",
    "heat_page",
    "parse_view",
    "value_table",
]
