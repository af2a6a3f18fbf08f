"""From text to terms and properties; the grammar is in `docs/reference/syntax.md`."""

from surefoot.problem.parse.properties import parse_property
from surefoot.problem.parse.terms import parse_term

__all__ = ["parse_property", "parse_term"]
