"""Output codes (编码矩阵): coding matrices, and distances of outputs to code words."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

Decoding = Literal["euclidean", "hamming", "loss", "loss-weighted"]
Loss = Literal["exponential", "hinge", "logistic"]
MOST_COLUMNS = 1 << 13
MOST_LETTERS = 1_000_000


def code_matrix(
    code: Any, n_classes: int, n_letters: int = 0, n_draws: int = 1, random_state: Any = None
) -> np.ndarray:
    """A coding matrix: one row of -1, 0 and +1 for each class.

    Parameters
    ----------
    code : str or array
        As in `OutputCodeClassifier`.
    n_classes : int
        Rows.
    n_letters : int
        Columns of a random code.
    n_draws : int, default=1
        Random codes to choose from.
    random_state : int, RandomState, Generator or None
        Decides the random codes.

    Returns
    -------
    array of shape (n_classes, n_letters)

    Examples
    --------
    >>> code_matrix("one-vs-one", 3)
    array([[-1., -1.,  0.],
           [ 1.,  0., -1.],
           [ 0.,  1.,  1.]])
    """
    if not isinstance(code, str):
        return _checked_code(code, n_classes)
    if code == "one-vs-rest":
        return 2.0 * np.eye(n_classes) - 1
    if code == "one-vs-one":
        pairs = np.array(list(combinations(range(n_classes), 2)))
        book = np.zeros((n_classes, len(pairs)))
        book[pairs.T, np.arange(len(pairs))] = [[-1], [1]]
        return book
    if code == "exhaustive":
        columns = 2 ** (n_classes - 1) - 1
        if columns > MOST_COLUMNS:
            raise ValueError(
                f"code='exhaustive' would need {columns} estimators; at most {MOST_COLUMNS} are made."
            )
        bits = np.arange(columns)[None] >> np.arange(n_classes - 1)[::-1, None] & 1
        return np.vstack([np.ones(columns), 2.0 * bits - 1])
    if code in ("random", "sparse"):
        if n_letters < 1:
            raise ValueError(f"code_size is too small: {n_classes} classes would get {n_letters} letters.")
        if n_letters > MOST_LETTERS:
            raise ValueError(
                f"code_size is too large: there would be {n_letters} letters, an estimator for each; the most is "
                f"{MOST_LETTERS}."
            )
        rng = (
            random_state
            if isinstance(random_state, np.random.Generator)
            else check_random_state(random_state)
        )
        draw = _dense_random_code if code == "random" else _sparse_random_code
        books = (draw(rng, n_classes, n_letters) for _ in range(n_draws))
        return max(books, key=lambda book: codeword_distances(book)[np.triu_indices(n_classes, 1)].min())
    raise ValueError(
        "code must be 'random', 'sparse', 'exhaustive', 'one-vs-one', 'one-vs-rest' or an array of -1, 0 and 1; "
        f"got {code!r}."
    )


def _checked_code(code: Any, n_classes: int) -> np.ndarray:
    """A coding matrix that the caller gave."""
    book = np.asarray(code, dtype=float)
    if book.ndim != 2 or book.shape[0] != n_classes or not np.isin(book, (-1, 0, 1)).all():
        raise ValueError(
            f"code must have a row of -1, 0 and 1 for each of {n_classes} classes; got {code!r}."
        )
    useless = ~((book > 0).any(axis=0) & (book < 0).any(axis=0))
    if useless.any():
        raise ValueError(
            f"code: column {useless.argmax()} must have both a 1 and a -1, or it separates nothing."
        )
    return book


def _dense_random_code(rng: Any, n_classes: int, n_letters: int) -> np.ndarray:
    """+1 and -1 with equal probability."""
    return np.where(rng.uniform(size=(n_classes, n_letters)) > 0.5, 1.0, -1.0)


def _sparse_random_code(rng: Any, n_classes: int, n_letters: int) -> np.ndarray:
    """0 with probability 1/2, else +1 or -1; columns are drawn again until they have both signs."""
    book = np.zeros((n_classes, n_letters))
    for letter in book.T:
        while not (letter.max() > 0 > letter.min()):
            u = rng.uniform(size=n_classes)
            letter[:] = np.where(u < 0.25, -1, np.where(u < 0.75, 0, 1))
    return book


def codeword_distances(code: np.ndarray) -> np.ndarray:
    """Hamming distances between the rows of a code; a letter that one of them does not use counts 1/2."""
    return (code.shape[1] - code @ code.T) / 2


def code_distances(
    outputs: Any,
    code: Any,
    decoding: Decoding = "hamming",
    *,
    loss: Loss = "exponential",
    weights: Any = None,
) -> np.ndarray:
    """Distances of outputs to the rows of a code.

    Parameters
    ----------
    outputs : array of shape (n_samples, n_letters)
        What the estimators say, on a scale where the sign is the answer.
    code : array of shape (n_classes, n_letters)
        The code, of -1, 0 and +1.
    decoding : {"euclidean", "hamming", "loss", "loss-weighted"}, default="hamming"
        As in `OutputCodeClassifier`.
    loss : {"exponential", "hinge", "logistic"}, default="exponential"
        L(z) = exp(-z), max(0, 1 - z) or ln(1 + exp(-z)) of z = code × output.
    weights : array of shape (n_classes, n_letters), optional
        Weights of the loss.

    Returns
    -------
    distances : array of shape (n_samples, n_classes)
        With the exponential loss, rows with outputs beyond 600 are in a unit of their own.

    Examples
    --------
    >>> code = [[-1, 1, -1, 1, 1], [1, -1, -1, 1, -1], [-1, 1, 1, -1, 1], [-1, -1, 1, 1, -1]]
    >>> code_distances([[-1, -1, 1, -1, 1]], code)
    array([[3., 4., 1., 2.]])
    """
    outputs, code = np.asarray(outputs, dtype=float), np.asarray(code, dtype=float)
    if decoding == "euclidean":
        return np.column_stack([np.sqrt(((outputs - word) ** 2).sum(axis=1)) for word in code])
    if decoding == "hamming":
        return (code.shape[1] - np.sign(outputs) @ code.T) / 2
    each = np.ones_like(code) if weights is None else np.asarray(weights)
    if loss == "exponential":
        return _exponential_distances(outputs, code, each)
    L = (lambda z: np.maximum(0, 1 - z)) if loss == "hinge" else (lambda z: np.logaddexp(0, -z))
    return np.column_stack([L(outputs * word) @ w for word, w in zip(code, each)])


def _exponential_distances(outputs: np.ndarray, code: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of exp(-z). Where all classes of a row have a loss beyond e^600, all are divided by one number,
    so that the smallest is right; those that are far larger end at e^690."""
    exponents = [-outputs * word for word in code]
    least = np.stack([part.max(axis=1, initial=-np.inf) for part in exponents], axis=1).min(axis=1)
    excess = np.maximum(least - 600, 0.0)[:, None]
    return np.column_stack([np.exp(np.minimum(z - excess, 690)) @ w for z, w in zip(exponents, weights)])
