"""Every link between pages leads to a file and a heading, and every page can be reached."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
MADE = {ROOT / "docs" / name for name in ("limits.md", "changelog.md", "notebook.md")}
HEADING = re.compile(r"^#+ +(.+?) *$", flags=re.MULTILINE)


def prose(page):
    """The text of a page without its blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def slug(heading):
    """The anchor of a heading, as GitHub and MkDocs agree to make it of words and digits."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@cache
def anchors(page):
    return {slug(found[1]) for found in HEADING.finditer(prose(page))}


def linked(page):
    """The files that a page links to, each with the anchor (None without one).

    Left to the build of the site, where such a link that leads nowhere is an error: what is made
    there.
    """
    links = [found for found in LINK.finditer(prose(page)) if not found[1].startswith("http")]
    targets = [(f[0], (page.parent / f[1]).resolve() if f[1] else page, f[2]) for f in links]
    return [t for t in targets if t[1] not in MADE and ROOT / "docs/reference" not in t[1].parents]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert [link for link, target, _ in linked(page) if not target.exists()] == []
    named = [(link, to, anchor) for link, to, anchor in linked(page) if anchor is not None]
    assert [link for link, to, anchor in named if anchor not in anchors(to)] == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ('What "proved" means', "what-proved-means"),
        ("A pass of one's own", "a-pass-of-ones-own"),
        ("The rungs at 8192^3", "the-rungs-at-81923"),
        ("Known-bad schedules", "known-bad-schedules"),
    ],
)
def test_anchors_are_those_of_headings(heading, anchor):
    assert slug(heading) == anchor


def test_every_page_is_linked_from_the_readme_or_from_a_page_that_is():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            todo += [target for _, target, _ in linked(page) if target.exists()]
    docs = [page for page in PAGES if ROOT / "docs" in page.parents]
    assert [page.name for page in docs if page not in reached] == []
