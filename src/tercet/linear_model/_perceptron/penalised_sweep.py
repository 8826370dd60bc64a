"""A pass of the perceptron with a penalty, and the condition of a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Dense, row_add, row_dot


@inner
def misclassified(step, score, on_plane):
    """Whether y(w·x + b) <= 0, or < 0 for the class that the hyperplane itself counts as; step = eta0 y."""
    return step * score < 0 or (score == 0 and step != 0 and step * on_plane <= 0)


@kernel
def sweep_penalised(rows, signed_eta, order, on_plane, fit_b, w, b, picks, keep, clip, owed, paid):
    """`sweep` with a penalty: w shrinks by the factor `keep`, and towards zero by `clip`, at each visited row.

    The factor is collected in `scale`. The L1 part is paid late: a weight gives what all rows so far ask for,
    less what it has given already, when a row uses it next (cumulative penalty of Tsuruoka et al., 2009).
    """
    mistakes, loss, scale = 0, 0.0, 1.0
    for t in range(order.size):
        i = order[t]
        step, score = signed_eta[i], scale * row_dot(rows, i, w) + b[0]
        scale *= keep
        if scale < 1e-9:
            w *= scale
            scale = 1.0
        if misclassified(step, score, on_plane):
            row_add(rows, i, step / scale, w)
            b[0] += step * fit_b
            loss += abs(score)
            picks[mistakes] = t
            mistakes += 1
        if clip > 0:
            owed[0] += clip
            row_clip(rows, i, scale, owed[0], w, paid)
    w *= scale
    return mistakes, loss


@verb
def row_clip(rows: Any, i: int, scale: float, owed: float, w: np.ndarray, paid: np.ndarray) -> None:
    """Let the weights that row i uses pay what they owe, without passing zero."""
    used = slice(None) if isinstance(rows, Dense) else rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
    before = scale * w[used]
    w[used] = (
        np.where(
            before > 0,
            np.maximum(0.0, before - (owed + paid[used])),
            np.minimum(0.0, before + np.where(before < 0, owed - paid[used], 0.0)),
        )
        / scale
    )
    paid[used] += scale * w[used] - before


@inner
def clip_one(j, scale, owed, w, paid):
    before = scale * w[j]
    if before > 0:
        w[j] = max(0.0, before - (owed + paid[j])) / scale
    elif before < 0:
        w[j] = min(0.0, before + (owed - paid[j])) / scale
    paid[j] += scale * w[j] - before


@implement(row_clip)
def _row_clip(rows, i, scale, owed, w, paid):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, i, scale, owed, w, paid):
            for j in range(w.size):
                clip_one(j, scale, owed, w, paid)

        return dense

    def compressed(rows, i, scale, owed, w, paid):
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            clip_one(rows.indices[s], scale, owed, w, paid)

    return compressed
