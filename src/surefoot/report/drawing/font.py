"""Letters of 5 by 9 pixels for pictures that have no fonts: seven rows, and two below the base line.

A row is a digit to base 32 (0-9, A-V), its highest bit the left pixel. Small letters that hang below the base
line have nine rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT, BELOW = 5, 7, 2

GLYPHS = {
    " ": "0000000", "!": "4444404", '"': "AA00000", "#": "AAVAVAA", "$": "4FKE5U4", "%": "OP248J3",
    "&": "CIK8LID", "'": "4400000", "(": "2488842", ")": "8422248", "*": "04LELL4", "+": "044V440",
    ",": "0000044" + "80", "-": "000E000", ".": "0000004", "/": "0124880", "0": "EHJLPHE", "1": "4C4444E",
    "2": "EH1248V", "3": "V2421HE", "4": "26AIV22", "5": "VGU11HE", "6": "68GUHHE", "7": "V124888",
    "8": "EHHEHHE", "9": "EHHF12C", ":": "0040040", ";": "0040044" + "80", "<": "248G842", "=": "00V0V00",
    ">": "8421248", "?": "EH12404", "@": "EH1DLLE", "A": "EHHVHHH", "B": "UHHUHHU", "C": "EHGGGHE",
    "D": "SIHHHIS", "E": "VGGUGGV", "F": "VGGUGGG", "G": "EHGNHHF", "H": "HHHVHHH", "I": "E44444E",
    "J": "72222IC", "K": "HIKOKIH", "L": "GGGGGGV", "M": "HRLLHHH", "N": "HHPLJHH", "O": "EHHHHHE",
    "P": "UHHUGGG", "Q": "EHHHLID", "R": "UHHUKIH", "S": "FGGE11U", "T": "V444444", "U": "HHHHHHE",
    "V": "HHHHHA4", "W": "HHHLLLA", "X": "HHA4AHH", "Y": "HHHA444", "Z": "V1248GV", "[": "E88888E",
    "\\": "0G84210", "]": "E22222E", "^": "4AH0000", "_": "000000V", "`": "8400000", "a": "00E1FHF",
    "b": "GGMPHHU", "c": "00EGGHE", "d": "11DJHHF", "e": "00EHVGE", "f": "698S888", "g": "00FHHHF" + "1E",
    "h": "GGMPHHH", "i": "40C444E", "j": "2062222" + "IC", "k": "GGIKOKI", "l": "C44444E", "m": "00QLLLL",
    "n": "00MPHHH", "o": "00EHHHE", "p": "00UHHHU" + "GG", "q": "00FHHHF" + "11", "r": "00MPGGG",
    "s": "00FGE1U", "t": "88S8896", "u": "00HHHJD", "v": "00HHHA4", "w": "00HHLLA", "x": "00HA4AH",
    "y": "00HHHHF" + "1E", "z": "00V248V", "{": "2448442", "|": "4444444", "}": "8442448", "~": "008L200",
    "…": "000000L", "·": "0004000", "∞": "00ALLA0", "×": "00HA4AH", "–": "000V000", "−": "000E000",
    "≤": "248420E", "≥": "842480E", "²": "C24E000",
}  # fmt: skip


@cache
def glyph_pixels(letter: str) -> NDArray[np.bool_]:
    """Which pixels of a letter are set; a question mark stands for what is not in the font."""
    rows = [int(digit, 32) for digit in GLYPHS.get(letter, GLYPHS["?"])]
    rows += [0] * (HEIGHT + BELOW - len(rows))
    return np.array([[bool(row >> (WIDTH - 1 - i) & 1) for i in range(WIDTH)] for row in rows])
