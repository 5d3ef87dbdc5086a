"""How schedules and verdicts show themselves: ``print``, rich's ``print``, and in notebooks.

They need the printer, the findings and whatever pictures there are, which stand above the classes
themselves: so the methods are hung on to them here, by `attach`, when `schedgen` is imported.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from schedgen.api import findings_text, verdict_line
from schedgen.happens_before.judge import Verdict
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import Schedule

if TYPE_CHECKING:
    from rich.text import Text

_PRE = "<pre style='line-height:1.35;margin:0.3em 0;overflow-x:auto'>{}</pre>"


def attach() -> None:
    """Give the classes their ``__str__``, ``__rich__`` and ``_repr_html_``."""
    methods = {
        Schedule: {"__str__": to_text, "__rich__": schedule_styled, "_repr_html_": schedule_html},
        Verdict: {"__str__": verdict_says, "__rich__": verdict_styled, "_repr_html_": verdict_html},
    }
    for cls, named in methods.items():
        for name, method in named.items():
            setattr(cls, name, method)


def verdict_says(verdict: Verdict) -> str:
    """``hopper_matmul_v5: proved for every K >= 0 (...)``, then the findings."""
    if verdict.schedule is None:
        return str(verdict.outcome)
    step = verdict.schedule.tile.k
    sentence = f"{verdict.schedule.name}: {verdict_line(verdict, tile_k=step)}\n"
    return sentence + findings_text(verdict, tile_k=step)


def schedule_html(schedule: Schedule) -> str:
    """The text form; colours are those of the page, light or dark."""
    return _section(schedule.name, _PRE.format(escape(to_text(schedule))))


def verdict_html(verdict: Verdict) -> str:
    """The sentence, the findings, and the schedule, folded."""
    sentence, _, findings = verdict_says(verdict).partition("\n")
    parts = [f"<p><strong>{escape(sentence)}</strong></p>"]
    if findings:
        parts.append(_PRE.format(escape(findings)))
    if verdict.schedule is not None:
        text = _PRE.format(escape(to_text(verdict.schedule)))
        summary = f"<summary>{escape(verdict.schedule.name)}</summary>"
        parts.append(f"<details>{summary}{text}</details>")
    return _section(str(verdict.outcome), *parts)


def _section(label: str, *parts: str) -> str:
    return f"<div role='group' aria-label='{escape(label)}'>{''.join(parts)}</div>"


def schedule_styled(schedule: Schedule) -> Text:
    """The text form, its words in colour."""
    from rich.text import Text

    styled = Text(to_text(schedule), no_wrap=True)
    heads = "schedule|problem|tile|ring|slot|barrier|named|acc|buffer|role|for|if"
    styled.highlight_regex(rf"(?m)^ *(?:{heads})\b", "bold cyan")
    styled.highlight_regex(r"\b(?:lag|ahead|by|parity) \S+", "yellow")
    return styled


def verdict_styled(verdict: Verdict) -> Text:
    """The sentence and the findings, in the colours of the command line."""
    styled = findings_styled(verdict_says(verdict))
    colour = "bold green" if verdict.ok else "bold red"
    styled.highlight_regex(r"\A.*", colour)
    return styled


def findings_styled(text: str) -> Text:
    """Findings with their codes, labels and fixes in colour; the words are the same."""
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(r"(?m)^SG\d+ [a-z-]+(?=:)", "bold red")
    styled.highlight_regex(r"(?m)^ *[a-z ]+(?= : )", "cyan")
    styled.highlight_regex(r"(?m)^ *help : .*$", "green")
    return styled
