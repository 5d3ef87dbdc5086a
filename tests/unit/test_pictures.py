"""Pictures of a schedule: the trace format, the page, latencies, terminals, Python."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import schedgen as sg
from schedgen.kernels import KERNELS
from schedgen.timeline import gantt_text, html_text, perfetto_value, rich_text, svg_text
from tests.command_line import schedgen
from tests.refusals import V4, V5, changed

EARLY = changed(V4, ("wait 0", "wait 1"), ("  store acc", "  wait 0\n  store acc"))


@cache
def v5(stages=4, k_tiles=6):
    return sg.trace(sg.parse(changed(V5, ("stages 4", f"stages {stages}"))), k_tiles=k_tiles)


@cache
def witness():
    schedule = sg.parse(EARLY)
    return sg.trace_finding(schedule, sg.check(schedule, (0, 4)).findings[0])


PICTURES = [v5, lambda: v5(2), lambda: v5(4, 0), witness]


# --- Chrome trace events: the fields that the format demands of each kind of event
COMMON = {"ph": str, "pid": int, "tid": int, "name": str}
NUMBER = (int, float)
FIELDS = {
    "M": {"args": dict},
    "X": {"cat": str, "ts": NUMBER, "dur": NUMBER, "args": dict},
    "s": {"cat": str, "ts": NUMBER, "id": int},
    "f": {"cat": str, "ts": NUMBER, "id": int, "bp": str},
}


@pytest.mark.parametrize("picture", PICTURES)
def test_perfetto_events_have_the_fields_of_their_kind(picture):
    value = json.loads(json.dumps(perfetto_value(picture())))
    assert value["displayTimeUnit"] in ("ms", "ns")
    for event in value["traceEvents"]:
        wanted = {**COMMON, **FIELDS[event["ph"]]}
        assert set(event) == set(wanted), event
        assert all(isinstance(event[key], kind) for key, kind in wanted.items()), event
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 1) > 0


@pytest.mark.parametrize("picture", PICTURES)
def test_perfetto_slices_of_a_row_do_not_overlap(picture):
    made = picture()
    events = perfetto_value(made)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(names.values()) == [lane.name for lane in made.lanes]
    for tid in names:
        row = [e for e in events if e["ph"] == "X" and e["tid"] == tid]
        assert len(row) == len(made.lanes[tid - 1].bars)
        for before, after in pairwise(row):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-9


def test_perfetto_rows_are_of_one_process_that_has_another_number():
    events = perfetto_value(v5())["traceEvents"]
    assert len({e["pid"] for e in events}) == 1
    rows = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert {e["tid"] for e in events if e["ph"] != "M"} == rows
    assert events[0]["pid"] not in rows  # else its row is the "main thread"


@pytest.mark.parametrize("name", KERNELS)
def test_perfetto_flows_start_and_end_in_slices(name):
    made = sg.trace(sg.load(name), k_tiles=3)
    events = perfetto_value(made)["traceEvents"]
    starts, ends = ({e["id"]: e for e in events if e["ph"] == ph} for ph in "sf")
    last = {number: lane.bars[-1].begin for number, lane in enumerate(made.lanes)}
    assert len(starts) == sum(last[h.target] >= h.received for h in made.handovers) > 0
    assert starts.keys() == ends.keys()
    for number, start in starts.items():
        assert all(start[key] == ends[number][key] for key in ("name", "cat", "pid"))
        assert start["ts"] <= ends[number]["ts"]
        assert (start.get("bp"), ends[number]["bp"]) == (None, "e")  # bound to what encloses it
        (source,), (target,) = (
            [e for e in events if e["ph"] == "X" and e["tid"] == end["tid"]
             and e["ts"] <= end["ts"] < round(e["ts"] + e["dur"], 3)]
            for end in (start, ends[number])
        )  # fmt: skip
        assert source["ts"] < target["ts"]  # else Perfetto turns it around
        assert target["ts"] == ends[number]["ts"]


def test_every_wait_that_an_arrival_ended_is_a_flow():
    assert len(v5(2).handovers) == 2 * 6 + 6  # full, and empty of the used stages


def test_perfetto_file_is_json_with_one_event_a_line(tmp_path):
    file = tmp_path / "v5.json"
    done = schedgen("trace", "hopper_matmul_v5", "--k", 2, "--perfetto", file)
    assert (done.code, done.out, done.err) == (0, "", f"wrote {file}\n")
    value = json.loads(file.read_text())
    assert len(file.read_text().splitlines()) >= len(value["traceEvents"])
    assert value == perfetto_value(sg.trace(sg.load("hopper_matmul_v5"), k_tiles=2))


# --- the page and the SVG
@pytest.mark.parametrize("picture", PICTURES)
def test_page_needs_nothing_from_elsewhere(picture):
    page = html_text(picture())
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(|\bsrc=|\bhref=", page)
    assert "prefers-color-scheme:dark" in page
    assert "overflow-x:auto" in page


@pytest.mark.parametrize("picture", PICTURES)
def test_svg_is_well_formed_and_shows_every_lane(picture):
    made = picture()
    root = ElementTree.fromstring(svg_text(made))
    texts = {"".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {lane.name for lane in made.lanes if lane.bars} <= texts
    titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert sum("mma acc" in t for t in titles) >= sum(
        len(lane.bars) for lane in made.lanes if lane.name == "tensor core"
    )
    width = float(root.attrib["width"])
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(box.get("x", 0)) <= float(box.get("x", 0)) + float(box.attrib["width"])
        assert float(box.get("x", 0)) + float(box.attrib["width"]) <= width


def svg_width(made):
    return int(ElementTree.fromstring(svg_text(made)).attrib["width"])


@pytest.mark.parametrize("picture", PICTURES)
def test_page_fits_a_window_of_a_thousand_pixels(picture):
    """Its margins and border take 50; below that a witness is scrolled to its end."""
    made = picture()
    page = html_text(made)
    (box,) = re.findall(r'<div class="sg-fit([^"]*)"', page)
    assert box == (" sg-end" if made.refusal else "")
    assert ".sg-end{direction:rtl}" in page
    least, most = map(int, re.search(r"--least:(\d+)px;--most:(\d+)px", page).groups())
    assert 0.75 * svg_width(made) <= least <= 950 <= most
    assert 'viewBox="0 0 ' in page


def test_pictures_end_with_the_last_mma_and_say_so():
    root = ElementTree.fromstring(svg_text(v5()))
    texts = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[-1] == f"{v5().end - v5().shown:,} more cycles to the exit, not drawn"
    assert max(int(t.replace(",", "")) for t in texts if t[0].isdigit() and " " not in t) == 8000
    torn = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(torn) == 3  # the roles go on, the engines do not
    assert "TMA stores" not in svg_text(sg.trace(sg.load("hopper_matmul_v6"), k_tiles=6))


def test_pictures_of_as_many_cycles_have_one_scale():
    pictures = [v5(n) for n in (2, 3, 4)]
    assert len({svg_width(made.between(0, 12_000)) for made in pictures}) == 1
    marks = [re.findall(r'<text class="dim" [^>]*middle">[\d,]+<', svg_text(m.between(0, 12_000)))
             for m in pictures]  # fmt: skip
    assert marks[0] == marks[1] == marks[2]
    axes = {gantt_text(made.between(0, 12_000), width=80).split("\n")[1] for made in pictures}
    assert len(axes) == 1
    assert v5(2).between(0, 12_000).usages == v5(2).usages


def test_parts_of_a_long_loop(tmp_path):
    long = ("trace", "hopper_matmul_v5", "--k", 64)
    whole, late = schedgen(*long), schedgen(*long, "--from", 50_000)
    assert "drawn      cycles 0 to 17,152 " in whole.out
    rest = "50,653 more cycles to the last mma, some 49 turns of the loop, and 61,530 to the exit"
    assert rest in " ".join(whole.out.split())
    assert "drawn      cycles 50,000 to 67,152 " in late.out
    busy = [line for line in whole.out.splitlines() if " cycles busy: " in line]
    assert len(busy) == 2
    assert all(line in late.out for line in busy)  # the numbers are those of the whole
    file = tmp_path / "part.svg"
    assert schedgen(*long, "--from", 50_000, "--to", 52_000, "--svg", file).code == 0
    assert "cycles 50,000 to 52,000: " in file.read_text()
    assert "consumer[0]  ####" in schedgen("trace", "hopper_matmul_v5", "--from", 9000).out
    for wrong in (("--from", 90_000), ("--from", 500, "--to", 400)):
        shown = schedgen(*long, *wrong)
        assert (shown.code, shown.out) == (2, "")
        assert shown.err.startswith("SG116 bad-request: there are no cycles to draw from ")


def test_a_narrow_witness_keeps_a_column_for_each_of_its_last_steps():
    text = gantt_text(witness(), width=40)
    steps = witness().end - 1
    assert f"of {steps}\n" in text
    assert "!!\n" in text
    roles = [line for line in text.splitlines() if line.startswith("consumer[")]
    assert [line.rstrip()[-1] for line in roles] == ["a", "a"]  # the stage that goes back too early


def test_svg_escapes_what_it_shows():
    named = sg.parse(V4.replace("consumer[2]", "c_and_others[2]"), name="<a & b>.sched")
    ElementTree.fromstring(svg_text(sg.trace(named, k_tiles=1)))


def test_all_files_at_once(tmp_path):
    files = [tmp_path / name for name in ("a.html", "a.svg", "a.json")]
    done = schedgen(
        "trace", "hopper_matmul_v4", "--k", 1, "--html", files[0], "--svg", files[1],
        "--perfetto", files[2],
    )  # fmt: skip
    assert (done.code, done.out) == (0, "")
    assert all(f.stat().st_size > 1000 for f in files)


# --- what is to be seen
def test_stages_are_seen_to_differ():
    settled = {n: v5(n).cycle.per_turn for n in (2, 3, 4)}
    assert settled[2] > settled[3] > settled[4] == 1024  # 2 x 512: the tensor core is always busy
    assert [bool(v5(n).bubbles) for n in (2, 3, 4)] == [True, True, False]
    assert (v5(4).cycle.resource, v5(2).cycle.resource) == ("tensor core", None)


def test_witness_marks_the_mma_that_still_reads():
    made = witness()
    marked = [b for lane in made.lanes for b in lane.bars if b.clash]
    assert {(str(b.kind), b.tile) for b in marked} == {("mma", 0), ("load", 3)}
    assert made.clash is not None
    begin, end = made.clash
    assert all(b.begin <= begin < end <= b.end for b in marked)
    assert "!!" in gantt_text(made, width=80)


def test_witness_of_a_finding_by_number(tmp_path):
    file = tmp_path / "early.sched"
    file.write_text(EARLY)
    assert schedgen("trace", file, "--finding", 1).code == 1
    assert schedgen("trace", file, "--finding", 2).code == 2
    assert schedgen("trace", "hopper_matmul_v5", "--finding", 1).code == 2
    shown = schedgen("trace", file, "--unsafe", "--k", 4)
    assert (shown.code, "cycles to the last mma" in shown.out) == (0, True)


# --- latencies
def test_latencies_of_a_file(tmp_path):
    file = tmp_path / "card.json"
    rows = {"load_latency": {"value": 1600}, "of_another_model": {"value": "x"}}
    file.write_text(json.dumps({"card": "a card", "numbers": rows}))
    shown = schedgen("trace", "hopper_matmul_v5", "--k", 3, "--latencies", file)
    slow = replace(sg.h200(), load_latency=1600)
    made = sg.trace(sg.load("hopper_matmul_v5"), k_tiles=3, numbers=slow)
    assert (shown.code, shown.out) == (0, gantt_text(made, width=80))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"numbers": 3}', '{"numbers": {"wakeup": 70}}', "[" * 9999,
     *(f'{{"numbers": {{"{name}": {{"value": {value}}}}}}}' for name, value in (
         ("load_rate", 0), ("load_rate", "Infinity"), ("clock", "NaN"), ("wakeup", '"x"'),
         ("wakeup", 70.5), ("load_queue", -1), ("store_rate", "null"),
     ))],
)  # fmt: skip
def test_latencies_that_are_none(tmp_path, text):
    file = tmp_path / "card.json"
    file.write_text(text)
    shown = schedgen("trace", "hopper_matmul_v5", "--latencies", file)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith("SG115 unreadable-input: ")


def test_what_never_ends_is_not_traced():
    schedule = sg.parse(changed(V5, ("stages 4", "stages 1")))
    with pytest.raises(sg.IllFormed, match="never returns; `schedgen check` says why"):
        sg.trace(schedule, k_tiles=4)
    with pytest.raises(sg.IllFormed, match="K is negative"):
        sg.trace(schedule, k_tiles=-1)
    with pytest.raises(sg.IllFormed, match="too many events"):
        sg.trace(sg.parse(V5), k_tiles=9999)


# --- terminals and notebooks
@pytest.mark.parametrize("width", [40, 80, 133])
def test_styles_change_no_character(width):
    for made in (v5(2), witness()):
        styled = rich_text(made, width=width).plain.split("\n")
        assert [line.rstrip() for line in styled] == gantt_text(made, width=width).split("\n")


@pytest.mark.parametrize("width", [40, 57, 80, 200])
def test_no_line_is_wider_than_asked(width):
    for made in (v5(2), witness()):
        assert max(map(len, gantt_text(made, width=width).splitlines())) <= width


def on_terminal(columns, *arguments, **environment):
    """What a command writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "CI")}
    with subprocess.Popen(
        [sys.executable, "-m", "schedgen", *arguments], stdin=slave, stdout=slave,
        stderr=subprocess.DEVNULL, env={**kept, "TERM": "xterm-256color", **environment},
    ) as process:  # fmt: skip
        os.close(slave)
        found = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            found += part
    os.close(master)
    assert process.returncode == 0
    return found.decode().replace("\r\n", "\n")


ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
COLOURS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;)")


@pytest.mark.parametrize("command", [("trace", "hopper_matmul_v5", "--k", "3"),
                                     ("diff", "hopper_matmul_v4", "hopper_matmul_v5")])  # fmt: skip
def test_terminal_pipe_and_no_color_have_the_same_words(command):
    coloured = on_terminal(60, *command)
    plain = on_terminal(60, *command, NO_COLOR="1")
    assert COLOURS.search(coloured)
    assert not COLOURS.search(plain)
    piped = schedgen(*command, "--width", 60).out
    for text in (coloured, plain):
        lines = ESCAPES.sub("", text).splitlines()
        assert [line.rstrip() for line in lines] == piped.splitlines()


def test_timeline_in_a_notebook():
    shown = v5()._repr_html_()
    assert svg_text(v5()).strip() in shown
    assert "100% once the loop has settled" in shown
    assert "while the mma of tile 0 still reads it" in witness()._repr_html_()
    with pytest.raises(AttributeError):
        v5().end = 3


def test_timeline_and_comparison_print_themselves():
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=80)
    console.print(v5())
    console.print(sg.diff(sg.parse(V4), sg.parse(V5)))
    printed = console.file.getvalue()
    assert "tensor core" in printed
    assert "lag 0 -> 1" in printed
