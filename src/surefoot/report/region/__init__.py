"""Closed sets of states as pictures: cut along two variables, with starts, unsafe states and runs."""

from surefoot.report.region.html import region_page, region_script, region_section, region_style
from surefoot.report.region.region_figure import draw_scenes
from surefoot.report.region.sample_runs import SampleRun, sample_shield_runs
from surefoot.report.region.scene import (
    ClosedRegion,
    Scene,
    certified_scene,
    make_scene,
    scene_to_json,
    synthesis_scene,
)

__all__ = [
    "ClosedRegion",
    "SampleRun",
    "Scene",
    "certified_scene",
    "draw_scenes",
    "make_scene",
    "region_page",
    "region_script",
    "region_section",
    "region_style",
    "sample_shield_runs",
    "scene_to_json",
    "synthesis_scene",
]
