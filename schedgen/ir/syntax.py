"""What is said of a text that does not parse: one sentence, and the place where the slip is.

The parser knows the token at which it stopped, which may stand lines behind what is missing.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from schedgen.ir.foreign import foreign_word
from schedgen.ir.ops import OPS, Place
from schedgen.ir.problems import IllFormed, did_you_mean

MOST_NAMED = 5
"""Things that may be expected, beyond which not all are named."""

_FRIENDLY = {
    "NAME": "a name", "INT": "a number", "SIGNED": "a number", "SIDE": "`full` or `empty`",
    "SHAPE": "a shape such as 64x256", "COMPARE": "a comparison", "EXECUTOR": "`elected` or `all`",
    "RASTER_DIM": "`m` or `n`", "READ_SUFFIX": "`read`", "$END": "the end of the text",
}  # fmt: skip
_DECLARATIONS = ("problem", "tile", "ring", "barrier", "named", "acc", "buffer", "role")
_KINDS = (
    ("an op", {f"`{word}`" for op in OPS for word in op.keyword.split()} | {"`for`", "`if`"}),
    ("a declaration", {f"`{word}`" for word in _DECLARATIONS}),
    ("an operator", {f"`{sign}`" for sign in "+-*/%"}),
    ("an expression", {"a name", "a number", "`(`", "`-`", "`min`", "`max`"}),
)
"""Kinds of things that are named by their kind where several may follow."""

_STATEMENTS = {op.keyword.split()[0] for op in OPS} | {"for", "if"}
_ROLE = "producer warp { ... }"

_NO_RASTER = re.compile(r"tile\s+m\s+-?\d+\s*,\s*n\s+-?\d+\s*,\s*k\s+-?\d+\s*,?")


class _Block(NamedTuple):
    """An opening brace: what stands before it, and where that line begins."""

    header: str
    line: int
    column: int


def syntax_error(error: Any, grammar: Lark, text: str, file: str) -> IllFormed:
    """SG101 for what the parser raised."""
    kind = cast(object, type(error))
    found, wanted, at = "", set[str](), len(text)
    if kind is UnexpectedToken:
        wanted = set[str](error.accepts or error.expected)
        if error.token.type != "$END":
            found, at = str(error.token), error.token.start_pos
    elif kind is UnexpectedCharacters:
        wanted, at = set[str](error.allowed or ()), error.pos_in_stream
        found = text[at : at + 1]
    names = sorted({_friendly(grammar, name) for name in wanted - {"WS", "COMMENT"}})
    made = _known_slip(text, at, found) or _block_slip(text, at, found, names)
    made = made or _foreign_slip(text, at) or _word_slip(grammar, text, at, names)
    message, help, where = made or _general(text, at, found, names)
    return IllFormed(code="SG101", message=message, place=_place(text, where, file), help=help)


def glued(text: str, file: str) -> IllFormed | None:
    """SG101 for `syncthreads`, which the parser reads as the op and a name."""
    found = re.search(r"^[ \t]*(sync\w+)", text, re.ASCII | re.MULTILINE)
    if found is None:
        return None
    word, where = found[1], _place(text, found.start(1), file)
    near = f"did you mean `sync {word.removeprefix('sync')}`?"
    message, help = foreign_word(text, found.start(1)) or (f"unexpected `{word}`", near)
    return IllFormed(code="SG101", message=message, place=where, help=help)


_Said = tuple[str, str | None, int]
"""A sentence, a way out, and the position in the text."""


def _known_slip(text: str, at: int, found: str) -> _Said | None:
    """Slips that have a sentence of their own."""
    start = at - 1 if text[max(at - 1, 0) : at] == "/" else at
    if text[start : start + 2] in ("//", "/*"):
        return "comments begin with #", f"write `#` for `{text[start : start + 2]}`", start
    before = _end_of_code(text, at)
    if _NO_RASTER.fullmatch(_without_comments(text[:before]).rpartition("\n")[2].strip()):
        comma = "" if text[:before].endswith(",") else ", "
        return "the tile line lacks its raster", f"write e.g. `{comma}raster n 4` behind it", before
    if found in ("", *_DECLARATIONS):
        block = _unclosed(text[:at])
        if block is not None:
            message = f"the block of `{block.header}` that line {block.line} opens is not closed"
            where = _position(text, block.line, block.column)
            return message, "its `}` is missing", where
    if found == "}" and not _open_blocks(text[:at]):
        return "this `}` closes no block", "take it away, or look for one too many above", at
    return None


def _block_slip(text: str, at: int, found: str, names: list[str]) -> _Said | None:
    """A block that was never opened, or that a `}` closed too early."""
    before = _end_of_code(text, at)
    line = _without_comments(text[:before]).rpartition("\n")[2].strip()
    opens = re.match(r"(for|if|role|ring)\b", line)
    if found and opens and "`{`" in names and "\n" in text[before:at]:
        return f"the block of `{_named(line)}` lacks its `{{`", "write it behind the line", before
    if found in _STATEMENTS and not _open_blocks(text[:at]):
        message = f"`{found}` stands outside every role"
        early = _closed_early(text[:at])
        if early is None:
            return message, f"write it inside the braces of one, such as `role {_ROLE}`", at
        block, line_number, where = early
        message += f": this `}}` in line {line_number} closed `{block.header}` too early"
        return message, "take it away, if the block goes on behind it", where
    return None


def _foreign_slip(text: str, at: int) -> _Said | None:
    """A word of PTX or CUTLASS, or brackets as there, where a statement begins."""
    start = text.rfind("\n", 0, at) + 1
    start += len(re.match(r"\s*", text[start:])[0])  # type: ignore[index]
    if start > at or not re.fullmatch(r"[\w.:]*\s*", text[start:at], re.ASCII):
        return None
    said = foreign_word(text, start)
    return None if said is None else (*said, start)


def _word_slip(grammar: Lark, text: str, at: int, names: list[str]) -> _Said | None:
    """A word that is nearly one of those expected, or of all where it begins with one."""
    start = at
    while start and re.match(r"\w", text[start - 1], re.ASCII):
        start -= 1
    word = re.compile(r"[\w-]*", re.ASCII).match(text, start)
    if word is None or len(word[0]) < 2:
        return None
    known = re.findall(r"`([\w-]+)`", " ".join(names))
    if start < at:  # such as `lagg`, of which `lag` was read
        friendly = (_friendly(grammar, terminal.name) for terminal in grammar.terminals)
        known = re.findall(r"`([a-z-]{2,})`", " ".join(friendly))
    near = None if word[0] in known else did_you_mean(word[0], known)
    return None if near is None else (f"unexpected `{word[0]}`", near, start)


def _general(text: str, at: int, found: str, names: list[str]) -> _Said:
    """What was found and what was expected; at the end of a line that is not complete."""
    shown = f"`{found}`" if found else "end of the text"
    before = _end_of_code(text, at)
    goes_on = {"`}`", "`role`", "`problem`"} & set(names)
    if found and before and "\n" in text[before:at] and not goes_on:
        word = _without_comments(text[:before]).rpartition("\n")[2].split()[0]
        return f"expected {_listing(names)} behind `{word}`, before {shown}", None, before
    return f"unexpected {shown}; expected {_listing(names)}", None, at


def _friendly(grammar: Lark, terminal: str) -> str:
    if terminal in _FRIENDLY:
        return _FRIENDLY[terminal]
    pattern = grammar.get_terminal(terminal).pattern
    return f"`{pattern.value}`"


def _kinds(names: list[str]) -> list[str]:
    """The names, those of a kind as one where there are several."""
    kinds: list[str] = []
    for kind, members in _KINDS:
        if len(members & set(names)) > 2:
            kinds.append(kind)
            names = [name for name in names if name not in members]
    return [*kinds, *names]


def _listing(names: list[str]) -> str:
    shown = _kinds(names) if len(names) > MOST_NAMED else names
    if not shown:
        return "something else"
    if len(shown) > MOST_NAMED:
        return ", ".join([*shown[:MOST_NAMED], "..."])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]


# --- Positions


def _without_comments(text: str) -> str:
    """The same text with blanks for comments: every position stays."""
    return re.sub(r"#[^\n]*", lambda comment: " " * len(comment.group()), text)


def _end_of_code(text: str, at: int) -> int:
    """The end of the last thing before a position that is no blank and no comment."""
    return len(_without_comments(text[:at]).rstrip())


def _place(text: str, at: int, file: str) -> Place:
    before = text[:at]
    return Place(file, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)


def _position(text: str, line: int, column: int) -> int:
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1


def _open_blocks(text: str) -> list[_Block]:
    return list(_blocks(text)[0])


def _unclosed(text: str) -> _Block | None:
    """The block whose `}` is missing, None where all are closed.

    Every `}` closes the last open block; one that stands further left than its block begins was
    meant for a block around it.
    """
    still_open, suspects = _blocks(text)
    return (suspects or still_open[-1:] or [None])[-1] if still_open else None


def _named(header: str) -> str:
    """A declaration's word and name; of a loop or guard all."""
    declared = re.match(r"(role|ring)\s+\w+", header)
    return header if declared is None else declared[0]


