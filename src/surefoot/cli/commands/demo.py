"""`surefoot demo`: refute one property of a neural policy, see another hold, and check the evidence again."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from surefoot.errors import InvalidProblem

ASSETS = ("toy.toml", "toy.onnx")
EXPECTED = {"below_ten": 1, "below_thirteen": 0}  # exit codes: violated, holds as asked


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("surefoot-demo"), show_default=True,
              help="Where the model, the network and the results are put.")  # fmt: skip
def demo(folder: Path) -> int:
    """The example of the first paper (whiRL 1.0, section 4.3) from start to end, without any other file."""
    from surefoot.cli import run

    if folder.exists() and not folder.is_dir():
        raise InvalidProblem(f"`{folder}` is a file", fix="choose another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    for asset in ASSETS:
        (folder / asset).write_bytes(files("surefoot.studies.toy").joinpath("assets", asset).read_bytes())
    print(f"a network that reacts to its two inputs, and an environment that moves them: {folder}/toy.toml\n")
    codes = {}
    for name in EXPECTED:
        result = folder / f"{name}.json"
        command = ["check", str(folder / "toy.toml"), "--property", name, "--json", str(result), "--quiet"]
        print(f"$ surefoot {' '.join(command)}", flush=True)
        codes[name] = run(command)
        print()
    evidence = ["certify", str(folder / "below_ten.json")]
    print(f"$ surefoot {' '.join(evidence)}", flush=True)
    accepted = run(evidence) == 0
    print(f"\nresults as JSON: {', '.join(str(folder / f'{name}.json') for name in EXPECTED)}")
    return 0 if accepted and codes == EXPECTED else 4
