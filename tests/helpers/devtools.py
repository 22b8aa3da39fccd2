"""Pages in headless chromium, driven over the DevTools protocol: one pipe, no packages."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY_NOT = "chromium is not installed (Debian: apt-get install chromium)"
SECONDS = 300.0  # that an answer may take on a busy machine
BEGIN = ("Page.enable", "Runtime.enable", "Log.enable", "Network.enable")
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Chromium:
    """A browser with a profile of its own and one tab.

    A new tab would start a process and take three times as long as the page itself.

    Commands and answers are JSON texts that end in a zero byte, on file descriptors 3 and 4 of
    the program.
    """

    def __init__(self, folder: Path) -> None:
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        options = [*QUIET, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]
        self._program = subprocess.Popen(
            [str(PROGRAM), *options, "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=lambda: [os.dup2(end, at) for at, end in enumerate(ends, 3)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (read, write, *ends):
            os.close(end)
        self._number, self._rest = 0, b""
        self._events: dict[str, list[dict[str, Any]]] = {}  # by session

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.terminate()
        self._program.wait(20)
        os.close(self._to)
        os.close(self._from)

    def tab(self, width: int = 1200, height: int = 900) -> Tab:
        """Take the one tab, as if it were fresh; leave it before you take it again."""
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, session, self._events.setdefault(session, []), width, height)

    def call(self, method: str, session: str = "", **given: Any) -> dict[str, Any]:
        """Return the answer to a command; what pages report meanwhile is kept."""
        self._number += 1
        sent: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if session:
            sent["sessionId"] = session
        os.write(self._to, json.dumps(sent).encode() + b"\0")
        while (found := self.read()).get("id") != self._number:
            pass
        assert "error" not in found, found["error"]
        return found["result"]

    def read(self) -> dict[str, Any]:
        """Wait for the next message; an event is kept for its tab."""
        until = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0.0))
            assert ready, "the browser does not answer"
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        found = json.loads(text)
        if "method" in found:
            self._events.setdefault(found.get("sessionId", ""), []).append(found)
        return found


class Tab:
    """A tab; `events` has everything that its page reported."""

    def __init__(
        self, program: Chromium, session: str, events: list[Any], width: int, height: int
    ) -> None:
        self._program, self._session, self.events = program, session, events
        for method in BEGIN:
            self.call(method)
        self.resize(width, height)

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind: what was emulated ends with the session."""
        self.open("about:blank")
        self.call("Storage.clearDataForOrigin", origin="file://", storageTypes="all")
        self._program.call("Target.detachFromTarget", sessionId=self._session)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Return the answer to a command."""
        return self._program.call(method, self._session, **given)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size, in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def emulate(self, scheme: str = "light", media: str = "") -> None:
        """Ask for a colour scheme, or for the page as it is printed."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, page: Path | str) -> None:
        """Open a page and wait until it has loaded."""
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self._program.read()

    def value(self, expression: str) -> Any:
        """Return what an expression gives in the page; promises are awaited."""
        given = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        found = self.call("Runtime.evaluate", **given)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def complaints(self) -> list[str]:
        """Return what the page logged, threw or asked in a dialog: nothing, of a good page."""
        loud = ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")
        named = [e for e in self.events if e["method"] in (*loud, "Runtime.consoleAPICalled")]
        return [json.dumps(event["params"]) for event in named]

    def requests(self) -> list[str]:
        """Return the outside addresses that the page asked for, without what its policy blocked."""
        sent, blocked = {}, set()
        for event in self.events:
            given = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                sent[given["requestId"]] = given["request"]["url"]
            elif event["method"] == "Network.loadingFailed" and given.get("blockedReason"):
                blocked.add(given["requestId"])
        asked = (url for number, url in sent.items() if number not in blocked)
        return sorted(url for url in asked if not url.startswith(("file:", "data:", "about:")))

    def picture(self, path: Path, whole: bool = False) -> None:
        """Save a picture of the window, or of the whole page."""
        given = {"captureBeyondViewport": whole, **self._clip(whole)}
        taken = self.call("Page.captureScreenshot", **given)
        path.write_bytes(base64.b64decode(taken["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "scale": 1, **{k: size[k] for k in ("width", "height")}}}

    def printed(self, path: Path) -> None:
        """Save the page as it prints."""
        given = {"printBackground": True, "preferCSSPageSize": True}
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", **given)["data"]))
