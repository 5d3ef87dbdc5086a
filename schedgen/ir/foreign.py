"""Words of PTX, CUTLASS and CUDA for what has another word here, and the op that is meant."""

from __future__ import annotations

import re
from typing import NamedTuple

from schedgen.ir.ops import OPS


class Meant(NamedTuple):
    """The words of an op, and what it may look like where that is more."""

    op: str
    example: str | None


_WAIT, _COMMIT, _FENCE = Meant("wait", "wait 1"), Meant("commit", None), Meant("fence", None)
_FULL, _EMPTY = Meant("acquire {ring}.full", None), Meant("acquire {ring}.empty", None)
_RELEASE = Meant("release {ring}.empty", None)
_EXPECT = Meant("expect", "expect {ring}.full bytes 49152")
_LOAD = Meant("load", "load {ring}.A k")
_MMA = Meant("mma", "mma acc, {ring}.A, {ring}.B, k")
_PROXY, _SYNC = Meant("fence proxy", None), Meant("sync", "sync bar")
_STORE_COMMIT, _STORE_WAIT = Meant("store-commit", None), Meant("store-wait", "store-wait 0")

_WORDS = {
    _WAIT: "wait_group wgmma_wait wgmma_wait_group warpgroup_wait warpgroup_depbar",
    _COMMIT: "commit_group wgmma_commit wgmma_commit_group warpgroup_commit warpgroup_commit_batch",
    _FENCE: "wgmma_fence warpgroup_fence warpgroup_arrive warpgroup_fence_operand",
    _MMA: "wgmma wgmma_mma_async wgmma_mma warpgroup_mma gemm",
    _FULL: "consumer_wait mbarrier_wait mbarrier_try_wait mbarrier_test_wait barrier_wait",
    _EMPTY: "producer_acquire producer_wait",
    _RELEASE: "consumer_release mbarrier_arrive barrier_arrive",
    _EXPECT: "mbarrier_expect_tx mbarrier_arrive_expect_tx arrive_and_expect_tx arrive_expect_tx "
    "mbarrier_arrive_and_expect_tx producer_commit",
    _LOAD: "cp_async cp_async_bulk copy_async tma_load tma_copy global_to_shared",
    _PROXY: "fence_proxy fence_view_async_shared tma_store_fence",
    _SYNC: "syncthreads bar_sync barrier_sync named_barrier_sync sync_threads",
    _STORE_COMMIT: "cp_async_bulk_commit_group tma_store_arrive tma_store_commit",
    _STORE_WAIT: "cp_async_bulk_wait_group tma_store_wait",
}  # fmt: skip
_MEANT = {word: meant for meant, words in _WORDS.items() for word in words.split()}

_WORD = re.compile(r"(?:\w+(?:\.|::))*\w+", re.ASCII)
_BRACKETS = re.compile(r"\s*\(([^()\n]*)\)")
_KEYWORDS = {op.keyword for op in OPS}


def foreign_word(text: str, start: int) -> tuple[str, str] | None:
    """What is said of the word at a position, and the way out; None for one that is not known.

    A word may have more behind it (``wgmma.wait_group.sync.aligned``); the longest that is known
    decides.  An op with its operands in brackets is another language's, too.
    """
    found = _WORD.match(text, start)
    if found is None:
        return None
    word = found[0]
    brackets = _BRACKETS.match(text, found.end())
    if word in _KEYWORDS:
        return None if brackets is None else _without_brackets(word, brackets[1].strip())
    parts = re.split(r"\.|::|_", re.sub(r"^(\w+::)*_*", "", word.lower()))
    for length in range(len(parts), 0, -1):
        meant = _MEANT.get("_".join(parts[:length]))
        if meant is not None:
            return f"unexpected `{word}`", _did_you_mean(meant, text)
    return None


def _did_you_mean(meant: Meant, text: str) -> str:
    declared = re.search(r"^\s*ring\s+(\w+)", text, re.ASCII | re.MULTILINE)
    ring = "tma" if declared is None else declared[1]
    example = "" if meant.example is None else f", as in `{meant.example.format(ring=ring)}`"
    return f"did you mean `{meant.op.format(ring=ring)}`{example}?"


def _without_brackets(word: str, inner: str) -> tuple[str, str]:
    what = "its number" if inner.isdecimal() else "its operands"
    shown = f"{word} {inner}".rstrip()
    if not inner:
        return f"`{word}` stands without parentheses", f"write `{shown}`"
    return f"`{word}` takes {what} without parentheses", f"write `{shown}`"
