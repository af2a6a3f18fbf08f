"""From LLVM IR to machine code, with a cache of object files in the user's cache folder.

A cached file is named by the SHA-256 of everything it depends on: the IR, the versions of llvmlite and LLVM,
and the processor. It is used only if it and its folder belong to the user and nobody else can write there; a
cache that cannot be read or written is the same as none.
"""

from __future__ import annotations

import ctypes
import os
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

_MOST_FILES = 200


class Machine:
    """Compiled functions; keep it as long as they are called."""

    def __init__(self, engine: Any, cached: bool) -> None:
        self._engine = engine
        self.cached = cached

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))

    def function(self, name: str) -> Any:
        """A function from the address of the table to a status."""
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.address(name))


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "surefoot" / "objects"


def compile_llvm_ir(text: str, folder: Path | None, level: int) -> Machine:
    """The functions of a module in machine code, optimised (level 2) or as written (level 0).

    `folder`: where object files are kept, None for nowhere.
    """
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = f"{llvmlite.__version__} {llvm.llvm_version_info} {processor} {features} {level}"
    name = sha256(f"{versions}\n{text}".encode()).hexdigest() + ".o"
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=processor, features=features, opt=level, jit=True, codemodel="jitdefault"
    )
    stored = None if folder is None else _read_cached(folder / name)
    code = _emit_object(llvm, text, target, level) if stored is None else stored
    if stored is None and folder is not None:
        _write_cached(folder, name, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Machine(engine, stored is not None)


def _emit_object(llvm: Any, text: str, target: Any, level: int) -> bytes:
    module = llvm.parse_assembly(text)
    module.verify()
    if not level:
        return bytes(target.emit_object(module))
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


def _is_private(path: Path) -> bool:
    found = path.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read_cached(path: Path) -> bytes | None:
    """A file that only the user can have written, followed by its own digest."""
    try:
        if not (_is_private(path.parent) and _is_private(path) and stat.S_ISREG(path.lstat().st_mode)):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    code, digest = content[:-32], content[-32:]
    return code if sha256(code).digest() == digest else None


def _write_cached(folder: Path, name: str, code: bytes) -> None:
    """Put a file into its place at once, so that nobody sees half of it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return
        handle, draft = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(code + sha256(code).digest())
            os.replace(draft, folder / name)
            _evict_old_files(folder)
        except OSError:
            with suppress(OSError):
                os.unlink(draft)


def _evict_old_files(folder: Path) -> None:
    """Of too many files, the older half goes."""
    files = sorted(folder.glob("*.o"), key=lambda path: path.stat().st_mtime)
    if len(files) > _MOST_FILES:
        for path in files[: len(files) // 2]:
            path.unlink(missing_ok=True)
