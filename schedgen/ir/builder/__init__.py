"""A schedule from Python calls instead of a text; the words are those of the text form.

`declarations` has the `Builder`, `body` what stands in a role, `verbs` one method for each op
(made from the op classes), `spelled` the way back: the calls that build a given schedule.
"""

from schedgen.ir.builder.declarations import Builder
from schedgen.ir.builder.spelled import to_python

__all__ = ["Builder", "to_python"]
