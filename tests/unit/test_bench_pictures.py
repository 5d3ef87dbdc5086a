"""The table and the plot of a results file."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from schedgen.bench.plot import LEFT, svg
from schedgen.bench.results_json import from_json
from tests.command_line import schedgen

FILE = Path(__file__).parents[1] / "golden" / "bench_two_shapes.json"
SVG = "{http://www.w3.org/2000/svg}"


def results():
    return from_json(json.loads(FILE.read_text()), name=str(FILE))


def test_tables_fit_a_terminal():
    lines = schedgen("bench", "--show", FILE).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip() or "\x1b" in line] == []


def test_without_predictions_there_is_no_column(tmp_path):
    plain = replace(results(), entries=tuple(replace(e, predicted={}) for e in results().entries))
    from schedgen.bench.results_json import to_text

    file = tmp_path / "r.json"
    file.write_text(to_text(plain))
    assert "predicted" not in schedgen("bench", "--show", file).out
    assert "predicted" in schedgen("bench", "--show", FILE).out


def test_bars_are_as_long_as_the_numbers():
    root = ET.fromstring(svg(results(), baseline="torch.matmul"))
    bars = [r for r in root.iter(f"{SVG}rect") if r.get("class") in ("bar", "peer")]
    widths = [float(r.get("width")) for r in bars]
    times = [
        sorted(s.times("burst", e.label))[4]
        for s in results().shapes
        for e in results().on(s.shape)
        if s.times("burst", e.label)
    ]
    assert len(bars) == len(times) == 11
    here = [w * t for w, t in zip(widths, times, strict=True)]
    assert here[:6] == pytest.approx([here[0]] * 6, rel=1e-3)
    assert {r.get("x") for r in bars} == {str(LEFT)}


def test_the_plot_says_what_it_shows():
    text = svg(results(), baseline="V4")
    words = [element.text for element in ET.fromstring(text).iter(f"{SVG}text")]
    assert "8192 x 8192 x 8192" in words
    assert "1.000" in words
    assert any("ratio: to V4, paired" in word for word in words if word)
    assert any("(incomplete)" in word for word in words if word)
    assert "V5, 5 stages" not in words
    assert "prefers-color-scheme: dark" in text


def test_labels_are_escaped():
    first = replace(results().entries[0], label="a<b>&c")
    odd = replace(results(), entries=(first,), shapes=results().shapes[:1])
    here = odd.shapes[0]
    rounds = tuple({"a<b>&c": 1.0} for _ in range(9))
    part = replace(here.parts["burst"], rounds=rounds)
    odd = odd.replaced(replace(here, parts={"burst": part}))
    texts = [e.text for e in ET.fromstring(svg(odd, baseline="a<b>&c")).iter(f"{SVG}text")]
    assert "a<b>&c" in texts
