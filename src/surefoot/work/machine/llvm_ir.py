"""LLVM IR as text: functions that are written line by line, with blocks, loops and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

IrOperand: TypeAlias = str | int
OVERFLOWING = "\n".join(
    f"declare {{i64, i1}} @llvm.{op}.with.overflow.i64(i64, i64)" for op in ("sadd", "ssub", "smul")
)


class IrFunction:
    """A function being written. Values are `%v7` or literals, also as numbers; `fail` returns a status."""

    def __init__(self, name: str, parameters: str, returns: str = "i64", *, internal: bool = False) -> None:
        linkage = "internal " if internal else ""
        self.name = name
        self._lines = [f"define {linkage}{returns} @{name}({parameters}) nounwind {{", "entry:"]
        self._count = 0
        self._failures: dict[int, str] = {}
        self._places: list[str] = []
        self.block = "entry"
        self.ended = False

    def value(self, text: str) -> str:
        """The value of an instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self.do(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        assert not self.ended, text
        self._lines.append("  " + text)
        self.ended = text.startswith(("br ", "ret ", "switch "))

    def label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        """Continue in a new block; the previous one falls through unless it has ended."""
        if not self.ended:
            self.do(f"br label %{label}")
        self._lines.append(f"{label}:")
        self.block, self.ended = label, False

    def fail(self, condition: str, status: int) -> None:
        """Return a status if the condition holds."""
        if condition == "false":
            return
        after, place = self.label(), self._failures.setdefault(status, f"fail{status}")
        self.do(f"br i1 {condition}, label %{place}, label %{after}")
        self.begin(after)

    def pass_on(self, status: str) -> None:
        """Return a status that is not zero."""
        bad = self.value(f"icmp ne i64 {status}, 0")
        with self.when(bad):
            self.do(f"ret i64 {status}")

    def variable(self, start: str = "0") -> str:
        """A local i64 that can be read and set; allocated once, in the first block."""
        self._count += 1
        name = f"%p{self._count}"
        self._places.append(f"  {name} = alloca i64")
        self.set_variable(name, start)
        return name

    def get(self, place: str) -> str:
        return self.value(f"load i64, ptr {place}")

    def set_variable(self, place: str, value: str) -> None:
        self.do(f"store i64 {value}, ptr {place}")

    def at(self, base: str, index: IrOperand, kind: str = "i64") -> str:
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, base: str, index: IrOperand, kind: str = "i64") -> str:
        return self.value(f"load {kind}, ptr {self.at(base, index, kind)}")

    def store(self, base: str, index: IrOperand, value: str, kind: str = "i64") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(base, index, kind)}")

    def add(self, left: IrOperand, right: IrOperand) -> str:
        return self.value(f"add i64 {left}, {right}")

    def sub(self, left: IrOperand, right: IrOperand) -> str:
        return self.value(f"sub i64 {left}, {right}")

    def mul(self, left: IrOperand, right: IrOperand) -> str:
        return self.value(f"mul i64 {left}, {right}")

    def compare(self, how: str, left: str, right: str) -> str:
        return self.value(f"icmp {how} i64 {left}, {right}")

    def checked_arithmetic(self, op: str, left: str, right: str, status: int) -> str:
        """`sadd`, `ssub` or `smul`; fails where 64 bits are not enough."""
        pair = self.value(f"call {{i64, i1}} @llvm.{op}.with.overflow.i64(i64 {left}, i64 {right})")
        self.fail(self.value(f"extractvalue {{i64, i1}} {pair}, 1"), status)
        return self.value(f"extractvalue {{i64, i1}} {pair}, 0")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        then, after = self.label(), self.label()
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.begin(then)
        yield
        self.begin(after)

    @contextmanager
    def loop(self) -> Iterator[str]:
        """For ever; leave it by `leave(label)` with the label given."""
        head, after = self.label(), self.label()
        self.begin(head)
        yield after
        if not self.ended:
            self.do(f"br label %{head}")
        self._lines.append(f"{after}:")
        self.block, self.ended = after, False

    def leave(self, condition: str, label: str) -> None:
        after = self.label()
        self.do(f"br i1 {condition}, label %{label}, label %{after}")
        self.begin(after)

    @contextmanager
    def count(self, start: str, stop: str) -> Iterator[str]:
        """For each number from start to stop - 1."""
        place = self.variable(start)
        with self.loop() as after:
            number = self.get(place)
            self.leave(self.compare("sge", number, stop), after)
            yield number
            if not self.ended:
                self.set_variable(place, self.add(self.get(place), "1"))

    def text(self) -> str:
        lines = [self._lines[0], self._lines[1], *self._places, *self._lines[2:]]
        for status, place in self._failures.items():
            lines += [f"{place}:", f"  ret i64 {status}"]
        return "\n".join([*lines, "}"])
