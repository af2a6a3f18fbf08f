"""Sine and cosine of a row in machine code without branches, within one unit in the last place.

The angle is reduced by the nearest multiple of pi/2, given as a sum of three numbers of which the first two
have 33 bits, so that their products with a whole number of 20 bits are exact. On what is left, up to pi/4, the
polynomials of fdlibm are evaluated. Larger angles are flagged and left to others.
"""

from __future__ import annotations

import struct

from surefoot.work.machine.llvm_ir import IrFunction

LARGEST_REDUCED = float(2**20)  # angles up to this
SINE_DECLARATIONS = "declare double @llvm.rint.f64(double)\n"
_PARTS_OF_PI = ("0x3FF921FB54400000", "0x3DD0B4611A600000", "0x3BA3198A2E037073")  # of pi / 2
_TWO_BY_PI = "0x3FE45F306DC9C883"
_SINE = (
    "0xBFC5555555555549",
    "0x3F8111111110F8A6",
    "0xBF2A01A019C161D5",
    "0x3EC71DE357B1FE7D",
    "0xBE5AE5E68A2B9CEB",
    "0x3DE5D93A5ACFD57C",
)
_COSINE = (
    "0x3FA555555555554C",
    "0xBF56C16C16C15177",
    "0x3EFA01A019CB1590",
    "0xBE927E4F809C52AD",
    "0x3E21EE9EBDB4B1C4",
    "0xBDA8FAE9BE8838D4",
)


def write_sine(f: IrFunction, angle: str, *, cosine: bool) -> tuple[str, str]:
    """The value, and whether the angle is too large for it (or no number)."""
    largest = f"0x{struct.unpack('<Q', struct.pack('<d', LARGEST_REDUCED))[0]:016X}"
    size = f.value(f"call double @llvm.fabs.f64(double {angle})")
    large = f.value(f"fcmp ugt double {size}, {largest}")
    x = f.value(f"select i1 {large}, double 0.0, double {angle}")
    times = f.value(f"call double @llvm.rint.f64(double {_multiply(f, x, _TWO_BY_PI)})")
    high, low = _reduce_angle(f, x, times)
    sine, even = _sine_polynomial(f, high, low), _cosine_polynomial(f, high, low)
    quarter = f.value(f"fptosi double {times} to i32")
    if cosine:
        quarter = f.value(f"add i32 {quarter}, 1")
    odd = f.value(f"icmp ne i32 {f.value(f'and i32 {quarter}, 1')}, 0")
    negative = f.value(f"icmp ne i32 {f.value(f'and i32 {quarter}, 2')}, 0")
    value = f.value(f"select i1 {odd}, double {even}, double {sine}")
    return f.value(f"select i1 {negative}, double {f.value(f'fneg double {value}')}, double {value}"), large


def _multiply(f: IrFunction, left: str, right: str) -> str:
    return f.value(f"fmul double {left}, {right}")


def _add(f: IrFunction, left: str, right: str) -> str:
    return f.value(f"fadd double {left}, {right}")


def _subtract(f: IrFunction, left: str, right: str) -> str:
    return f.value(f"fsub double {left}, {right}")


def _reduce_angle(f: IrFunction, x: str, times: str) -> tuple[str, str]:
    """x - times pi/2 as a sum of two numbers."""
    first, second, third = (_multiply(f, times, part) for part in _PARTS_OF_PI)
    rest = _subtract(f, x, first)
    finer = _subtract(f, rest, second)
    missed = _subtract(f, _subtract(f, rest, finer), second)
    small = _subtract(f, third, missed)
    high = _subtract(f, finer, small)
    return high, _subtract(f, _subtract(f, finer, high), small)


def _polynomial(f: IrFunction, z: str, coefficients: tuple[str, ...]) -> str:
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = _add(f, coefficient, _multiply(f, z, total))
    return total


def _sine_polynomial(f: IrFunction, x: str, y: str) -> str:
    z = _multiply(f, x, x)
    v = _multiply(f, z, x)
    r = _polynomial(f, z, _SINE[1:])
    half = _multiply(f, y, "0.5")
    inner = _subtract(f, _multiply(f, z, _subtract(f, half, _multiply(f, v, r))), y)
    return _subtract(f, x, _subtract(f, inner, _multiply(f, v, _SINE[0])))


def _cosine_polynomial(f: IrFunction, x: str, y: str) -> str:
    z = _multiply(f, x, x)
    r = _multiply(f, z, _polynomial(f, z, _COSINE))
    half = _multiply(f, z, "0.5")
    w = _subtract(f, "1.0", half)
    rest = _subtract(f, _subtract(f, "1.0", w), half)
    return _add(f, w, _add(f, rest, _subtract(f, _multiply(f, z, r), _multiply(f, x, y))))
