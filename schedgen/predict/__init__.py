"""How fast a schedule is, before it runs.

`model` puts it together: `timeline` puts cycles (`costs`, `card`) on the event graph of the
checker; `ratio` finds the circle that limits the settled loop, `queueing` how long loads wait for
each other, `limiting` names the circle; `occupancy` says how many CTAs share an SM, and how many
waves there are.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgen.predict.card import Numbers, h200
    from schedgen.predict.model import CannotPredict, Prediction, predict, predicted_ms

__all__ = ["CannotPredict", "Numbers", "Prediction", "h200", "predict", "predicted_ms"]

_HOMES = {
    "CannotPredict": "model", "Numbers": "card", "Prediction": "model", "h200": "card",
    "predict": "model", "predicted_ms": "model",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imported when asked for: `schedgen` imports this package early, and a check needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
