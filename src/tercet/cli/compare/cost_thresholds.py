"""Thresholds for two classes, by what the two kinds of error cost."""

from __future__ import annotations

from typing import Any

import numpy as np

RATIOS = (0.2, 1.0, 2.0, 5.0, 10.0, 50.0)  # cost of a missed row of the class, in false alarms


def cost_thresholds(
    truth: np.ndarray, score: np.ndarray, ratios: tuple[float, ...] = RATIOS
) -> list[dict[str, Any]]:
    """For each ratio of costs the threshold of least cost on held-out rows, and the errors made there.

    Parameters
    ----------
    truth : bool array
        Which rows are of the class to be found.
    score : array
        Its probability, or another score that is higher for it.
    ratios : sequence of float
        What a row that is missed costs, when a false alarm costs 1.

    Examples
    --------
    >>> truth = np.array([False, False, True, False, True])
    >>> for one in cost_thresholds(truth, np.array([0.1, 0.2, 0.3, 0.6, 0.9]), ratios=(1.0, 0.2)):
    ...     print(round(one["threshold"], 2), one["missed"], one["false_alarms"], one["cost"])
    0.25 0 1 1.0
    0.75 1 0 0.2
    """
    order = np.argsort(-score, kind="stable")
    ranked, values = truth[order], score[order]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))  # rows of one score go together
    found = np.concatenate([[0], np.cumsum(ranked)[ends]])
    alarms = np.concatenate([[0], (ends + 1) - np.cumsum(ranked)[ends]])
    positives = int(truth.sum())
    distinct = values[ends]
    # Between two scores; above the highest, and at the lowest.
    middle = np.concatenate([[distinct[0] + 1e-9], (distinct[:-1] + distinct[1:]) / 2, [distinct[-1]]])
    middle[0] = min(middle[0], 1.0) if values.min() >= 0 and values.max() < 1 else middle[0]
    rows = []
    for ratio in ratios:
        cost = ratio * (positives - found) + alarms
        # Of equal costs the middle one: far from where the next error begins.
        best = np.flatnonzero(cost == cost.min())
        k = int(best[best.size // 2])
        rows.append(
            {
                "ratio": ratio,
                "threshold": float(middle[k]),
                "found": int(found[k]),
                "missed": int(positives - found[k]),
                "false_alarms": int(alarms[k]),
                "cost": float(cost[k]),
                "never": float(ratio * positives),
                "always": float(truth.size - positives),
            }
        )
    return rows
