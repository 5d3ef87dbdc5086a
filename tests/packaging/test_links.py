"""Every link between pages leads to a file that is there, and every page can be reached."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def linked(page):
    """The files that a page links to."""
    text = page.read_text(encoding="utf-8")
    links = [found[1] for found in LINK.finditer(text) if not found[1].startswith("http")]
    return [(link, (page.parent / link).resolve()) for link in links]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    assert [link for link, target in linked(page) if not target.exists()] == []


def test_every_page_is_linked_from_the_readme_or_from_a_page_that_is():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            todo += [target for _, target in linked(page) if target.exists()]
    assert [page.name for page in PAGES if page.parent.name == "docs" and page not in reached] == []
