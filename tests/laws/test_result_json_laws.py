"""Reading what was written gives the same result, through real JSON text."""

import json
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.formats.result_json import Annotation, result_from_json, result_to_json
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import Move
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Violated,
)

texts = st.text(max_size=8)
steps = st.none() | st.integers(0, 99)
doubles = st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
numbers = st.one_of(st.integers(), st.fractions(), st.integers().map(lambda n: Fraction(n, 2**600)))
scalars = st.one_of(st.booleans(), numbers, doubles)
states = st.dictionaries(texts, st.one_of(scalars, st.lists(scalars, max_size=3).map(tuple)), max_size=3)
data = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), doubles, texts),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
certificates = st.builds(Certificate, texts, st.dictionaries(texts, data, max_size=2))
counts = st.integers(0, 9)
moves = st.builds(
    Move,
    st.builds(Transition, st.lists(st.tuples(counts, counts), max_size=2).map(tuple), st.none() | texts),
    st.lists(counts, max_size=2).map(tuple),
    states,
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    taken = tuple(draw(st.lists(moves, max_size=3)))
    passed = tuple(draw(st.lists(states, min_size=len(taken) + 1, max_size=len(taken) + 1)))
    return Trace(passed, taken, draw(st.none() | st.integers(0, len(taken))))


intervals = st.tuples(st.fractions(), st.fractions()).map(sorted)
flat = st.one_of(
    st.builds(Proved, certificates, st.sampled_from(("proved", "proved-real"))),
    st.builds(Violated, traces()),
    st.builds(Holds, steps, texts, st.booleans()),
    st.builds(
        lambda i, *rest: Estimated(*i, *rest),
        intervals,
        st.fractions(0, 1),
        st.dictionaries(texts, counts),
        texts,
        st.none() | st.fractions(),
    ),
    st.builds(lambda i, c: Exact(*i, c), intervals, certificates),
    st.builds(Found, data, st.none() | certificates),
    st.builds(Vacuous, texts),
    st.builds(Unknown, st.sampled_from(Reason), texts, steps, texts),
)
tables = st.lists(st.tuples(states, flat), max_size=2).map(lambda rows: PerStart(tuple(rows)))
results = st.builds(
    Result,
    problem=texts,
    engine=texts,
    verdict=flat | tables,
    certified=st.booleans(),
    arithmetic=texts,
    seed=st.integers(),
    versions=st.dictionaries(texts, texts, max_size=2),
    inputs=st.dictionaries(texts, st.just("0f" * 32), max_size=2),
    seconds=st.floats(0, 1e6),
    timings=st.dictionaries(texts, st.floats(0, 1e6), max_size=2),
    notes=st.lists(texts, max_size=2).map(tuple),
    source=st.dictionaries(texts, data, max_size=2),
)
floats = st.lists(singles, max_size=3).map(tuple)
annotations = st.builds(Annotation, floats, floats, st.lists(texts).map(tuple), states, st.booleans())


def types(value: Any) -> Any:
    """The value with its types, so that 1, True and 1.0 differ; whole fractions count as whole numbers."""
    if isinstance(value, tuple | list):
        return [types(v) for v in value]
    if isinstance(value, dict):
        return {k: types(v) for k, v in value.items()}
    kind = type(value)
    return int if kind is Fraction and value.denominator == 1 else kind, str(value)


@given(results)
def test_reading_gives_back_what_was_written(result: Result) -> None:
    stored = result_from_json(json.loads(json.dumps(result_to_json(result))))
    assert stored.result == result
    if isinstance(result.verdict, Violated):
        assert stored.trace is not None
        assert types(stored.trace.states) == types(result.verdict.trace.states)


@given(traces(), st.lists(st.none() | annotations, max_size=3))
def test_annotations_come_back_bit_for_bit(trace: Trace, notes: list[Annotation | None]) -> None:
    result = Result("p", "e", Violated(trace), True, "exact", 0, {}, {}, 0.0)
    stored = result_from_json(json.loads(json.dumps(result_to_json(result, notes))))
    assert stored.annotations == tuple(notes)
    assert [n and [v.hex() for v in n.outputs] for n in stored.annotations] == [
        n and [v.hex() for v in n.outputs] for n in notes
    ]


@given(results, st.data())
def test_a_changed_document_is_read_or_refused_in_one_line(result: Result, draw: st.DataObject) -> None:
    document: Any = json.loads(json.dumps(result_to_json(result)))
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draw.draw(st.booleans()):
            break
        place = inner
    place[key] = draw.draw(data)
    try:
        result_from_json(document)
    except SurefootError as error:
        refused = str(error)
        assert len(refused.splitlines()) == 1
