"""Programs and shields as source code that needs nothing: a Python module, and C99."""

from surefoot.shields.export.action_shield import ActionExample, ActionTable, c_actions, python_actions
from surefoot.shields.export.c_code import GuardExample, c_source
from surefoot.shields.export.guard import ShieldGuard, find_export_obstacle, guard_of
from surefoot.shields.export.python_code import python_source

__all__ = [
    "ActionExample",
    "ActionTable",
    "GuardExample",
    "ShieldGuard",
    "c_actions",
    "c_source",
    "find_export_obstacle",
    "guard_of",
    "python_actions",
    "python_source",
]
