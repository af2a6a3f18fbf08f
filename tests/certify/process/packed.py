"""Packed values of certificates as lists, and back."""

import zlib
from base64 import b64decode, b64encode
from itertools import accumulate, pairwise
from typing import Any

NONE = (1 << 32) - 1


def read_vector(entry: dict[str, Any]) -> list[int]:
    raw, width = zlib.decompress(b64decode(entry["data"])), entry["width"]
    return [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]


def write_vector(values: list[int]) -> dict[str, Any]:
    width = max(1, (max(values, default=0).bit_length() + 7) // 8)
    width = next((w for w in (1, 2, 4, 8) if width <= w), width)
    raw = b"".join(v.to_bytes(width, "little") for v in values)
    return {"width": width, "data": b64encode(zlib.compress(raw)).decode()}


def unpack_side(side: dict[str, Any]) -> dict[str, Any]:
    """Its vectors as lists, the states as numbers."""
    found = {name: read_vector(side[name]) for name in ("state", "low", "high", "rank")}
    return {"scale": int(side["scale"], 16), **found, "state": list(accumulate(found["state"]))}


def pack_side(side: dict[str, Any]) -> dict[str, Any]:
    steps = side["state"][:1] + [b - a for a, b in pairwise(side["state"])]
    vectors = {"state": steps, "low": side["low"], "high": side["high"], "rank": side["rank"]}
    written = {name: write_vector(values) for name, values in vectors.items()}
    return {"states": len(steps), "scale": hex(side["scale"]), **written}
