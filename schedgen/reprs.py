"""How schedules, verdicts, findings and proofs show themselves: ``print``, rich, and notebooks.

They need the printer, the findings and the timelines, which stand above the classes themselves: so
the methods are hung on to them here, by `attach`, when `schedgen` is imported.  Other values are
`schedgen.markup.Shown`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from schedgen.api import findings_text, placed, trace, trace_finding, verdict_line
from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.render import finding_text
from schedgen.happens_before.judge import Verdict
from schedgen.happens_before.products import programs_of
from schedgen.happens_before.proof.certificate import Certificate
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import Schedule
from schedgen.markup import Shown, brief, folded, preformatted, section

if TYPE_CHECKING:
    from rich.text import Text

    from schedgen.timeline import Timeline

MOST_OPS = 600
"""Op instances of a schedule that are put on a timeline unasked: a few tenths of a second."""


def attach() -> None:
    """Give the classes the methods of `Shown`, and those that differ."""
    methods: dict[type, tuple[Callable[[Any], str], Callable[..., Text], Callable[[Any], str]]] = {
        Schedule: (to_text, schedule_styled, schedule_html),
        Verdict: (verdict_printed, verdict_styled, verdict_html),
        Finding: (finding_says, finding_styled, finding_html),
        Certificate: (certificate_says, certificate_styled, Shown._repr_html_),
    }
    short = {Schedule: schedule_brief, Verdict: verdict_brief}
    for cls, (says, styled, html) in methods.items():
        named: dict[str, Callable[..., Any]] = {
            "__str__": says, "_styled": styled, "_repr_html_": html,
        }  # fmt: skip
        if cls in short:
            named["__repr__"] = short[cls]
        for name in ("__rich_console__", "_repr_pretty_"):
            named[name] = vars(Shown)[name]
        for name, method in named.items():
            setattr(cls, name, method)


# --- a schedule
def schedule_brief(schedule: Schedule) -> str:
    """``<Schedule hopper_matmul_v5: 2 roles, ring tma of 4 stages>``"""
    roles = len(schedule.roles)
    parts = [f"{roles} role{'' if roles == 1 else 's'}"]
    for ring in schedule.rings:
        parts.append(f"ring {ring.name} of {ring.stages} stage{'' if ring.stages == 1 else 's'}")
    return brief(schedule, f"{schedule.name}: {', '.join(parts)}")


def schedule_styled(schedule: Schedule, *, width: int) -> Text:
    """The text form, its words in colour, and its timeline."""
    from rich.text import Text

    styled = schedule_words(schedule)
    drawn = picture_of(schedule)
    return Text.assemble(styled, "\n", _drawn(drawn, width)) if drawn is not None else styled


def schedule_html(schedule: Schedule) -> str:
    """The text form, and its timeline."""
    drawn = picture_of(schedule)
    parts = [preformatted(schedule_words(schedule))]
    if drawn is not None:
        parts.append(drawn._repr_html_())
    return section(schedule.name, *parts)


def schedule_words(schedule: Schedule) -> Text:
    """The text form in colour."""
    from rich.text import Text

    styled = Text(to_text(schedule), no_wrap=True)
    heads = "schedule|problem|tile|ring|slot|barrier|named|acc|buffer|role|for|if"
    styled.highlight_regex(rf"(?m)^ *(?:{heads})\b", "bold cyan")
    styled.highlight_regex(r"\b(?:lag|ahead|by|parity) \S+", "yellow")
    return styled


def picture_of(schedule: Schedule) -> Timeline | None:
    """Its execution at a K at which stages are used again, or a smaller one if that is long.

    None where nothing can be drawn: it waits for ever, say, which `schedgen check` explains.
    """
    stages = max((ring.stages for ring in schedule.rings), default=1)
    for k_tiles in dict.fromkeys((min(stages + 2, 8), 3, 1)):
        drawn = _unless_it_fails(partial(_short_trace, schedule, k_tiles))
        if drawn is not None:
            return drawn
    return None


def _short_trace(schedule: Schedule, k_tiles: int) -> Timeline | None:
    try:
        programs = programs_of(placed(schedule), k_tiles, MOST_OPS)
    except OverBudget:
        return None
    if sum(map(len, programs)) > MOST_OPS:
        return None
    return trace(schedule, k_tiles=k_tiles)


def _unless_it_fails(draw: Callable[[], Timeline | None]) -> Timeline | None:
    """A value that shows itself may be wrong in any way; its words are shown all the same."""
    try:
        return draw()
    except Exception:
        return None


def _drawn(timeline: Timeline, width: int) -> Text:
    return timeline._styled(width=width)


# --- a verdict
def verdict_brief(verdict: Verdict) -> str:
    """``<Verdict refuted: SG203 at K = 5>``, or the sentence where there are no findings."""
    if not verdict.findings:
        step = None if verdict.schedule is None else verdict.schedule.tile.k
        words = str(verdict.outcome) if step is None else verdict_line(verdict, tile_k=step)
        return brief(verdict, words)
    found = [f.code if f.k is None else f"{f.code} at K = {f.k}" for f in verdict.findings]
    return brief(verdict, f"{verdict.outcome}: {', '.join(found)}")


def verdict_printed(verdict: Verdict) -> str:
    """The same words without a line end at the end: `print` makes one."""
    return verdict_says(verdict).rstrip("\n")


def verdict_says(verdict: Verdict) -> str:
    """``hopper_matmul_v5: proved for every K >= 0 (...)``, then the findings."""
    if verdict.schedule is None:
        return str(verdict.outcome)
    step = verdict.schedule.tile.k
    sentence = f"{verdict.schedule.name}: {verdict_line(verdict, tile_k=step)}\n"
    return sentence + findings_text(verdict, tile_k=step)


def verdict_styled(verdict: Verdict, *, width: int) -> Text:
    """The sentence and the findings, in the colours of the command line, and the witness."""
    from rich.text import Text

    styled = findings_styled(verdict_says(verdict))
    colour = "bold green" if verdict.ok else "bold red"
    styled.highlight_regex(r"\A.*", colour)
    drawn = witness_of(verdict)
    return Text.assemble(styled, "\n", _drawn(drawn, width)) if drawn is not None else styled


def verdict_html(verdict: Verdict) -> str:
    """The sentence, the findings, the witness of the first that has one; folded, the schedule."""
    sentence, _, findings = verdict_says(verdict).partition("\n")
    edge = "#0a9c3f" if verdict.ok else "#e5161e"
    parts = [
        f"<p style='border-left:4px solid {edge};padding-left:.6em;margin:.3em 0'>"
        f"<strong>{escape(sentence)}</strong></p>"
    ]
    if verdict.obligations and verdict.ok:
        done = ", ".join(f"{code} x{count}" for code, count in verdict.obligations.items())
        parts.append(f"<p style='margin:.3em 0;opacity:.8'>obligations: {escape(done)}</p>")
    if findings:
        parts.append(preformatted(findings_styled(findings)))
    drawn = witness_of(verdict)
    if drawn is not None:
        parts.append(drawn._repr_html_())
    if verdict.schedule is not None:
        parts.append(folded(verdict.schedule.name, preformatted(schedule_words(verdict.schedule))))
    return section(str(verdict.outcome), *parts)


def witness_of(verdict: Verdict) -> Timeline | None:
    """The picture of the first finding that has a witness."""
    schedule = verdict.schedule
    seen = next((f for f in verdict.findings if f.k is not None), None)
    if schedule is None or seen is None:
        return None
    return _unless_it_fails(partial(trace_finding, schedule, seen))


# --- a finding
def finding_says(finding: Finding) -> str:
    """The short form, as `schedgen check` prints it."""
    return finding_text(finding, tile_k=None).rstrip("\n")


def finding_styled(finding: Finding, *, width: int) -> Text:
    """The same in colour."""
    return findings_styled(finding_says(finding))


def finding_html(finding: Finding) -> str:
    """The short form; folded, the steps of its witness."""
    from rich.text import Text

    parts = [preformatted(findings_styled(finding_says(finding)))]
    if finding.witness:
        steps = [
            f"{number:>4}  {step.role}[{step.replica}]  {step.event:<8} {step.op}"
            for number, step in enumerate(finding.witness)
        ]
        parts.append(
            folded(f"a witness of {len(steps)} steps", preformatted(Text("\n".join(steps))))
        )
    return section(finding.code, *parts)


def findings_styled(text: str) -> Text:
    """Findings with their codes, labels and fixes in colour; the words are the same."""
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(r"(?m)^SG\d+ [a-z-]+(?=:)", "bold red")
    styled.highlight_regex(r"(?m)^ *[a-z ]+(?= : )", "cyan")
    styled.highlight_regex(r"(?m)^ *help : .*$", "green")
    return styled


# --- a proof
def certificate_says(certificate: Certificate) -> str:
    """What was judged, and the numbers (in columns) by which the rest follows."""
    c = certificate
    return "\n".join(
        [
            f"K = 0..{c.explicit} judged one by one; the greater ones follow",
            f"  repeat   : {c.repeat:>3}  from here on, from the left, nothing new happens",
            f"  constant : {c.constant:>3}  the largest constant of a bound or guard",
            f"  distance : {c.distance:>3}  the greatest distance of an edge",
            f"  reach    : {c.reach:>3}  the greatest distance of an obligation that is near",
            f"  descent  : {c.descent:>3}  how far a path leads back",
            f"  window   : {c.window:>3}  columns on each side of a cut",
        ]
    )


def certificate_styled(certificate: Certificate, *, width: int) -> Text:
    """The same in colour."""
    return findings_styled(certificate_says(certificate))
