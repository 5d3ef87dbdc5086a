"""How fast a schedule is, before it runs.

`model` puts it together: `timeline` puts cycles (`costs`, `card`) on the event graph of the
checker; `ratio` finds the circle that limits the settled loop, `limiting` names it; `occupancy`
says how many CTAs share an SM, and how many waves there are.
"""

from schedgen.predict.card import Numbers, h200
from schedgen.predict.model import CannotPredict, Prediction, predict, predicted_ms

__all__ = ["CannotPredict", "Numbers", "Prediction", "h200", "predict", "predicted_ms"]
