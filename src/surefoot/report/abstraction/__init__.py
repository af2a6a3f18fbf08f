"""The abstract state graph as a page to look at: layers from the starts, colours, details and splits."""

from surefoot.report.abstraction.html import graph_page, graph_script, graph_section, graph_style

__all__ = ["graph_page", "graph_script", "graph_section", "graph_style"]
