"""Closed sets as a part of an HTML page: any two variables, chosen by the reader."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.report.html_page import REGION_ASSETS, embeddable_json, render_html_page
from surefoot.report.region.scene import Scene, scene_to_json
from surefoot.verdict.sentences import count_noun
from surefoot.visible import escape_html


def region_page(title: str, scenes: Sequence[Scene], parts: Sequence[str] = ()) -> str:
    """A whole page; `parts`: what stands below the pictures."""
    sections = [region_section(scene, heading=len(scenes) > 1) for scene in scenes]
    return render_html_page(title, [*sections, *parts], REGION_ASSETS)


def region_section(scene: Scene, *, heading: bool = False) -> str:
    """One picture with its controls and, in words, what is in it."""
    title = f"<h2>{escape_html(scene.title)}</h2>" if heading else ""
    words = "".join(f"<p>{escape_html(text)}</p>" for text in describe_scene(scene))
    second = min(1, len(scene.variables) - 1)
    axes = "".join(
        f'<label>{label} <select class="{name}">{_variable_options(scene, chosen)}</select></label> '
        for label, name, chosen in (("across", "across", 0), ("upwards", "upwards", second))
    )
    shielded = any(run.shielded for run in scene.runs)
    boxes = [("sets", "sets")]
    boxes += [("without", "runs without the shield" if shielded else "runs")] if scene.runs else []
    boxes += [("with", "runs with the shield")] if shielded else []
    checks = "".join(
        f'<label><input type="checkbox" class="{name}" checked> {text}</label> ' for name, text in boxes
    )
    label = escape_html(f"{scene.title}: closed sets, starts, unsafe states and runs in two variables")
    return f"""<section class="region">{title}{words}
<div class="bar">{axes}{checks}</div>
<details class="cut"><summary>where the other variables are cut</summary><div class="values"></div></details>
<canvas tabindex="0" role="application" aria-label="{label}"></canvas>
<div class="legend"></div><p class="here" role="status"></p>
<script type="application/json">{embeddable_json(scene_to_json(scene))}</script></section>"""


def _variable_options(scene: Scene, chosen: int) -> str:
    return "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{escape_html(name)}</option>'
        for i, name in enumerate(scene.variables)
    )


def describe_scene(scene: Scene) -> list[str]:
    """What the picture shows, for those who do not see it."""
    count = len(scene.regions)
    state = "accepted by the independent checker" if scene.certified else "NOT certified"
    words = [f"{count_noun(count, 'closed set')}, {state}. The picture itself is drawn in floats."]
    if not count:
        words = ["No closed set was found."]
    words += [f"set {i + 1}: {region.rule}" for i, region in enumerate(scene.regions)]
    for shielded in (False, True):
        runs = [r for r in scene.runs if r.shielded is shielded]
        if not runs:
            continue
        unsafe = sum(r.unsafe for r in runs)
        protected = any(r.shielded for r in scene.runs)
        who = f"{count_noun(len(runs), 'run')} {'with' if shielded else 'without'} the shield"
        who = who if protected else count_noun(len(runs), "run")
        more = f", {count_noun(sum(r.interventions for r in runs), 'intervention')}" if shielded else ""
        words.append(f"{who} ({scene.proposed}): {unsafe} of them unsafe{more}.")
    return words
