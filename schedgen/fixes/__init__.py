"""Proved repairs of refuted schedules: `schedgen check --fix`.

`lines` flattens a role, `edits` and `moves` make every schedule that is one edit away (with the ops
of `vocabulary`), `guide` says which are tried first, `search` judges them; `intent` sees to it that
a repair computes what was meant, `patch` changes the lines of a file and nothing else.
"""

from schedgen.fixes.edits import Edit
from schedgen.fixes.patch import Patched, diff, patched
from schedgen.fixes.search import FULL, SMALL, Budget, Fix, NoFix, search

__all__ = [
    "FULL", "SMALL", "Budget", "Edit", "Fix", "NoFix", "Patched", "diff", "patched", "search",
]  # fmt: skip
