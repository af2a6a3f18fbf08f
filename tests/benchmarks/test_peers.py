"""The table of public verifiers: what counts as decided, and what is said about our own column."""

from benchmarks.public_verifiers import NAMES, published, seconds

from benchmarks import peers


def row(answer: str, cells: tuple[str, ...], **more: object) -> peers.Row:
    found = {"family": "acasxu", "name": "1_1 prop_1", "expected": "unsat", "peers": cells, "answer": answer}
    return found | {"seconds": 0.5, "contradiction": False, "memory": 1e8} | more


def test_every_row_has_all_columns() -> None:
    rows = published()
    assert len(rows) == 43
    assert all(len(r.cells) == len(NAMES) and r.answer in ("sat", "unsat", "open") for r in rows)
    assert [seconds(c) for c in ("T", "E", "-", "46.48W", "0.05")] == [None, None, None, None, 0.05]


def test_medians_count_what_is_not_decided_as_the_limit() -> None:
    rows = [row("unsat", ("2.0", "T", "-", "-")), row("timeout", ("T", "1.0", "-", "-"), seconds=61.0)]
    text = "\n".join(peers.summary(rows))
    assert "| acasxu | 2, 1 / 1, 31.00 / 30.25 | 2, 1 / 1, 30.50 / 30.25 | – | – |" in text
    assert "decided 1 of 2; wrong answers 0" in text


def test_evidence() -> None:
    certified = row(
        "unsat", ("1", "1", "1", "1"), bytes=52000, arithmetic="proved", check="accepted", check_seconds=0.25
    )
    assert peers.evidence(certified) == "proved, 52 kB, 0.25 s"
    assert "refused" in peers.evidence({**certified, "check": "refused: no"})
    assert peers.evidence(row("unsat", ("1",) * 4)) == "none"
    assert peers.cell(row("unsat", ("1",) * 4, contradiction=True)) == "0.50 WRONG"
    assert "| 100 |" in peers.markdown([certified], memory=True)
