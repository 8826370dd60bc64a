"""Examples of functions that are scikit-learn's own and have none there. The doctests run them."""

from __future__ import annotations

EXAMPLES = {
    "sklearn.metrics.d2_brier_score": """
Of predictions that are certain and right, and of the share of the classes for every row:

>>> from tercet.metrics import d2_brier_score
>>> y = [0, 1, 1, 0]
>>> float(d2_brier_score(y, [0.0, 1.0, 1.0, 0.0])), float(d2_brier_score(y, [0.5, 0.5, 0.5, 0.5]))
(1.0, 0.0)
""",
    "sklearn.metrics.d2_log_loss_score": """
Of predictions that are nearly certain and right, and of the share of the classes for every row:

>>> from tercet.metrics import d2_log_loss_score
>>> y = [0, 1, 1, 0]
>>> score = d2_log_loss_score(y, [0.01, 0.99, 0.99, 0.01])
>>> bool(0.98 < score < 0.99), abs(round(float(d2_log_loss_score(y, [0.5, 0.5, 0.5, 0.5])), 9))
(True, 0.0)
""",
}
__test__ = EXAMPLES  # where doctest looks