def _blocks(text: str) -> tuple[list[_Block], list[_Block]]:
    """The blocks that are open at the end of a text, and those that a `}` of another closed."""
    still_open: list[_Block] = []
    suspects: list[_Block] = []
    for number, line in enumerate(_without_comments(text).split("\n"), start=1):
        begin = len(line) - len(line.lstrip())
        for match in re.finditer(r"[{}]", line):
            if match.group() == "{":
                header = line[: match.start()].strip()
                still_open.append(_Block(_named(header), number, begin + 1))
            elif still_open:
                block = still_open.pop()
                if match.start() == begin < block.column - 1:
                    suspects.append(block)
    return still_open, suspects


def _closed_early(text: str) -> tuple[_Block, int, int] | None:
    """The first block of the last role that a `}` of another indentation closed, and that `}`."""
    still_open: list[_Block] = []
    early: tuple[_Block, int, int] | None = None
    for number, line in enumerate(_without_comments(text).split("\n"), start=1):
        begin = len(line) - len(line.lstrip())
        for match in re.finditer(r"[{}]", line):
            if match.group() == "{":
                if not still_open:
                    early = None
                header = line[: match.start()].strip()
                still_open.append(_Block(_named(header), number, begin + 1))
            elif still_open:
                block = still_open.pop()
                alone = match.start() == begin
                if early is None and alone and begin != block.column - 1:
                    early = block, number, _position(text, number, match.start() + 1)
    return early
