"""Many against many (多对多): error-correcting output codes (纠错输出码)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having
from tercet.core.meta import MetaClassifier, Part, confidence
from tercet.core.parameters import Count, Jobs, Positive, Seed
from tercet.multiclass.output_codes import Decoding, Loss, code_distances, code_matrix, codeword_distances


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
    texts=["watermelon notes ch. 1, 1.8"],
    peers=["sklearn.multiclass.OutputCodeClassifier"],
)
class OutputCodeClassifier(MetaClassifier):
    """Error-correcting output codes: each class has a code word, and each estimator learns one letter of it.

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

    batch_rounding = 1e-12  # outputs are compared with the code by BLAS

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

    fitted_shapes = {
        "code_book_": "classes letters",
        "estimators_": Each(Having({}, ("predict",)), "letters"),
    }

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        self.code_book_ = code_matrix(
            self.code, self.n_classes_, int(self.n_classes_ * self.code_size), self.n_draws, self.random_state
        )
        between = codeword_distances(self.code_book_)
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
        self.estimators_ = self._fit_parts(X, self._binary_problems(y), letters, params)
        if self.decoding == "loss-weighted":
            self.letter_weights_ = self._accuracy(X, y, params)

    def _binary_problems(self, y: np.ndarray) -> Iterator[Part]:
        """One two-class problem for each column of the code, on the rows of the classes it uses."""
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
        """Negative distances to the code words; for two classes their difference.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        distances = self.distances(X)
        return distances[:, 0] - distances[:, 1] if self.n_classes_ == 2 else -distances

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
