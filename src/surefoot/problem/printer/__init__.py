"""Terms and properties as text that reads back as the same value."""

from surefoot.problem.printer.properties import show_property
from surefoot.problem.printer.terms import abbreviate_term, show_name, show_term

__all__ = ["abbreviate_term", "show_name", "show_property", "show_term"]
