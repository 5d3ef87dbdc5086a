"""The check of the built site finds what it is for; `.ci/run` builds the site and runs it."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "_build" / "links.py"
spec = importlib.util.spec_from_file_location("docs_links", SCRIPT)
links = importlib.util.module_from_spec(spec)
spec.loader.exec_module(links)


@pytest.fixture
def site(tmp_path):
    """Two pages; what is given stands in the first."""

    def made(body):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "index.html").write_text("<h2 id='here'>x</h2>", encoding="utf-8")
        (tmp_path / "index.html").write_text(body, encoding="utf-8")
        return list(links.faults(tmp_path))

    return made


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<a href='gone/'>x</a>", "index.html: gone/ leads nowhere"),
        ("<a href='other/#there'>x</a>", "index.html: other/#there: no such place in the page"),
        ("<a href='#there'>x</a>", "index.html: #there: no such place in the page"),
        ("<img src='gone.png'>", "index.html: gone.png leads nowhere"),
        (
            "<script src='https://cdn.example/x.js'></script>",
            "index.html: https://cdn.example/x.js is loaded from elsewhere",
        ),
    ],
)
def test_faults_are_told(site, body, said):
    assert site(body) == [said]


def test_good_links_are_left_alone(site):
    body = (
        "<link rel='canonical' href='https://project.example/'><p id='up'></p>"
        "<a href='other/#here'>x</a><a href='#up'>x</a><a href='https://elsewhere.example/'>x</a>"
    )
    assert site(body) == []
