"""VNN-LIB 1: specifications of single network queries, and witnesses in the form of the competition."""

from surefoot.formats.vnnlib.file import read_vnnlib_file
from surefoot.formats.vnnlib.parse import parse_vnnlib
from surefoot.formats.vnnlib.problem import no_float32_point, problem_from_vnnlib
from surefoot.formats.vnnlib.specification import Specification
from surefoot.formats.vnnlib.witness import VnnlibWitness, read_witness, witness_text
from surefoot.formats.vnnlib.write import write_vnnlib

__all__ = [
    "Specification",
    "VnnlibWitness",
    "no_float32_point",
    "parse_vnnlib",
    "problem_from_vnnlib",
    "read_vnnlib_file",
    "read_witness",
    "witness_text",
    "write_vnnlib",
]
