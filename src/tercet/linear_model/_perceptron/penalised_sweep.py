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
def sweep_penalised(rows, signed_eta, order, on_plane, fit_b, w, b, picks, keep, clip, total_l1, applied_l1):
    """`sweep` with a penalty: w shrinks by the factor `keep`, and towards zero by `clip`, at each visited row.

    The factor is accumulated in `scale`. The L1 part is applied lazily: when a row next uses a weight, it receives
    the penalty of all rows so far, total_l1, less what it has received already, applied_l1 (cumulative penalty of
    Tsuruoka et al., 2009).
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
            total_l1[0] += clip
            row_clip(rows, i, scale, total_l1[0], w, applied_l1)
    w *= scale
    return mistakes, loss


@verb
def row_clip(rows: Any, i: int, scale: float, total_l1: float, w: np.ndarray, applied_l1: np.ndarray) -> None:
    """Apply the outstanding L1 penalty to the weights that row i uses, without passing zero."""
    used = slice(None) if isinstance(rows, Dense) else rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
    before = scale * w[used]
    w[used] = (
        np.where(
            before > 0,
            np.maximum(0.0, before - (total_l1 + applied_l1[used])),
            np.minimum(0.0, before + np.where(before < 0, total_l1 - applied_l1[used], 0.0)),
        )
        / scale
    )
    applied_l1[used] += scale * w[used] - before


@inner
def clip_one(j, scale, total_l1, w, applied_l1):
    before = scale * w[j]
    if before > 0:
        w[j] = max(0.0, before - (total_l1 + applied_l1[j])) / scale
    elif before < 0:
        w[j] = min(0.0, before + (total_l1 - applied_l1[j])) / scale
    applied_l1[j] += scale * w[j] - before


@implement(row_clip)
def _row_clip(rows, i, scale, total_l1, w, applied_l1):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, i, scale, total_l1, w, applied_l1):
            for j in range(w.size):
                clip_one(j, scale, total_l1, w, applied_l1)

        return dense

    def compressed(rows, i, scale, total_l1, w, applied_l1):
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            clip_one(rows.indices[s], scale, total_l1, w, applied_l1)

    return compressed
