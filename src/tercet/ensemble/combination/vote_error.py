"""Error of a majority vote of independent classifiers, and Hoeffding's bound (集成错误率)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from tercet.core.catalog import method


class VoteError(NamedTuple):
    """Error of a majority vote: the exact value, and an upper bound."""

    error: Any
    bound: Any


@method(
    zh="集成错误率及其上界",
    task="theory",
    model="P(H ≠ f) = Σ_{k <= T/2} C(T, k) (1 - ε)^k ε^(T-k) <= exp(-T (1 - 2ε)² / 2)",
    texts=["watermelon notes ch. 6, eq. 6.1-6.3"],
)
def vote_error(n_members: Any, error: Any) -> VoteError:
    """Error of the majority vote of independent two-class classifiers, and Hoeffding's bound of it.

    The error is the probability that at most half of the members are right: a tie counts as an error. (The print
    writes P(H(x) = f(x)) on the left of 6.3.) The bound is for members that are better than chance; for others it
    is 1.

    Parameters
    ----------
    n_members : int or array
        Number of members, T.
    error : float or array
        Probability ε that a member is wrong.

    Returns
    -------
    VoteError
        `error` and `bound`.

    Examples
    --------
    >>> found = vote_error(5, 0.3)
    >>> round(found.error, 5), round(found.bound, 6)
    (0.16308, 0.67032)
    """
    T, e = np.asarray(n_members), np.asarray(error, dtype=float)
    if T.dtype.kind not in "iu" or not T.size or T.min() < 1:
        raise ValueError(f"n_members must be an integer of at least 1; got {n_members!r}.")
    if not ((e >= 0) & (e <= 1)).all():
        raise ValueError(f"error must be a probability in [0, 1]; got {error!r}.")
    # The right members are binomial with 1 - e: P(at most T/2 of them).
    exact = bdtr(T // 2, T, 1 - e)
    bound = np.where(e < 0.5, np.exp(-T * (1 - 2 * e) ** 2 / 2), 1.0)
    return VoteError(*(float(v) if np.ndim(v) == 0 else v for v in (exact, bound)))
