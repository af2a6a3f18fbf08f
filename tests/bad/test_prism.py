"""Each bad PRISM file or question is refused in one line that says where, what and how to fix it."""

import time
from pathlib import Path
from random import Random

import pytest
from tests.bad.make_prism import MODELS, QUESTIONS, BadPrism, write_prism

from surefoot.errors import SurefootError
from surefoot.formats.model_file import read_model
from surefoot.formats.prism import read_prism
from surefoot.formats.prism.questions import parse_prism_question
from surefoot.formats.prism_model import prism_question_scope


@pytest.mark.parametrize("bad", MODELS, ids=lambda bad: bad.name)
def test_a_model_is_refused_in_one_line(bad: BadPrism, tmp_path: Path) -> None:
    path = write_prism(bad, tmp_path)
    started = time.process_time()
    given = tuple(f"{n}={v}" for n, v in bad.constants.items())
    with pytest.raises(SurefootError) as caught:
        read_model(path, constants=given, properties=(bad.question,))
    assert time.process_time() - started < 2
    error = caught.value
    assert str(error) == (bad.message if bad.message.startswith("--const") else f"{path}{bad.message}")
    assert error.exit_code == 2
    assert str(error).isprintable()


@pytest.mark.parametrize("bad", QUESTIONS, ids=lambda bad: bad.name)
def test_a_question_is_refused_in_one_line(bad: BadPrism, tmp_path: Path) -> None:
    known = prism_question_scope(read_prism(write_prism(bad, tmp_path)))
    with pytest.raises(SurefootError) as caught:
        parse_prism_question(bad.question, known)
    assert str(caught.value) == bad.message


def test_names_are_unique() -> None:
    assert len({bad.name for bad in (*MODELS, *QUESTIONS)}) == len(MODELS) + len(QUESTIONS)


def test_damaged_files_are_refused_without_a_traceback(tmp_path: Path) -> None:
    whole = QUESTIONS[0].text
    random = Random(1)
    path = tmp_path / "damaged.nm"
    for _ in range(400):
        first = random.randrange(len(whole))
        inserted = random.choice(["", "", ";", "(", "'", "[", "endmodule", "1e9", "é", "\x00", '"', "//"])
        path.write_text(whole[:first] + inserted + whole[first + random.randrange(6) :], encoding="utf-8")
        if (error := _refusal(path)) is not None:
            assert error.exit_code == 2
            assert str(error).isprintable()


def _refusal(path: Path) -> SurefootError | None:
    try:
        read_prism(path)
    except SurefootError as error:
        return error
    return None


def test_deep_and_long_expressions_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "deep.nm"
    for body in ("(" * 5000 + "x" + ")" * 5000, "-" * 5000 + "1", "!" * 5000 + "true", "x?" * 5000 + "1"):
        path.write_text(f"mdp\nmodule m x : [0..3]; [] {body}=0 -> true; endmodule\n", encoding="utf-8")
        with pytest.raises(SurefootError, match=r"levels|expected|parentheses"):
            read_prism(path)
    long = " | ".join(f"x={n % 4}" for n in range(5000))
    path.write_text(f"mdp\nmodule m x : [0..3]; [] {long} -> true; endmodule\n", encoding="utf-8")
    assert read_prism(path).kind == "mdp"


def test_a_missing_file_with_properties_is_named_once(tmp_path: Path) -> None:
    model, asked = tmp_path / "a.prism", tmp_path / "none.props"
    model.write_text(QUESTIONS[0].text, encoding="utf-8")
    with pytest.raises(SurefootError) as caught:
        read_model(model, property_file=asked)
    assert str(caught.value) == f"{asked}: there is no such file; fix: check the path"


def test_properties_of_other_models_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(SurefootError, match="only PRISM models have files with properties"):
        read_model(file, property_file=tmp_path / "a.props")
