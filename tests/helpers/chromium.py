"""Debian's chromium from the command line: what a page logs, asks for, and looks like."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY_NOT = "chromium is not installed (Debian: apt-get install chromium)"
OWN = (".google.com", ".googleapis.com", ".gvt1.com")  # what the browser asks for by itself
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


def run(folder: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page once, with a profile of its own."""
    command = [PROGRAM, *QUIET, f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def opened(folder: Path, page: Path, *options: str) -> tuple[str, list[str], list[str]]:
    """Return the page's elements as built, its console lines, and the addresses it asked for."""
    log = folder / "net.json"
    more = ("--dump-dom", "--enable-logging=stderr", f"--log-net-log={log}", *options)
    outcome = run(folder, page, *more)
    console = [line for line in outcome.stderr.splitlines() if "CONSOLE" in line]
    return outcome.stdout, console, requests(log)


def requests(log: Path) -> list[str]:
    """Return the addresses in a net log that are not files, data or the browser's own."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip().rstrip(",")
    content = json.loads(text if text.endswith("}") else text + "]}")
    found = {
        str(event["params"]["url"])
        for event in content["events"]
        if isinstance(event.get("params"), dict) and "url" in event["params"]
    }
    outside = [url for url in found if url.startswith(("http", "ws", "ftp"))]
    return sorted(url for url in outside if not (urlsplit(url).hostname or "").endswith(OWN))
