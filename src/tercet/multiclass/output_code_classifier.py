"""Many against many (多对多): error-correcting output codes (纠错输出码)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.meta import MetaClassifier, Part, confidence
from tercet.core.parameters import Count, Jobs, Positive, Seed

Decoding = Literal["euclidean", "hamming", "loss", "loss-weighted"]
Loss = Literal["exponential", "hinge", "logistic"]
MOST_COLUMNS = 1 << 13


@method(
    zh="多对多, 纠错输出码",
    task="classification",
    model="the class whose code word is nearest to the outputs of the two-class models",
    strategy="that of the estimator, on the classes coded +1 against those coded -1 (0: not used)",
    algorithms={
        "random": "signs drawn with equal chances (dense)",
        "sparse": "0 with probability 1/2, else signs",
        "exhaustive": "all 2^(N-1) - 1 ways to split the classes in two",
        "one-vs-one": "each pair of classes, the others unused",
        "one-vs-rest": "each class against all others",
    },
    texts=["002 ch. 1, 1.8"],
    peers=["sklearn.multiclass.OutputCodeClassifier"],
)
class OutputCodeClassifier(MetaClassifier):
    """Each class has a code word, each estimator learns one letter of it, and mistaken letters are corrected.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `decision_function` or `predict_proba`, or a regressor.
    code_size : float, default=1.5
        Letters per class of the random codes: there are int(n_classes * code_size) estimators.
    random_state : int, RandomState, Generator or None
        Decides the random codes.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    code : str or array of shape (n_classes, n_letters), default="random"
        "random", "sparse", "exhaustive", "one-vs-one", "one-vs-rest", or a matrix of -1, 0 and +1.
    decoding : {"euclidean", "hamming", "loss", "loss-weighted"}, default="euclidean"
        Distance of outputs to code words: of the raw outputs; of their signs, with 1/2 for unused letters; the
        sum of a loss of (code × output); or that sum weighted by how well each estimator does on each class in
        training.
    loss : {"exponential", "hinge", "logistic"}, default="exponential"
        The loss of the last two.
    n_draws : int, default=1
        Random codes to draw; the one with the largest distance between its nearest rows is taken.

    Attributes
    ----------
    estimators_ : list
        One for each column of the code.
    classes_ : array of shape (n_classes,)
    code_book_ : array of shape (n_classes, n_letters)
        The code, of -1, 0 and +1.
    min_distance_ : float
        Hamming distance of the two nearest code words: floor((min_distance_ - 1) / 2) errors are corrected.
    letter_weights_ : array of shape (n_classes, n_letters)
        Weights of the "loss-weighted" decoding.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> X, y = [[9, 9], [8, 9], [-5, 5], [-6, 5], [-9, -9], [-8, -9]], ["a", "a", "b", "b", "c", "c"]
    >>> model = OutputCodeClassifier(Perceptron(), code="exhaustive", decoding="hamming").fit(X, y)
    >>> model.code_book_
    array([[ 1.,  1.,  1.],
           [-1., -1.,  1.],
           [-1.,  1., -1.]])
    >>> model.min_distance_
    2.0
    >>> model.predict([[7, 8], [-5, 6], [-7, -7]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    task_name = "fit-letter"

    def __init__(
        self,
        estimator: Any,
        *,
        code_size: Positive = 1.5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
        code: Any = "random",
        decoding: Decoding = "euclidean",
        loss: Loss = "exponential",
        n_draws: Count = 1,
    ) -> None:
        self.estimator = estimator
        self.code_size = code_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.code = code
        self.decoding = decoding
        self.loss = loss
        self.n_draws = n_draws

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        self.code_book_ = code_matrix(
            self.code, self.n_classes_, int(self.n_classes_ * self.code_size), self.n_draws, self.random_state
        )
        between = row_distances(self.code_book_)
        np.fill_diagonal(between, np.inf)
        self.min_distance_ = float(between.min())
        same = (self.code_book_[:, None] == self.code_book_[None]).all(axis=2)
        if np.count_nonzero(same) > self.n_classes_:
            i, j = np.argwhere(np.triu(same, 1))[0]
            a, b = self.classes_[[i, j]].tolist()
            warnings.warn(
                f"Classes {a!r} and {b!r} have the same code word and cannot be told apart; "
                f"raise code_size={self.code_size} or n_draws={self.n_draws}.",
                UserWarning,
                stacklevel=3,
            )
        letters = self.code_book_.shape[1]
        self.estimators_ = self._fit_parts(X, self._letters(y), letters, params)
        if self.decoding == "loss-weighted":
            self.letter_weights_ = self._accuracy(X, y, params)

    def _letters(self, y: np.ndarray) -> Iterator[Part]:
        for letter in self.code_book_.T:
            target = letter[y].astype(int)
            rows = np.flatnonzero(target)
            yield Part(target) if rows.size == y.size else Part(target[rows], rows)

    def _accuracy(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> np.ndarray:
        """How often each estimator is right about each class; rows scaled to sum to 1."""
        weight = np.broadcast_to(params.get("sample_weight", 1.0), y.shape)
        right = self._outputs(X) * self.code_book_[y] > 0
        sums = np.array([weight[y == k] @ right[y == k] for k in range(self.n_classes_)], dtype=float)
        whole = sums.sum(axis=1, keepdims=True)
        return np.divide(sums, whole, out=np.full_like(sums, 1 / sums.shape[1]), where=whole > 0)

    def _outputs(self, X: Any) -> np.ndarray:
        """Outputs on the scale of the code: probabilities are stretched from [0, 1] to [-1, 1]."""
        columns = []
        for estimator in self.estimators_:
            output = confidence(estimator, X)
            scored = hasattr(estimator, "decision_function") or not hasattr(estimator, "predict_proba")
            columns.append(output if scored else 2 * output)
        return np.column_stack(columns)

    def distances(self, X: Any) -> np.ndarray:
        """Distances of the outputs to the code words.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        weights = self.letter_weights_ if self.decoding == "loss-weighted" else None
        return code_distances(
            self._outputs(X), self.code_book_, self.decoding, loss=self.loss, weights=weights
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Nearness: minus the distances to the code words; for two classes their difference.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        far = self.distances(X)
        return far[:, 0] - far[:, 1] if self.n_classes_ == 2 else -far

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        nearest = self.distances(X).argmin(axis=1)
        return self.classes_[nearest]


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
        return _given(code, n_classes)
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
        rng = (
            random_state
            if isinstance(random_state, np.random.Generator)
            else check_random_state(random_state)
        )
        draw = _dense if code == "random" else _sparse
        books = (draw(rng, n_classes, n_letters) for _ in range(n_draws))
        return max(books, key=lambda book: row_distances(book)[np.triu_indices(n_classes, 1)].min())
    raise ValueError(
        "code must be 'random', 'sparse', 'exhaustive', 'one-vs-one', 'one-vs-rest' or an array of -1, 0 and 1; "
        f"got {code!r}."
    )


def _given(code: Any, n_classes: int) -> np.ndarray:
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


def _dense(rng: Any, n_classes: int, n_letters: int) -> np.ndarray:
    return np.where(rng.uniform(size=(n_classes, n_letters)) > 0.5, 1.0, -1.0)


def _sparse(rng: Any, n_classes: int, n_letters: int) -> np.ndarray:
    """Columns are drawn again until they have both signs."""
    book = np.zeros((n_classes, n_letters))
    for letter in book.T:
        while not (letter.max() > 0 > letter.min()):
            u = rng.uniform(size=n_classes)
            letter[:] = np.where(u < 0.25, -1, np.where(u < 0.75, 0, 1))
    return book


def row_distances(code: np.ndarray) -> np.ndarray:
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
    of = {"exponential": lambda z: np.exp(-z), "hinge": lambda z: np.maximum(0, 1 - z)}
    L = of.get(loss, lambda z: np.logaddexp(0, -z))
    each = np.ones_like(code) if weights is None else np.asarray(weights)
    return np.column_stack([L(outputs * word) @ w for word, w in zip(code, each)])
