"""A browser without a window, driven over a pipe by the DevTools protocol: enough to look at one page.

Messages are JSON with a NUL after each; the browser reads them from file descriptor 3 and answers on 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--no-default-browser-check", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 600.0  # seconds for one answer, on a busy machine


def find() -> str | None:
    """The browser to use: TERCET_BROWSER, or the first of the usual names on the path."""
    if os.name != "posix":
        return None
    named = os.environ.get("TERCET_BROWSER")
    if named:
        return shutil.which(named)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one tab.

    Attributes
    ----------
    console : what the page said: console messages, exceptions that nobody caught, entries of the log.
    requests : addresses that the page asked for.
    """

    def __init__(self, path: str) -> None:
        self.console: list[str] = []
        self.requests: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="tercet-browser-", ignore_cleanup_errors=True)
        self._number = 0
        self._buffer = b""
        self._events: list[str] = []
        self._session: str | None = None
        import fcntl  # not on Windows, where `find` finds nothing

        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        # Out of the way first, so that neither is overwritten when they become 3 and 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (their_in, their_out)]
        self._process = os.posix_spawn(
            path,
            [path, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
            ],
        )
        for end in (their_in, their_out, *ends):
            os.close(end)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = None
            self._send("Browser.close")
        except OSError:
            pass  # it is gone already
        for end in (self._in, self._out):
            os.close(end)
        deadline = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            time.sleep(0.05)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        number = self._send(method, **parameters)
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def open(self, file: Path, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Show a file in a window of this size and colour scheme, and wait until it is loaded."""
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._receive()

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """Write what is seen as PNG."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _send(self, method: str, **parameters: Any) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        return self._number

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"the browser has said nothing for {PATIENCE:g} s")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise ConnectionError("the browser has ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        if "method" in message:
            self._note(message["method"], message["params"])
        return message

    def _note(self, event: str, about: dict[str, Any]) -> None:
        self._events.append(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            words = (str(argument.get("value", argument.get("description"))) for argument in about["args"])
            self.console.append(f"{about['type']}: {' '.join(words)}")
        elif event == "Runtime.exceptionThrown":
            thrown = about["exceptionDetails"]
            self.console.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif event == "Page.javascriptDialogOpening":
            self.console.append(f"dialog: {about['message']}")
        elif event == "Log.entryAdded":
            self.console.append(f"{about['entry']['level']}: {about['entry']['text']}")
