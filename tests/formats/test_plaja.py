"""PlaJA's questions: starts as condition or list, policy, predicates, in one file or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.plaja import EXPECTED, SIX

from surefoot.cli import run_command_line
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.symbolic.search import symbolic_search
from surefoot.engines.predicates.symbolic.transition_cubes import build_predicate
from surefoot.errors import SurefootError
from surefoot.formats.plaja import read_plaja_properties
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.property import Never
from surefoot.problem.property_printer import show_property
from surefoot.term.printer import show_term
from surefoot.verdict.verdict import Holds, Violated
from surefoot.work.budget import Budget

COUNTER: dict[str, Any] = {
    "jani-version": 1,
    "name": "counter",
    "type": "lts",
    "actions": [{"name": "up"}, {"name": "down"}],
    "variables": [
        {
            "name": "x",
            "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 9},
            "initial-value": 0,
        },
        {"name": "b", "type": "bool", "initial-value": False},
    ],
    "automata": [
        {
            "name": "a",
            "locations": [{"name": "here"}],
            "initial-locations": ["here"],
            "edges": [
                {
                    "location": "here",
                    "action": action,
                    "guard": {"exp": {"op": op, "left": "x", "right": limit}},
                    "destinations": [
                        {
                            "location": "here",
                            "assignments": [{"ref": "x", "value": {"op": "+", "left": "x", "right": by}}],
                        }
                    ],
                }
                for action, op, limit, by in (("up", "<", 9, 1), ("down", ">", 0, -1))
            ],
        }
    ],
    "system": {
        "elements": [{"automaton": "a"}],
        "syncs": [{"synchronise": ["up"], "result": "up"}, {"synchronise": ["down"], "result": "down"}],
    },
}
NETWORK = "1,1,2,2,\n1,2,\n0,\n0,\n9,\n0,0,\n1,1,\n-1,\n1,\n5,\n-4,\n"  # up below 5
WIRING = {
    "file": "net.nnet",
    "elements": [],
    "input": [{"automaton": None, "name": "x"}],
    "output": ["up", "down"],
}


def at_least(limit: int) -> dict[str, Any]:
    return {"op": "≤", "left": limit, "right": "x"}


def written(folder: Path, **asked: Any) -> Path:
    (folder / "counter.jani").write_text(json.dumps(COUNTER), "utf-8")
    (folder / "net.nnet").write_text(NETWORK, "utf-8")
    (folder / "net.jani2nnet").write_text(json.dumps(WIRING), "utf-8")
    question = {"name": "q", "expression": {"op": "PA", **asked}}
    (folder / "asked.jani").write_text(json.dumps({"properties": [question]}), "utf-8")
    return folder / "asked.jani"


REACH = {"op": "state-condition", "exp": at_least(8)}


def starts_of(folder: Path, **asked: Any) -> set[tuple[int, bool]]:
    question = read_plaja_properties(folder / "counter.jani", written(folder, reach=REACH, **asked))["q"]
    return {(s["x"], s["b"]) for s in enumerate_initial_states(question.problem.environment, 100)}


def test_starts_are_a_condition_or_a_list_and_the_initial_state(tmp_path: Path) -> None:
    wrapped = {"op": "let", "variables": [], "expression": {"op": "=", "left": "x", "right": 4}}
    place = {"automaton": "a", "index": 0, "location": "here"}
    condition = {"op": "state-condition", "exp": wrapped, "locations": [place]}
    assert starts_of(tmp_path, start=condition) == {(0, False), (4, False), (4, True)}
    values = [{"variables": [{"var": "x", "value": v}]} for v in (3, 7)]
    assert starts_of(tmp_path, start={"op": "states-values", "values": values}) == {
        (0, False),
        (3, False),
        (7, False),
    }
    assert starts_of(tmp_path) == {(0, False)}


def test_files_beside_the_question_are_read(tmp_path: Path) -> None:
    (tmp_path / "reach.jani").write_text(json.dumps(REACH), "utf-8")
    (tmp_path / "some.jani").write_text(json.dumps([at_least(2), "b"]), "utf-8")
    path = written(
        tmp_path, reach={"file": "reach.jani"}, predicates={"file": "some.jani"}, file="net.jani2nnet"
    )
    question = read_plaja_properties(tmp_path / "counter.jani", path)["q"]
    assert [show_term(p) for p in question.predicates] == ["x >= 2", "b"]
    assert isinstance(question.problem.policy, NeuralPolicy)
    assert question.problem.policy.choose is Choose.ARGMAX
    assert {p.name for p in question.files} == {
        "asked.jani",
        "reach.jani",
        "some.jani",
        "net.jani2nnet",
        "net.nnet",
    }
    assert isinstance(Predicates().check(question.problem, Budget(20)), Holds)
    free = read_plaja_properties(tmp_path / "counter.jani", written(tmp_path, reach=REACH))["q"]
    assert isinstance(Predicates().check(free.problem, Budget(20)), Violated)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"start": {"op": "sampled"}}, "such start states are not supported"),
        ({"file": "net.nnet"}, "a policy without its wiring"),
        ({"predicates": {"file": "none.jani"}}, "none.jani"),
        ({"predicates": 3}, "a list of predicates is needed"),
        ({"reach": {"op": "state-condition", "exp": "y"}}, "y"),
        (
            {"start": {"op": "state-condition", "locations": [{"automaton": "a", "location": "there"}]}},
            "a start in `there`",
        ),
        ({"reach": {"op": "state-condition", "exp": {"op": "let", "variables": ["v"]}}}, "`let`"),
    ],
)
def test_what_is_not_read_is_said(tmp_path: Path, asked: dict[str, Any], words: str) -> None:
    path = written(tmp_path, **{"reach": REACH, **asked})
    with pytest.raises(SurefootError) as error:
        read_plaja_properties(tmp_path / "counter.jani", path)
    assert words in str(error.value)
    assert "`q`" in str(error.value)


INSTANCES = {
    "for_nn_sat": 2,
    "for_pa": 1,
    "for_pa2": 1,
    "for_pa_cegar": 3,
    "for_pa_cegar2": 2,
    "for_pa_cegar3": 2,
    "for_ppa_simple": 1,
    "for_solution_enumerator": 1,
    "for_to_z3": 1,
}


@pytest.mark.shared_data
@pytest.mark.parametrize(("name", "count"), INSTANCES.items())
def test_the_questions_of_the_instances_load(shared_data: Path, name: str, count: int) -> None:
    found = read_plaja_properties(shared_data / "jani" / "plaja" / f"{name}.jani")
    assert len(found) == count
    assert all(isinstance(q.problem.property, Never) for q in found.values())


@pytest.mark.shared_data
def test_blocksworld_has_the_abstract_starts_that_its_tests_expect(shared_data: Path) -> None:
    """The whole abstractions are built by `python -m benchmarks.plaja`."""
    questions = read_plaja_properties(*(shared_data / "jani" / "plaja" / part for part in SIX), goal=False)
    question = next(q for q in questions.values() if len(q.predicates) == 43)
    model = build_dynamics(question.problem)
    search = symbolic_search(model, frozenset(), Budget(100))
    assert len(search.expansion.ways) - search.expansion.moves == 203  # alternatives of the start condition
    for term in question.predicates:
        search.expansion.add(build_predicate(model, term, model.expand_predicate(term)))
    assert len(search.abstract_starts()) == EXPECTED[43][0]


def test_the_command_line_asks_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = {"op": "states-values", "values": [{"variables": [{"var": "x", "value": 3}]}]}
    path = written(tmp_path, reach=REACH, start=start, file="net.jani2nnet")
    command = ["check", str(tmp_path / "counter.jani"), "--engine", "predicates", "--quiet", "--property"]
    assert run_command_line([*command, str(path)]) == 0
    out = capsys.readouterr().out
    assert "proved" in out
    assert run_command_line([*command, f"{path}#q", "--json", str(tmp_path / "result.json")]) == 0
    capsys.readouterr()
    assert run_command_line(["certify", str(tmp_path / "result.json"), "--quiet"]) == 0
    assert run_command_line([*command, f"{path}#p"]) == 2
    assert "there is no question `p`" in capsys.readouterr().err


def test_a_question_of_the_model_itself_is_asked_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = {"op": "states-values", "values": [{"variables": [{"var": "x", "value": 3}]}]}
    written(tmp_path)
    asked = {"op": "PA", "reach": REACH, "start": start, "file": "net.jani2nnet"}
    plain = {"op": "PA", "reach": REACH}
    model = tmp_path / "whole.jani"
    properties = [{"name": "q", "expression": asked}, {"name": "plain", "expression": plain}]
    model.write_text(json.dumps({**COUNTER, "properties": properties}), "utf-8")
    command = ["check", str(model), "--engine", "predicates", "--quiet"]
    assert run_command_line([*command, "--property", "q", "--json", str(tmp_path / "result.json")]) == 0
    assert run_command_line(["certify", str(tmp_path / "result.json"), "--quiet"]) == 0
    capsys.readouterr()
    assert run_command_line(command) == 2  # `plain` names no policy
    assert "`plain` names no policy; fix: give one with --policy, or ask" in capsys.readouterr().err
    assert run_command_line([*command, "--no-policy"]) == 1
    capsys.readouterr()
    assert run_command_line([*command, "--property", "q"]) == 0
    assert (
        run_command_line([*command, "--property", "plain", "--no-policy"]) == 1
    )  # without a policy it reaches 8
    out = capsys.readouterr().out
    assert "there is no policy" in out
    assert "proved" in out
    assert "violated" in out
    broken = [{"name": "q", "expression": {**asked, "file": "none.jani2nnet"}}, properties[1]]
    model.write_text(json.dumps({**COUNTER, "properties": broken}), "utf-8")
    assert run_command_line([*command, "--property", "q"]) == 2
    assert "none.jani2nnet" in capsys.readouterr().err
    assert run_command_line([*command, "--property", "plain", "--no-policy"]) == 1
    both = [properties[0], {"name": "broken", "expression": {**asked, "file": "none.jani2nnet"}}]
    model.write_text(json.dumps({**COUNTER, "properties": both}), "utf-8")
    assert run_command_line([*command, "--property", "q"]) == 0
    for start in (
        {"op": "states-values", "values": [3]},
        {"op": "states-values", "values": [{"variables": [{"name": "x", "value": 3}]}]},
        {"op": "state-condition", "locations": [{"automaton": "a"}]},
        {"op": "let"},
    ):
        model.write_text(
            json.dumps({**COUNTER, "properties": [{"name": "q", "expression": {**asked, "start": start}}]})
        )
        capsys.readouterr()
        assert run_command_line([*command, "--property", "q"]) == 2
        assert "`q`" in capsys.readouterr().err


GOAL = {"op": "state-condition", "exp": {"op": "=", "left": "x", "right": 6}}
HIGH = "1,1,2,2,\n1,2,\n0,\n0,\n9,\n0,0,\n1,1,\n-1,\n1,\n9,\n-9,\n"  # up below 9.5


def test_runs_end_in_the_goal_of_the_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aims = {"op": "objective", "goal": GOAL, "step-reward": 1, "goal-reward": 10, "accumulate": ["steps"]}
    asked: dict[str, Any] = {"reach": REACH, "objective": aims, "file": "net.jani2nnet"}
    path = written(tmp_path, **asked)
    (tmp_path / "net.nnet").write_text(HIGH, "utf-8")  # it counts up to 9: past 6, then to 8
    question = read_plaja_properties(tmp_path / "counter.jani", path)["q"]
    assert show_property(question.problem.property) == "never x >= 8 before x = 6"
    command = ["check", str(tmp_path / "counter.jani"), "--quiet", "--property", str(path)]
    stored = tmp_path / "result.json"
    for engine in ((), ("--engine", "predicates"), ("--engine", "explicit")):
        assert run_command_line([*command, *engine, "--json", str(stored)]) == 0, engine
        out = capsys.readouterr().out
        assert "proved" in out
        assert "never x >= 8 before x = 6" in out
        assert "`accumulate`, `step-reward`, `goal-reward` of the objective say what training" in out
        assert run_command_line(["certify", str(stored)]) == 0
        assert "before the goal" in capsys.readouterr().out
    assert run_command_line([*command, "--ignore-goal", "--json", str(stored)]) == 1
    out = capsys.readouterr().out
    assert "runs go on beyond the goal of the objective, as asked" in out
    assert "before" not in out.splitlines()[0]
    assert run_command_line(["certify", str(stored), "--quiet"]) == 0
    (tmp_path / "objective.jani").write_text(json.dumps(aims), "utf-8")
    path = written(tmp_path, **asked | {"objective": {"file": "objective.jani"}})
    (tmp_path / "net.nnet").write_text(HIGH, "utf-8")
    assert run_command_line([*command, "--engine", "explicit"]) == 0
    path = written(tmp_path, reach=REACH, file="net.jani2nnet")
    assert run_command_line([*command, "--ignore-goal"]) == 2
    assert "--ignore-goal: no question has an objective" in capsys.readouterr().err


def test_a_violation_before_the_goal_is_found_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = {"op": "objective", "goal": {"op": "state-condition", "exp": at_least(9)}}
    path = written(tmp_path, reach=REACH, objective=late, file="net.jani2nnet")
    (tmp_path / "net.nnet").write_text(HIGH, "utf-8")
    stored = tmp_path / "result.json"
    command = ["check", str(tmp_path / "counter.jani"), "--quiet", "--property", str(path)]
    for engine in ("predicates", "bmc", "explicit"):
        assert run_command_line([*command, "--engine", engine, "--json", str(stored)]) == 1
        assert run_command_line(["certify", str(stored), "--quiet"]) == 0
    data = json.loads(stored.read_text("utf-8"))
    data["property"] = "never x >= 8 before x = 6"
    stored.write_text(json.dumps(data), "utf-8")
    assert run_command_line(["certify", str(stored), "--quiet"]) == 1


def test_predicates_of_the_file_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path, reach=REACH, file="net.jani2nnet", predicates=[at_least(3), at_least(6), at_least(8)]
    )
    command = ["check", str(tmp_path / "counter.jani"), "--quiet", "--property", str(path)]
    assert run_command_line([*command, "--engine", "predicates", "--fixed"]) == 0
    out = capsys.readouterr().out
    assert "3 predicates" in out
    assert "2 abstract states" in out
    assert run_command_line([*command, "--engine", "predicates", "--fixed", "--predicates", "x >= 8"]) in (
        0,
        3,
    )
    out = capsys.readouterr().out
    assert "1 predicate" in out
    assert "the 3 predicates of the question were replaced" in out
    assert run_command_line([*command, "--engine", "bmc"]) == 0
    assert "the 3 predicates of the question help `predicates` only" in capsys.readouterr().out


def test_choose_goes_with_a_question_that_names_its_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, reach=REACH, file="net.jani2nnet")
    stored = tmp_path / "result.json"
    command = ["check", str(tmp_path / "counter.jani"), "--quiet", "--property", str(path)]
    assert run_command_line([*command, "--choose", "argmax-applicable", "--json", str(stored)]) == 0
    assert run_command_line(["certify", str(stored), "--quiet"]) == 0
    capsys.readouterr()
    stalls = ["check", str(tmp_path / "counter.jani"), "--quiet", "--property", "never stalled"]
    assert (
        run_command_line([*stalls, "--policy", str(tmp_path / "net.jani2nnet"), "--actions", "down,up"]) == 1
    )
    assert run_command_line([*command, "--actions", "down,top"]) == 2  # the question's own policy is wired so
    assert "`top`" in capsys.readouterr().err
    path = written(tmp_path, reach=REACH)
    assert run_command_line([*command, "--choose", "argmax-applicable"]) == 2
    assert "there is no network that could be wired" in capsys.readouterr().err
    assert run_command_line([*command, "--no-policy", "--choose", "argmax"]) == 2
    assert "there is no policy that --choose could be about" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"until": REACH}, "until"),
        ({"start": {"op": "state-condition", "exp": True, "when": 1}}, "when"),
        ({"start": {"op": "states-values", "values": [], "weights": []}}, "weights"),
        ({"start": {"op": "states-values", "values": [{"variables": [], "odds": 1}]}}, "odds"),
        (
            {"start": {"op": "states-values", "values": [{"variables": [{"var": "x", "value": 1, "p": 1}]}]}},
            "p",
        ),
        ({"reach": {**REACH, "unless": True}}, "unless"),
        ({"objective": {"op": "objective", "goal": GOAL, "avoid": REACH}}, "avoid"),
        ({"objective": {"op": "objective", "goal": {**GOAL, "then": 1}}}, "then"),
    ],
)
def test_a_key_that_would_be_left_out_is_an_error(tmp_path: Path, asked: dict[str, Any], key: str) -> None:
    path = written(tmp_path, **{"reach": REACH, "file": "net.jani2nnet", **asked})
    with pytest.raises(SurefootError, match=f"unknown key `{key}`"):
        read_plaja_properties(tmp_path / "counter.jani", path)


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 0.9},
        {"input": [{"automaton": None, "name": "x", "scale": 2}]},
        {"input": [{"automaton": {"name": "a", "index": 0, "kind": 1}, "name": "x"}]},
        {"elements": [7]},
    ],
)
def test_a_wiring_with_parts_that_mean_nothing_is_an_error(tmp_path: Path, change: dict[str, Any]) -> None:
    path = written(tmp_path, reach=REACH, file="net.jani2nnet")
    (tmp_path / "net.jani2nnet").write_text(json.dumps(WIRING | change), "utf-8")
    with pytest.raises(SurefootError, match=r"unknown key|hidden layers"):
        read_plaja_properties(tmp_path / "counter.jani", path)
