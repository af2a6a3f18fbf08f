"""Files that are written: at once or not at all."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from surefoot.errors import InvalidProblem


def compact_json(content: Mapping[str, object], path: str) -> str | bytes:
    """JSON without spaces, compressed if the name of the file asks for it."""
    text = json.dumps(content, separators=(",", ":")) + "\n"
    return gzip.compress(text.encode(), mtime=0) if path.endswith(".gz") else text


def write_file(target: Path, content: str | bytes) -> None:
    """Write at once or not at all: an interrupted or full disk leaves the old file intact."""
    data = content.encode() if isinstance(content, str) else content
    temporary: str | None = None
    try:
        if target.exists() and not target.is_file():  # a pipe or a device is written to, never replaced
            target.write_bytes(data)
            return
        target = target.resolve()  # what a link points to, not the link
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # as any other new file; temporary files are private
        os.replace(temporary, target)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InvalidProblem(f"`{target}` cannot be written: {error.strerror}") from None
        raise
