"""The k best paths through a chain of states (list Viterbi 算法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.stopping import check_stop
from tercet.sequence._chain.k_best import extend, trace

WORK = 1 << 24  # comparisons in one call of a kernel; Ctrl-C is handled between calls


@method(
    zh="k 条最优路径",
    task="sequence labelling",
    model="a chain of steps and states; a path's score is the sum of its start, transitions and states",
    strategy="the k paths of the highest score",
    algorithms="list Viterbi: every state keeps its k best paths so far, merged from those of the step before",
    texts=["Li ch. 10, Alg 10.5", "Li ch. 11, Alg 11.3"],
    peers=["CRF++ -n"],
)
def k_best(log_start: Any, log_trans: Any, log_like: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best paths through a chain, best first.

    The score of a path i_1 ... i_T is log_start[i_1] + sum of log_trans[i_t, i_t+1] + sum of log_like[t, i_t].
    Among equals the one with the smaller last state comes first, then the one with the smaller state before it, and
    so on, as in the Viterbi algorithm.

    Parameters
    ----------
    log_start : array of shape (n_states,)
        The score of beginning in each state; zeros where there is nothing to say.
    log_trans : array of shape (n_states, n_states) or (n_steps - 1, n_states, n_states)
        The score of each transition, the same at all steps or not; -inf where there is none.
    log_like : array of shape (n_steps, n_states)
        The score of each state at each step.
    k : int
        How many paths. Memory is that of n_steps x n_states x k whole numbers.

    Returns
    -------
    scores : array of shape (found,)
        Fewer than k where there are fewer paths: a path of score -inf is none.
    paths : array of int of shape (found, n_steps)

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> scores, paths = k_best(np.log([0.5, 0.5]), np.log(A), np.log(B[:, [0, 1, 0]].T), 2)
    >>> paths
    array([[0, 1, 0],
           [0, 0, 0]])
    >>> np.exp(scores).round(4)
    array([0.0389, 0.0198])
    """
    start, trans, like, k = _checked(log_start, log_trans, log_like, k)
    steps, n = like.shape
    back = np.empty((steps, n, k), dtype=np.int32)
    best, spare = np.full((n, k), -np.inf), np.full((n, k), -np.inf)
    found, spare_found = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    best[:, 0] = start + like[0]
    found[:] = best[:, 0] > -np.inf
    into = np.ascontiguousarray(trans.swapaxes(-1, -2))  # to each state from all: what a merge reads
    stride = max(1, WORK // (n * (n + k * max(1, int(n).bit_length())))) if into.ndim == 2 else 1
    for t in range(1, steps, stride):
        check_stop()
        part = slice(t, t + stride)
        extend(
            into if into.ndim == 2 else into[t - 1], like[part], back[part], best, found, spare, spare_found
        )
        if min(stride, steps - t) % 2:  # the kernel swaps the tables after every step
            best, spare, found, spare_found = spare, best, spare_found, found
    last, rank, scores = _best_ends(best, k)
    return scores, trace(back, last, rank)


def _checked(log_start: Any, log_trans: Any, log_like: Any, k: Any) -> tuple[Any, Any, Any, int]:
    start, trans = _scores(log_start, "log_start"), _scores(log_trans, "log_trans")
    like = _scores(log_like, "log_like")
    if like.ndim != 2 or not like.size:
        raise ValueError(f"log_like must have the shape (n_steps, n_states); got {like.shape}.")
    steps, n = like.shape
    if start.shape != (n,) or trans.shape not in ((n, n), (steps - 1, n, n)):
        raise ValueError(
            f"log_start and log_trans must have the shapes ({n},) and ({n}, {n}) or ({steps - 1}, {n}, {n}), as "
            f"log_like has {steps} rows and {n} columns; got {start.shape} and {trans.shape}."
        )
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a positive whole number; got {k!r}.")
    k = min(int(k), n ** min(steps, 64))
    if n * k >= 2**31:
        raise ValueError(f"k={k} is too large for {n} states: k x n_states must be below 2**31.")
    return start, trans, like, k


def _scores(values: Any, name: str) -> np.ndarray:
    values = np.array(values, dtype=np.float64, order="C")  # a copy: kernels compile for writable arrays only
    if np.isnan(values).any() or (values == np.inf).any():
        raise ValueError(
            f"{name} must hold finite numbers or -inf; got {values[~(values < np.inf)].flat[0]}."
        )
    return values


def _best_ends(best: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The last states of the k best paths, the rank of each among the paths to its state, and the scores."""
    flat = best.ravel()
    order = np.argsort(-flat, kind="stable")[:k]
    order = order[flat[order] > -np.inf]
    return order // best.shape[1], order % best.shape[1], flat[order]
