"""`surefoot demo`: refute one property of a neural policy, prove another, and check the evidence again."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from surefoot import api
from surefoot.cli.output import check_folder
from surefoot.cli.terminal import print_line

ASSETS = ("toy.toml", "toy.onnx", "below_thirteen.vnnlib")


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("surefoot-demo"), show_default=True,
              help="Where the model, the network and the results are put.")  # fmt: skip
def demo(folder: Path) -> int:
    """The example of the first paper (whiRL 1.0, section 4.3) from start to end, without any other file."""
    from surefoot.cli import run_command_line

    if folder.exists() and not folder.is_dir():
        raise api.InvalidProblem(f"`{folder}` is a file", fix="choose another --folder")
    check_folder(folder, "--folder")
    for asset in ASSETS:
        (folder / asset).write_bytes(files("surefoot_studies.toy").joinpath("assets", asset).read_bytes())
    print_line(
        f"a network that reacts to its two inputs, and an environment that moves them: {folder}/toy.toml"
    )
    print()
    refuted, proved, proof = (folder / n for n in ("below_ten.json", "below_thirteen.json", "proof.json"))
    picture = folder / "below_ten.html"
    model, network, question = (str(folder / asset) for asset in ASSETS)
    written = ["--json", str(refuted), "--report", str(picture)]
    commands = (
        (1, ["check", model, "--property", "below_ten", *written, "--quiet"]),
        (0, ["vnnlib", network, question, "--json", str(proved), "--certificate", str(proof), "--quiet"]),
        (0, ["certify", str(refuted)]),
        (0, ["certify", str(proof)]),
    )
    as_expected = True
    for number, (code, command) in enumerate(commands):
        print_line(f"$ surefoot {' '.join(command)}")
        found = run_command_line(command)
        if found == 130:
            print_line(api.interruption_note(number, len(commands), "commands"))
            return found
        as_expected &= found == code
        print()
    print_line(f"results: {refuted}, {proved}; certificate: {proof}; report: {picture}")
    return 0 if as_expected else 4
