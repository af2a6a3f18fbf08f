"""Problem files: environment, policy and properties in TOML (`docs/reference/problem-file.md`)."""

from surefoot.formats.problem_file.reader import find_property_lines, read_problem_file, read_problems
from surefoot.formats.problem_file.writer import write_problem_file, write_problems

__all__ = [
    "find_property_lines",
    "read_problem_file",
    "read_problems",
    "write_problem_file",
    "write_problems",
]
