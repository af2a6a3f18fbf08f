"""Closed sets of states as pictures: cut along two variables, with starts, unsafe states and runs."""

from surefoot.report.region.figure import drawn
from surefoot.report.region.html import region_page, region_section, script, style
from surefoot.report.region.runs import Run, runs_of
from surefoot.report.region.scene import Region, Scene, certified_scene, document, scene_of

__all__ = [
    "Region",
    "Run",
    "Scene",
    "certified_scene",
    "document",
    "drawn",
    "region_page",
    "region_section",
    "runs_of",
    "scene_of",
    "script",
    "style",
]
