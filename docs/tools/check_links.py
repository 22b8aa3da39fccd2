"""Check the built site: links and anchors lead somewhere, nothing is loaded from elsewhere."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"img", "script", "source", "iframe", "video", "audio", "embed", "object"}
REMOTE_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")


@dataclass
class Page(HTMLParser):
    """The anchors of a page, where it links to and what it loads."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of a tag."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload", "preconnect"}:
            self.loads.add(given.get("href", ""))
        if tag in LOADS:
            self.loads |= {given[name] for name in ("src", "data") if name in given}


def faults(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere and each load from elsewhere."""
    pages = {
        path.resolve(): Page(path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = []
    for page in pages.values():
        name = page.path.relative_to(site)
        for address in sorted(page.links | page.loads):
            fault = _fault(page, address, pages)
            if fault:
                found.append(f"{name}: {address}: {fault}")
    styles = [
        f"{style.relative_to(site)}: loads something from elsewhere"
        for style in sorted(site.rglob("*.css"))
        if REMOTE_STYLE.search(style.read_text(encoding="utf-8"))
    ]
    return found + styles


def _fault(page: Page, address: str, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        if address in page.loads:
            return "is loaded from elsewhere"
        well_formed = parts.scheme in {"http", "https"} and "." in parts.netloc
        return None if well_formed or parts.scheme == "mailto" else "is no address"
    target = page.path.parent / unquote(parts.path) if parts.path else page.path
    if not target.is_file():
        return "leads nowhere"
    goal = pages.get(target.resolve())
    if parts.fragment and goal and unquote(parts.fragment) not in goal.anchors:
        return "has no such anchor"
    return None
