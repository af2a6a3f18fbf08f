"""Where the files of a stored result are: their names are told from the folder of the result.

So a folder with model, network and result can be moved, and its evidence checked from anywhere. A file that
was named by its whole path and does not lie in that folder keeps its name: it does not move with the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from surefoot.formats.gymnasium.gym_name import names_gym_model

_FILES = (
    "model",
    "policy",
    "normalize",
    "property_file",
    "network",
    "specification",
)  # keys of `source` that name files


def result_relative_to(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The document of a result, or of several, with the names of its files as seen from a folder."""
    if isinstance(document.get("results"), list):
        return {**document, "results": [result_relative_to(one, folder) for one in document["results"]]}
    source = document.get("source", {})
    named = [*document.get("inputs", {}), *(source[k] for k in _FILES if isinstance(source.get(k), str))]
    names = {name: _relative_name(folder, name) for name in named}
    asked, mark, of_file = str(source.get("property", "")).partition("#")
    if mark and asked in document.get("inputs", {}):  # a question of another file
        names[f"{asked}#{of_file}"] = f"{names[asked]}#{of_file}"
    return {
        **_rename_in_claims(document, lambda name: names.get(name, name)),
        "inputs": {names[name]: digest for name, digest in document.get("inputs", {}).items()},
        "source": {k: names.get(v, v) if k in (*_FILES, "property") else v for k, v in source.items()},
    }


def certificate_relative_to(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same of a certificate by itself."""
    return {
        **content,
        "claim": _rename_files(content.get("claim"), lambda name: _relative_name(folder, name)),
    }


def find_base_folder(inputs: Mapping[str, str], folders: Sequence[Path]) -> Path | None:
    """The first of these folders from which the files are seen, as they were; else one where all exist."""
    there = [folder for folder in folders if all((folder / name).is_file() for name in inputs)]
    same = (
        f
        for f in there
        if all(sha256((f / name).read_bytes()).hexdigest() == digest for name, digest in inputs.items())
    )
    return next(same, there[0] if there else None)


def _relative_name(folder: Path, name: str) -> str:
    if names_gym_model(name):  # no file
        return name
    whole = Path(os.path.abspath(name))
    home = Path(os.path.abspath(folder))
    if os.path.isabs(name) and not whole.is_relative_to(home):
        return name
    return os.path.relpath(whole, home)


def _rename_in_claims(value: Any, rename: Callable[[str], str]) -> Any:
    """With other names in every claim; proofs are long and name no files."""
    if isinstance(value, Mapping):
        return {
            key: _rename_files(part, rename) if key == "claim" else _rename_in_claims(part, rename)
            for key, part in value.items()
        }
    if isinstance(value, list) and any(isinstance(part, Mapping) for part in value[:1]):
        return [_rename_in_claims(part, rename) for part in value]
    return value


def _rename_files(value: Any, rename: Callable[[str], str]) -> Any:
    """With other names of files, which stand beside their digests."""
    if isinstance(value, Mapping):
        found = {key: _rename_files(part, rename) for key, part in value.items()}
        is_file = isinstance(value.get("file"), str) and "sha256" in value
        return {**found, "file": rename(value["file"])} if is_file else found
    return [_rename_files(part, rename) for part in value] if isinstance(value, list | tuple) else value
