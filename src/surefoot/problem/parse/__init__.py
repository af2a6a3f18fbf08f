"""From text to terms and properties; the grammar is in `docs/reference/syntax.md`."""

from surefoot.problem.property_parser import parse_property
from surefoot.term.parser import parse_term

__all__ = ["parse_property", "parse_term"]
