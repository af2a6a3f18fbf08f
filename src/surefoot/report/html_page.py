"""The frame of every page: one file that needs nothing else and may ask nothing of any network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from surefoot.visible import escape_html, make_data_visible, make_lines_visible

# styles and scripts of the parts that a page may have
HEATMAP_ASSETS = ("heatmap/heatmap.css", "heatmap/heatmap.js")
GRAPH_ASSETS = ("abstraction/graph.css", "abstraction/picture.js", "abstraction/graph.js")
REGION_ASSETS = ("region/region.css", "region/region.js")
FLOWPIPE_ASSETS = ("flowpipe/flowpipe.css", "flowpipe/flowpipe.js")
WITNESS_ASSETS = ("violation/witnesses.css", "violation/witnesses.js")

CODE = re.compile("`([^`]*)`")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b2631;
background:#fff}
h1{font-size:1.3rem}h2{font-size:1.15rem;border-left:.5rem solid #5d6d7e;padding-left:.6rem;margin-top:2.2rem}
h2.good{border-color:#1e8449}h2.bad{border-color:#c0392b}h2.open{border-color:#b9770e}
code{background:#f2f4f4;padding:0 .25em}
svg{width:100%;max-width:46rem;height:auto;display:block;margin:.4rem 0}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{border-bottom:1px solid #d5d8dc;padding:.15rem .6rem;text-align:right;white-space:nowrap}
th.text,td.text{text-align:left;white-space:normal;overflow-wrap:anywhere}
dt{font-weight:600}dd{margin:0 0 .4rem 1rem;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){:root{color-scheme:dark}body{color:#e4e9ed;background:#14191e}
a{color:#6fb1f5}code{background:#232b33}th,td{border-color:#3a444d}svg{background:#fff;border-radius:.3rem}}
"""


def render_html_page(title: str, parts: Iterable[str], assets: Sequence[str] = ()) -> str:
    """A whole page; the parts are HTML already, `assets` the files of styles and scripts that they need."""
    style, script = (
        "\n".join(files("surefoot.report").joinpath(a).read_text("utf-8") for a in assets if a.endswith(kind))
        for kind in (".css", ".js")
    )
    run, shown = f"<script>{script}</script>" if script else "", escape_html(title)
    lines = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{shown}</title><style>{STYLE}{style}</style></head><body><h1>{shown}</h1>",
        *map(make_lines_visible, parts),
        f"{run}</body></html>\n",
    ]
    return "\n".join(lines)


def prose_html(text: str) -> str:
    """A sentence, with what stands between backticks as code."""
    return CODE.sub(r"<code>\1</code>", escape_html(text))


def embeddable_json(data: object) -> str:
    """JSON that cannot end the element it stands in, and shows what its texts are made of."""
    text = json.dumps(make_data_visible(data), separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
