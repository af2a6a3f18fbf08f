"""Terms and properties as text that reads back as the same value."""

from surefoot.problem.property_printer import show_property
from surefoot.term.printer import abbreviate_term, show_name, show_term

__all__ = ["abbreviate_term", "show_name", "show_property", "show_term"]
