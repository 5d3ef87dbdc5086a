"""Hooks of mkdocs: pages made from the code, links to files that are not pages, the navigation.

Nothing that these pages show is written here: they are printed by the code of this checkout.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import flowchart  # noqa: E402
import pages  # noqa: E402

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from the code, and fill the navigation's empty places."""
    made = pages.generated()
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    howto = sorted(f.src_uri for f in files.documentation_pages() if f.src_uri.startswith("howto/"))
    fill(config.nav, "How to", sorted(howto, key=lambda uri: (not uri.endswith("index.md"), uri)))
    fill(config.nav, "Reference", pages.navigation(made))
    return files


def fill(nav: Any, title: str, entries: list[Any]) -> None:
    """Put the entries into the navigation's section of that title."""
    for item in nav:
        if title in item:
            item[title] = entries
            return
    raise KeyError(title)


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """A link to a file outside docs/ becomes its path, since the site has no such page; flowcharts
    become pictures."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        if target.startswith("docs/"):
            return found[0]
        if target in pages.HOMES:
            home = posixpath.relpath(pages.HOMES[target], posixpath.dirname(page.file.src_uri))
            return f"[{found[1]}]({home}{found[3] or ''})"
        if not (ROOT / target).exists():
            raise ValueError(f"{page.file.src_uri}: {target} is not there")
        label = found[1].strip("`")
        return f"`{target}`" if label in (target, posixpath.basename(target)) else (
            f"{found[1]} (`{target}`)"
        )  # fmt: skip

    return flowchart.drawn(LINK.sub(replaced, markdown))
