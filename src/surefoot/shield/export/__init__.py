"""Programs and shields as source code that needs nothing: a Python module, and C99."""

from surefoot.shield.export.action_shield import ActionExample, ActionTable, c_actions, python_actions
from surefoot.shield.export.c_code import GuardExample, c_source
from surefoot.shield.export.guard import ShieldGuard, guard_of
from surefoot.shield.export.python_code import python_source

__all__ = [
    "ActionExample",
    "ActionTable",
    "GuardExample",
    "ShieldGuard",
    "c_actions",
    "c_source",
    "guard_of",
    "python_actions",
    "python_source",
]
