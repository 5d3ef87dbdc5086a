"""Two schedules side by side: what a pass moved, peeled and changed."""

from schedgen.comparison.align import Comparison, Row, Section, Tag, compare
from schedgen.comparison.text import comparison_json, comparison_rich, comparison_text

__all__ = [
    "Comparison", "Row", "Section", "Tag", "compare", "comparison_json", "comparison_rich",
    "comparison_text",
]  # fmt: skip
