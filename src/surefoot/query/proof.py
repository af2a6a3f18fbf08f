"""Evidence that nothing satisfies a query: the cases of a certificate (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """`cases` over the names of the lowered query, which `claim` writes out; plain JSON data throughout.

    `arithmetic` says for which evaluation of the networks it holds: "float32" or "real".
    """

    claim: Json
    arithmetic: str
    cases: tuple[Json, ...]
