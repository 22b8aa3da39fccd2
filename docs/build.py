"""Build the site: run the examples of its pages, make the HTML, check every link.

Run: pip install ".[docs]" && python docs/build.py [--no-run] [--out build/docs]

Nothing is read from the network. The exit code is 1 where a page shows something else than its
examples print, where Sphinx warns, where a link or an anchor leads nowhere, and where a page would
load something from elsewhere.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).resolve().parent
TOOLS = DOCS / "tools"
sys.path.insert(0, str(TOOLS))

from check_links import faults  # noqa: E402
from run_page import PAGES  # noqa: E402


def check_page(name: str) -> str:
    """Run the examples of a page in a process of their own; return what is wrong, or nothing."""
    command = [sys.executable, str(TOOLS / "run_page.py"), "--check", str(DOCS / name)]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{name}: {'FAILS' if done.returncode else 'as shown'}", flush=True)
    return f"{name}\n{done.stdout}{done.stderr}" if done.returncode else ""


def check_pages() -> bool:
    """Run all pages that have examples, two at a time; print what is wrong."""
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        found = [wrong for wrong in pool.map(check_page, PAGES) if wrong]
    print(*found, sep="\n")
    return not found


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-run", action="store_true", help="do not run the examples of pages")
    parser.add_argument("--out", type=Path, default=DOCS.parent / "build" / "docs")
    given = parser.parse_args()
    if not given.no_run and not check_pages():
        return 1
    sphinx = ["-W", "--keep-going", "-q", "-E", "-b", "html", str(DOCS), str(given.out)]
    if build_main(sphinx):
        return 1
    found = faults(given.out)
    print(*found, sep="\n")
    if not found:
        print(f"The site is in {given.out}; begin with index.html.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
