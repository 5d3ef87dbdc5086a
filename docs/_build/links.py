"""Checks the built site: ``python docs/_build/links.py SITE``.

Every link inside the site leads to a page, and to an id where it names one; nothing that a page
loads comes from elsewhere.  Links to other sites are not followed: a build needs no network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
NOT_LOADED = {"canonical", "prev", "next"}


class PageParser(HTMLParser):
    """The ids of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        for name, value in given.items():
            if (tag, name) in LOADED and given.get("rel") not in NOT_LOADED:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def parsed(file: Path) -> PageParser:
    """What stands in an HTML file."""
    parser = PageParser()
    parser.feed(file.read_text(encoding="utf-8"))
    return parser


def faults(site: Path) -> Iterator[str]:
    """One line for each link that leads nowhere, and for each thing from elsewhere."""
    pages = {file.resolve(): parsed(file) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        if file.name == "404.html":  # its links are absolute
            continue
        for link in (*page.links, *page.loaded):
            where = f"{file.relative_to(site.resolve())}: {link}"
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    yield f"{where} is loaded from elsewhere"
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{where} leads nowhere"
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].ids:
                    yield f"{where}: no such place in the page"


def main() -> None:
    """Exit 1 with the faults."""
    site = Path(sys.argv[1])
    found = list(faults(site))
    count = sum(1 for _ in site.rglob("*.html"))
    print("\n".join([*found, f"{count} pages, {len(found)} faulty links"]))
    raise SystemExit(1 if found or not count else 0)


if __name__ == "__main__":
    main()
