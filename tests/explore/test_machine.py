"""Object files are cached where only the user can write, and anything else is ignored."""

import os
from pathlib import Path

import pytest

from surefoot.explore.llvm.exploration_kernel import exploration_kernel_text
from surefoot.work.machine.jit import cache_folder, compile_llvm_ir

SMALL = "define i64 @answer(ptr %table) {\n  ret i64 42\n}\n"


def answer(folder: Path | None) -> bool:
    machine = compile_llvm_ir(SMALL, folder, level=2)
    assert machine.function("answer")(0) == 42
    return machine.cached


def test_the_second_time_it_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "objects"
    assert not answer(folder)
    assert answer(folder)
    assert not answer(None)
    assert folder.stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_not_used(tmp_path: Path) -> None:
    answer(tmp_path)
    (stored,) = tmp_path.iterdir()
    content = stored.read_bytes()
    stored.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    assert not answer(tmp_path)
    assert answer(tmp_path)


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    answer(tmp_path)
    os.chmod(tmp_path, 0o777)
    assert not answer(tmp_path)
    os.chmod(tmp_path, 0o700)
    (stored,) = tmp_path.iterdir()
    os.chmod(stored, 0o666)
    assert not answer(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert not answer(tmp_path / "file" / "objects")


def test_old_files_go(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"{number}.o").write_bytes(b"")
    answer(tmp_path)
    assert len(list(tmp_path.iterdir())) < 150
    assert answer(tmp_path)


def test_the_folder_follows_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "surefoot" / "objects"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "surefoot" / "objects"


def test_the_kernel_is_the_same_for_all_models() -> None:
    assert exploration_kernel_text() == exploration_kernel_text()
