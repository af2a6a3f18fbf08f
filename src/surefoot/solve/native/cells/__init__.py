"""Thousands of small questions over one network, answered together."""

from surefoot.solve.native.cells.batch import answer
from surefoot.solve.native.cells.grid import Table, tabulated
from surefoot.solve.native.cells.questions import Answers, Outcome, Questions, System, chooses

__all__ = ["Answers", "Outcome", "Questions", "System", "Table", "answer", "chooses", "tabulated"]
