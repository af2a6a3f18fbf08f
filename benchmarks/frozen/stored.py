"""A folder of certificates with the files that they name, numbered in the order in which they were made."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Content = dict[str, Any]
MOST_CHARACTERS = 6_000_000  # of one certificate, not gzipped


@dataclass(frozen=True, slots=True)
class Made:
    """A certificate and where it comes from; `true`: whether its claim is, as far as the source knows.

    `files` are those that it names, by the text with which it does.
    """

    source: str
    rule: str
    text: str
    true: bool | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """What `verdicts.json` says of a stored certificate, beside the verdict."""

    name: str
    kind: str
    source: str
    rule: str
    true: bool | None


class Store:
    """Writes certificates; the same text is not written twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Entry] = []
        self._seen: set[str] = set()

    def add(self, made: Made) -> bool:
        text = made.text
        for named, data in made.files.items():
            stored = f"{hashlib.sha256(data).hexdigest()[:16]}{_suffix(named)}"
            text = text.replace(json.dumps(named), json.dumps(stored))
            (self.folder / stored).write_bytes(data)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in self._seen or len(text) > MOST_CHARACTERS:
            return False
        self._seen.add(digest)
        name = f"{len(self.entries):04d}.json.gz"
        packed = gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)
        (self.folder / name).write_bytes(packed)
        self.entries.append(Entry(name, kind_of(text), made.source, made.rule, made.true))
        return True

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()
        self.entries = [entry for entry in self.entries if entry.name != name]


def _suffix(named: str) -> str:
    """Whether a file is unpacked depends on how its name ends."""
    name = Path(named).name
    return "".join(Path(name).suffixes[-2:]) if name.endswith(".gz") else Path(name).suffix


def kind_of(text: str) -> str:
    """Claim and argument in a few words: `execution, never, induction`, `barrier, continuous, shield`."""
    try:
        claim = json.loads(text)["claim"]
        return ", ".join(_words(claim))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "unreadable"


def _words(claim: Any) -> Iterator[str]:
    kind = claim["kind"]
    yield str(kind)
    if kind in ("execution", "graph", "process", "recurrence"):
        asked = claim["problem"]["property"]
        yield str(asked["kind"])
        if kind == "process":
            yield "bounded" if asked.get("bounds") or asked.get("steps") is not None else "unbounded"
            yield "values" if asked["over"] == "values" else "folded"
        if "before" in asked:
            yield "before"
        if "argument" in claim:
            yield str(claim["argument"]["kind"])
    if kind in ("barrier", "convergence"):
        yield "continuous" if "time" in claim["system"] else "steps"
        if claim["system"]["shield"] is not None:
            yield "shield"


def find_certificates(data: object) -> Iterator[Content]:
    """All that a result file contains."""
    waiting = [data]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "surefoot-certificate" in part:
                yield part
            else:
                waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def find_files(certificate: Content, base: Path) -> dict[str, bytes]:
    """The files that a certificate names, by the text with which it does."""
    found: dict[str, bytes] = {}
    waiting: list[object] = [certificate["claim"]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(named := part.get("file"), str) and "sha256" in part:
                found[named] = (base / named).read_bytes()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def write_entries(file: Path, entries: list[Entry], verdicts: Mapping[str, Mapping[str, Any]]) -> None:
    rows = [{**asdict(entry), **verdicts[entry.name]} for entry in entries]
    file.write_text(json.dumps({"certificates": rows}, indent=1) + "\n", encoding="utf-8")
