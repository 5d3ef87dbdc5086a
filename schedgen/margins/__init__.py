"""How much room a proved schedule has, and what it does without: `schedgen limits`.

Every limit is found by changing one thing and judging the result for every K.  Four modules: what
is reported (`values`), the stages and depths (`measure`), the slack of barriers (`slack`), the ops
that are not needed (`redundant`); `edits` writes the changed schedules, `report` prints.
"""

from schedgen.margins.measure import measured
from schedgen.margins.report import limits_json, limits_text
from schedgen.margins.values import Limits

__all__ = ["Limits", "limits_json", "limits_text", "measured"]
