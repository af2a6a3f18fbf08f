"""A flowpipe as a part of an HTML page: time or any two names, chosen by the reader."""

from __future__ import annotations

from surefoot.report.flowpipe.pipe_scene import PipeScene, scene_data
from surefoot.report.html_page import embeddable_json
from surefoot.verdict.sentences import count_noun
from surefoot.visible import escape_html


def flowpipe_section(scene: PipeScene) -> str:
    """The picture with its controls and, in words, what is in it."""
    words = "".join(f"<p>{escape_html(text)}</p>" for text in describe_flowpipe_scene(scene))
    first = scene.axes.index(scene.telling_names()[0])
    across = _axis_choice(scene, "across", range(len(scene.axes)), 0)
    upwards = _axis_choice(scene, "upwards", range(1, len(scene.axes)), first)
    boxes = [("sets", "sets"), *([("runs", "simulated runs")] if scene.runs else [])]
    checks = "".join(
        f'<label><input type="checkbox" class="{name}" checked> {text}</label> ' for name, text in boxes
    )
    label = escape_html(f"{scene.problem.name}: sets that runs stay in, over time or in two variables")
    return f"""<section class="flowpipe">{words}
<div class="bar"><label>across {across}</label> <label>upwards {upwards}</label> {checks}</div>
<canvas tabindex="0" role="application" aria-label="{label}"></canvas>
<div class="legend"></div><p class="here" role="status"></p>
<script type="application/json">{embeddable_json(scene_data(scene))}</script></section>"""


def _axis_choice(scene: PipeScene, name: str, places: range, chosen: int) -> str:
    labels = [escape_html(scene.label_of(axis)) for axis in scene.axes]
    options = "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{labels[i]}</option>' for i in places
    )
    return f'<select class="{name}">{options}</select>'


def describe_flowpipe_scene(scene: PipeScene) -> list[str]:
    """What the picture shows, for those who do not see it."""
    pipe = scene.pipe
    done, still = pipe.cells
    told = f"{len(pipe.pieces):,} boxes hold all runs of {count_noun(done, 'cell')} of starts"
    words = [f"{told}. They are drawn wider than the sets that were followed, and nothing rests on them."]
    if still:
        share = f"{int(pipe.share * 1000) / 10:g} % of the starts are shown to satisfy the property"
        known = "" if pipe.until is None else f", all of them up to {pipe.unit} {float(pipe.until):.6g}"
        words.append(f"{share}{known}; {count_noun(still, 'cell')} open.")
    if scene.runs:
        words.append(f"{count_noun(len(scene.runs), 'simulated run')}, in floats: for looking.")
    return words
