"""Chromium without a window, for measurements, pictures and tests.

It is driven by its DevTools protocol over two pipes: no driver, no socket, no dependency.

    with Chromium.start(scratch) as browser:
        page = browser.open("file:///…/report.html")
        page.run("document.title")

`BROWSER` is None where there is none; tests skip then, and say so. Requests, dialogs and messages of the console are
kept, so that a test can ask what a page tried.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
WHY_NOT = "there is no chromium; Debian has it in its package of that name"

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_TIMEOUT_S = 120.0
_LEFT_WORDS = ("navigated or closed", "context was destroyed", "Cannot find context", "Promise was collected")


class BrowserError(Exception):
    """The browser said no, or nothing in time."""


class PageLeftError(BrowserError):
    """The page was left for another one while a script ran in it."""


class Chromium:
    """A running browser with an empty profile of its own."""

    def __init__(self, process: subprocess.Popen[bytes], read_fd: int, write_fd: int) -> None:
        self._process, self._read_fd, self._write_fd = process, read_fd, write_fd
        self._waiting = b""
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []

    @classmethod
    def start(cls, scratch: Path) -> Chromium:
        """Start one; its profile lies in `scratch`."""
        assert BROWSER is not None, WHY_NOT
        given, to_browser = os.pipe()
        from_browser, taken = os.pipe()
        from_us, to_us = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (given, taken))  # none of them is 3 or 4
        command = [BROWSER, *FLAGS, f"--user-data-dir={scratch / 'profile'}", "about:blank"]
        launch = [sys.executable, "-c", _LAUNCH, str(from_us), str(to_us), *command]
        environment = {**os.environ, "HOME": str(scratch)}
        process = subprocess.Popen(
            launch,
            pass_fds=(from_us, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        for fd in (given, taken, from_us, to_us):
            os.close(fd)
        return cls(process, from_browser, to_browser)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own group: nobody else's
            self._process.wait()
        os.close(self._read_fd)
        os.close(self._write_fd)

    def open(self, address: str = "about:blank", *, width: int = 1280, height: int = 900) -> Page:
        """Open a page; its requests, dialogs and console are watched from the start."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.resize(width, height)
        if address != "about:blank":
            page.go(address)
        return page

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            asked["sessionId"] = session
        os.write(self._write_fd, json.dumps(asked).encode() + b"\0")
        number, deadline = self._number, time.monotonic() + _TIMEOUT_S
        while number not in self._answers:
            self.listen(deadline - time.monotonic())
        answer = self._answers.pop(number)
        if "error" in answer:
            why = str(answer["error"].get("message"))
            left = any(words in why for words in _LEFT_WORDS)
            raise (PageLeftError if left else BrowserError)(f"{method}: {why}")
        return dict(answer["result"])

    def listen(self, timeout_s: float) -> None:
        """Take in what the browser says next."""
        if timeout_s <= 0 or not select.select([self._read_fd], [], [], timeout_s)[0]:
            raise BrowserError("the browser said nothing in time")
        block = os.read(self._read_fd, 1 << 20)
        if not block:
            raise BrowserError("the browser has ended")
        *messages, self._waiting = (self._waiting + block).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self.events.append(message)
                if message["method"] == "Page.javascriptDialogOpening":  # else the page would wait for ever
                    self._number += 1
                    asked = {"id": self._number, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
                    os.write(self._write_fd, json.dumps({**asked, "sessionId": message["sessionId"]}).encode() + b"\0")


class Page:
    """A page in a browser."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self.browser, self._session = browser, session

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something about this page."""
        return self.browser.send(method, self._session, **parameters)

    def go(self, address: str) -> None:
        """Go to an address; waits for nothing but the answer."""
        self.send("Page.navigate", url=address)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Give the page another size, in pixels."""
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.send("Emulation.setDeviceMetricsOverride", **sizes, mobile=mobile)

    def run(self, script: str) -> Any:
        """Run a script in the page, waiting where it gives a promise; gives its value.

        Raises:
            BrowserError: the script failed.
        """
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details.get("text"))
        return answer["result"].get("value")

    def wait(self, condition: str, timeout_s: float = _TIMEOUT_S) -> None:
        """Wait until a condition holds in the page, or in the one that takes its place."""
        deadline = time.monotonic() + timeout_s
        while not self._holds(condition):
            if time.monotonic() > deadline:
                raise BrowserError(f"this does not come true: {condition}")
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(f"Boolean({condition})"))
        except PageLeftError:
            return False  # the next page is asked

    def press(self, key: str, **more: Any) -> None:
        """Press a key; a single character is typed as well."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, **code, **more)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def click(self, x: float, y: float) -> None:
        """Click at a place."""
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """Save what is in sight as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def events(self, method: str) -> list[dict[str, Any]]:
        """What the browser told of this page so far, of one kind."""
        told = [event for event in self.browser.events if event["method"] == method]
        return [event["params"] for event in told if event.get("sessionId") == self._session]
