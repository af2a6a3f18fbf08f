"""Terms and properties as text that reads back as the same value."""

from surefoot.problem.show.properties import show_property
from surefoot.problem.show.terms import brief, show, show_name

__all__ = ["brief", "show", "show_name", "show_property"]
