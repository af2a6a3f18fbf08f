"""A headless Chromium that is told what to do through two pipes, in its own remote-debugging language."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1200,900",
    "--remote-debugging-pipe",
)  # fmt: skip
SECONDS = 60.0


class Browser:
    """One page. Commands are numbered JSON objects, each ended by a zero byte."""

    def __init__(self, write: int, read: int) -> None:
        self.write, self.read, self.buffer, self.number = write, read, b"", 0
        self.requests: list[str] = []
        self.session: str | None = None

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; what the page asks of a network meanwhile is noted."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._message()
            if told.get("method") == "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
            if told.get("id") == self.number:
                assert "error" not in told, told
                answer: dict[str, Any] = told["result"]
                return answer

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            assert select([self.read], [], [], SECONDS)[0], "the browser does not answer"
            part = os.read(self.read, 1 << 16)
            assert part, "the browser has ended"
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def open(self, path: Path) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.evaluate(
            "new Promise(r => document.readyState == 'complete' ? r() : addEventListener('load', r))"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def mouse(self, kind: str, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, ended in any case."""
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    command = f'exec chromium {" ".join(OPTIONS)} --user-data-dir="$1" about:blank 3<&{to_read} 4>&{to_write}'
    process = subprocess.Popen(
        ["bash", "-c", command, "chromium", str(profile)],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Browser(write, read)
    finally:
        os.close(write)
        os.close(read)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
