"""Python names for the things of a schedule: their own wherever Python and tilus allow it.

A name that is taken gets underscores at its end, in the order of declaration, so the same
schedule always gives the same names.
"""

from __future__ import annotations

import keyword

_MODULE = "tilus cdiv float16 bfloat16 float32 int32 uint32 Ring min max use_hopper_tma_loads"
_KERNEL = "self m_size n_size k_size m_tiles n_tiles k_tiles m_tile n_tile m_offset n_offset"
_RING = "stages full empty stage parity advance stage_at parity_at"
_TILUS = """
    abs add all annotate_layout any assign assume blockIdx cast clc clip cluster copy_async
    copy_async_commit_group copy_async_wait_all copy_async_wait_group current_num_threads
    current_thread_begin current_thread_end dot exp exp2 fast_divmod fence flatten free_shared
    global_tensor global_view gridDim load_global load_shared lock_semaphore log max maximum
    mbarrier min print_tensor printf range register_tensor release_semaphore repeat
    repeat_interleave reshape_shared round rsqrt shared_tensor single_thread single_warp sqrt
    square squeeze static_assert store_global store_shared sum sync tcgen05 thread_group tma
    transpose unsqueeze view warp_group wgmma where
"""

MODULE_NAMES = frozenset(_MODULE.split())
"""What the emitted module itself defines, imports or uses of Python."""

KERNEL_NAMES = frozenset(_KERNEL.split())
"""Parameters and variables of the emitted kernel."""

RING_NAMES = frozenset(_RING.split())
"""Attributes of the emitted Ring class, beside its verbs (acquire_full, ...)."""

TILUS_NAMES = frozenset(_TILUS.split())
"""Public attributes of tilus.Class, which a slot must not hide on its ring object."""


class Names:
    """Hands out Python names, each once."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = set(taken)

    def give(self, wanted: str) -> str:
        """``wanted``, or with underscores after it if that is a keyword or taken."""
        name = wanted
        while name in self._taken or keyword.iskeyword(name):
            name += "_"
        self._taken.add(name)
        return name

    def free(self, wanted: str) -> str:
        """Like `give`, for a name of a scope of its own: it stays free for others."""
        name = self.give(wanted)
        self._taken.discard(name)
        return name
