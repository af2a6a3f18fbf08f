"""Models of every source as problem files: traced functions, studies, libraries, networks by their files."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interface.traced_cases import CASES

import surefoot as sf
from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.jani import read_jani
from surefoot.formats.model_file import PRISM_SUFFIXES, read_model
from surefoot.formats.nnet import write_nnet
from surefoot.formats.prism import read_prism
from surefoot.formats.problem_file import read_problems, write_problem_file, write_problems
from surefoot.formats.problem_file.reader import parse_problem_text
from surefoot.interface.environment import plain_environment
from surefoot.problem.network import dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.term.term import Var

NOWHERE = Path("nowhere/model.toml")  # the writer compares what it wrote, so that writing is the test
LARGEST = 200_000  # bytes of shared models


@pytest.mark.parametrize("name", CASES)
def test_traced_functions(name: str) -> None:
    case = CASES[name]
    world = sf.trace(case.step, case.state, case.action, noise=case.noise or None, **case.more)
    write_problem_file(plain_environment(world), path=NOWHERE)


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1", "FrozenLake-v1", "Taxi-v3"]
)
def test_library_environments(name: str, tmp_path: Path) -> None:
    world = sf.gym(name)
    sf.save(world, tmp_path / "world.toml")
    for asked in world.properties:
        sf.save(world.problem(None, asked), tmp_path / "asked.toml")
        text = (tmp_path / "asked.toml").read_text("utf-8")
        _, _, copy = parse_problem_text(text, NOWHERE)  # questions about chances wait for a policy
        assert list(copy.values()) == [world.problem(None, asked).property]


def test_a_table_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="1000000 are read"):
        sf.save(sf.gym("Blackjack-v1"), tmp_path / "world.toml")
    assert not (tmp_path / "world.toml").exists()


def test_shared_models(shared_data: Path) -> None:
    written = 0
    for path in sorted(shared_data.rglob("*")):
        if path.suffix not in (".jani", *PRISM_SUFFIXES) or path.stat().st_size > LARGEST:
            continue
        try:
            model: Any = read_jani(path) if path.suffix == ".jani" else read_prism(path)
        except SurefootError:
            continue  # constants without values
        asked = dict(model.properties) if path.suffix == ".jani" else {}
        write_problem_file(model.environment, asked, path=NOWHERE)
        written += 1
    assert written >= 20


# --- networks, by their files ----------------------------------------------------------------------------

WORLD = """
initial = "x = 0 and y = 0"
[variables]
x = "real [-9, 9]"
y = "int 0..3"
{world}
[policy]
{policy}
[properties]
safe = "never x > 8 for 3 steps"
late = "never y = 3 for 2 steps"
"""
DRIVEN = '[controls]\nu = "[-1, 1]"\n[[edges]]\nupdates = { x = "x + u / 2" }'
PICKED = '[[edges]]\naction = "up"\nupdates = { y = "min(3, y + 1)" }\n[[edges]]\naction = "down"'
WIRINGS = {
    "plain": (PICKED, 'file = "nets/one.nnet"\nobserve = ["x", "y / 3"]\nactions = ["up", "down"]'),
    "sampled": (
        PICKED,
        'file = "nets/one.nnet"\nobserve = ["x", "y"]\nactions = ["down", "up"]\nchoose = "sample"',
    ),
    "edges": (PICKED, 'file = "nets/one.nnet"\nobserve = ["x", "1/3"]\nedges_of = "main"\norder = [1, 0]'),
    "value": (DRIVEN, 'file = "nets/two.nnet"\nobserve = ["x", "y"]'),
    "controls": (DRIVEN, 'file = "nets/one.nnet"\nobserve = ["x", "y"]\ncontrols = ["2 * output[1] - 0.1"]'),
    "statistics": (DRIVEN, 'file = "nets/two.nnet"\nobserve = ["x", "y"]\nnormalize = "nets/seen.json"'),
    "given statistics": (
        DRIVEN,
        'file = "nets/two.nnet"\nobserve = ["x", "y"]\n'
        "normalize = { mean = [0.1, 1e-9], variance = [2, 3], clip = 5 }",
    ),
    "beside": (DRIVEN, 'file = "nets/wired.nnet"'),
    "in a program": (
        DRIVEN,
        'program.branches = [{ when = "y = 0", network = { file = "nets/two.nnet", observe = ["x", "y"] } }, '
        '{ when = "x < 1/3", controls = ["x / 3"] }, '
        '{ network = { file = "nets/one.nnet", observe = ["y", "x"], controls = ["output[0]"] } }]',
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nets = tmp_path / "nets"
    nets.mkdir()
    (tmp_path / "elsewhere").mkdir()
    two = dense_network([([[1, 0.5], [0.25, -1]], [0.1, 0])])
    one = dense_network([([[1, 0.5]], [0.1])])
    for name, network in (("one", two), ("two", one), ("wired", one)):
        write_nnet(network, nets / f"{name}.nnet")
    (nets / "seen.json").write_text(
        json.dumps({"mean": [1, 2], "variance": [3, 4], "epsilon": 1e-8, "clip": 10})
    )
    (nets / "wired.wiring.toml").write_text('observe = ["y", "x"]\ncontrols = ["output[0] / 4"]\n')
    return tmp_path


@pytest.mark.parametrize("name", WIRINGS)
def test_networks_are_named_by_their_files(folder: Path, name: str) -> None:
    world, policy = WIRINGS[name]
    (folder / "model.toml").write_text(WORLD.format(world=world, policy=policy))
    loaded = read_model(folder / "model.toml")
    target = folder / "elsewhere" / "copy.toml"
    files = [Path(p) for p in loaded.inputs]
    if name == "statistics":
        files.append(folder / "nets" / "seen.json")
    target.write_text(write_problems(loaded.problems, path=target, networks=files))
    copy = read_problems(target)
    assert list(copy) == ["safe", "late"]
    mine, other = loaded.problems["safe"].policy, copy["safe"].policy
    if isinstance(mine, NeuralPolicy):
        assert isinstance(other, NeuralPolicy)
        assert mine.network.digest() == other.network.digest()
        assert (mine.observe, mine.actions, mine.choose) == (other.observe, other.actions, other.choose)
    assert "nets/" in target.read_text()


def test_a_network_without_file_is_refused(folder: Path) -> None:
    (folder / "model.toml").write_text(WORLD.format(world=DRIVEN, policy=WIRINGS["value"][1]))
    problems = read_model(folder / "model.toml").problems
    for files, said in (([], "has no file to be named"), ([folder / "nets" / "one.nnet"], "no file holds")):
        with pytest.raises(Unsupported, match=said):
            write_problems(problems, path=folder / "copy.toml", networks=files)


def test_python_saves_networks_and_lists(folder: Path) -> None:
    (folder / "model.toml").write_text(WORLD.format(world=DRIVEN, policy=WIRINGS["controls"][1]))
    problems = sf.load(folder / "model.toml")
    sf.save(problems, folder / "copy.toml")
    assert [p.property for p in sf.load(folder / "copy.toml")] == [p.property for p in problems]
    x = sf.real("x", -9, 9)
    world = sf.Environment("w", start=x == 0).edge("up", update={x: x + 1}).edge("down")
    net = sf.Policy.from_file(
        folder / "nets" / "two.nnet",
        observe=[x, x],
        actions=["up"],
        normalize=folder / "nets" / "seen.json",
    )
    sf.save(sf.pose_problem(world, net, sf.never(x > 8)), folder / "mine.toml")
    copy = sf.load(folder / "mine.toml")
    assert copy.policy.network.digest() == net.network.digest()
    assert copy.policy.observe == (Var("x"), Var("x"))
    assert "seen.json" in (folder / "mine.toml").read_text()
