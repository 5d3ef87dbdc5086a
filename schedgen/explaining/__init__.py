"""The page of a code: what it means, a picture of it, what is said of it, and a fix.

Only the first part is written by hand.  What is refused, the words of the refusal and whether the
fix works are those of the checker of today: every example is executed when its page is made.
"""

from schedgen.explaining.pages import explained, explanation
from schedgen.explaining.parts import Explanation, Section
from schedgen.explaining.repairs import example_of

__all__ = ["Explanation", "Section", "example_of", "explained", "explanation"]
