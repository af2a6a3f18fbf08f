"""What a search found, as a part of an HTML page: in words, as a picture and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surefoot.report.search_plots import verdicts_svg
from surefoot.report.search_report import describe_start_groups, trial_evidence
from surefoot.term.printer import show_term
from surefoot.term.term import Const
from surefoot.verdict.artifact import Invariant, SafeStarts, TippingPoint, Trial
from surefoot.visible import escape_html


def search_html(artifact: object) -> str:
    """Tipping points, invariants and sorted starts; anything else has no picture."""
    match artifact:
        case TippingPoint():
            return _tipping_point_html(artifact)
        case Invariant():
            return _invariant_html(artifact)
        case SafeStarts():
            return html_table(("answer", "starts"), describe_start_groups(artifact))
        case _:
            return ""


def _tipping_sentences(found: TippingPoint) -> list[str]:
    """Where the property holds and where not, as sentences with the inequality in them."""
    bound = found.statement.rpartition(" ")[0]  # the terms and the relation, without the value
    words = ["It is proved at no value that was asked."]
    if found.proved is not None:
        words = [f"Proved with {found.statement}: {trial_evidence(found.proved)}."]
    if found.refuted is None:
        words.append("It is violated at no value that was asked.")
    else:
        other = f"{bound} {show_term(Const(found.refuted.value))}"
        words.append(f"Violated with {other}: {trial_evidence(found.refuted)}.")
    if found.proved is not None and found.refuted is not None:
        ends = sorted((found.proved.value, found.refuted.value))
        between = " and ".join(show_term(Const(v)) for v in ends)
        words.append(
            f"The tipping point lies between {between}; nothing is said about the values between them."
        )
    if found.stopped:
        words.append(f"The gap is wider than {show_term(Const(found.precision))}: {found.stopped}.")
    return words


def _tipping_point_html(found: TippingPoint) -> str:
    order = sorted(enumerate(found.trials, 1), key=lambda pair: pair[1].value)
    rows = [_trial_row(number, trial) for number, trial in order]
    words = "".join(f"<p>{escape_html(sentence)}</p>" for sentence in _tipping_sentences(found))
    head = ("value", "verdict", "evidence", "seconds", "question")
    return f"{words}\n{verdicts_svg(found)}\n{html_table(head, rows)}"


def _trial_row(number: int, trial: Trial) -> tuple[str, ...]:
    return (
        show_term(Const(trial.value)),
        trial.answer,
        trial_evidence(trial) if trial.answer in ("proved", "refuted") else "none",
        f"{trial.seconds:.2f}",
        str(number),
    )


def _invariant_html(found: Invariant) -> str:
    shown = [
        (o.name, "certified" if o.certified else "not certified", f"{o.seconds:.2f}")
        for o in found.obligations
    ]
    whole = all(o.certified for o in found.obligations)
    state = "a certificate that the checker accepts" if whole else "the word of a solver, at least in part"
    kept = f"<code>{escape_html(show_term(found.condition))}</code>"
    words = (
        f"<p>No run leaves {kept}: every start satisfies it, no step leads out of it, and no bad state "
        f"satisfies it. Each of these rests on {state}.</p>"
    )
    tried = html_table(("candidate", "what became of it"), found.candidates)
    return f"{words}\n{html_table(('obligation', 'state', 'seconds'), shown)}\n{tried}"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f'<th class="text">{escape_html(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td class="text">{escape_html(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f'<div class="table"><table><tr>{titles}</tr>{body}</table></div>'


def preformatted_html(text: str) -> str:
    """Lines as the command prints them."""
    shown = "\n".join(map(escape_html, text.split("\n")))
    return f'<pre class="table">{shown}</pre>'
