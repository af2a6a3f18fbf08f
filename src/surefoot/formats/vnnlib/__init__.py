"""VNN-LIB 1: specifications of single network queries, and witnesses in the form of the competition."""

from surefoot.formats.vnnlib.parse import parse_vnnlib, read_vnnlib_file
from surefoot.formats.vnnlib.specification import (
    Specification,
    no_float32_point,
    problem_from_vnnlib,
    write_vnnlib,
)
from surefoot.formats.vnnlib.witness import VnnlibWitness, read_witness, witness_text

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
