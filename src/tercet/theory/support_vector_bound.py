"""Expected error of a support vector machine by the number of its support vectors.

Pattern Recognition section 5.7.
"""

from __future__ import annotations

from typing import Any

from tercet.core.catalog import method
from tercet.theory.checks import checked_count


@method(
    zh="支持向量数的误差估计",
    task="theory",
    model="a maximum-margin classifier trained on l rows",
    strategy="E[error] ≤ E[number of support vectors] / l: leaving out any other row changes nothing",
    texts=["Pattern Recognition ch. 5, 5.7.2"],
)
def support_vector_bound(machine: Any, n_samples: float | None = None) -> float:
    """Upper estimate of the expected test error: support vectors / rows.

    The expectation is over training sets; one machine's fraction is an estimate of the bound, not a bound itself.
    The leave-one-out error is at most this fraction, since only support vectors can be misclassified when they are
    left out.

    Assumption: the rows are independent draws from one distribution.

    Parameters
    ----------
    machine : fitted support vector classifier, or int
        A machine (its `n_support_` is read), or the number of its support vectors.
    n_samples : number
        l, rows of the training set.

    Examples
    --------
    >>> support_vector_bound(3, 60)
    0.05
    >>> from tercet.svm import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> support_vector_bound(SVC(kernel="linear", C=10).fit(X, y), 4)
    0.5
    """
    if n_samples is None:
        raise ValueError("n_samples must be given: the number of rows that the machine was trained on.")
    count = (
        float(machine.n_support_.sum())
        if hasattr(machine, "n_support_")
        else checked_count("machine", machine, 0)
    )
    n = checked_count("n_samples", n_samples)
    if count > n:
        raise ValueError(f"n_samples={n_samples!r} is less than the {count:g} support vectors.")
    return count / n
