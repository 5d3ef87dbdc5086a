"""Progress: lines in a log, a bar on a terminal."""

import io
import sys

from schedgen.bench.progress import progress


def test_a_log_gets_what_is_said(capsys):
    with progress(2) as shown:
        shown.say("begins")
        shown.step("one of two")
    assert capsys.readouterr().err == "[   0.0 s] begins\n"


def test_a_terminal_gets_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2) as shown:
        shown.say("V4 [set-stages{n=3}]")
        shown.step("one [of] two")
    assert "1/2" in terminal.getvalue()
    assert "one [of] two" in terminal.getvalue()
