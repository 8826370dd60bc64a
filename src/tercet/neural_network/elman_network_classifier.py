"""Elman network for labels (Elman 网络分类器): a class at each time step of a sequence."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import ClassifierTags

from tercet.core.catalog import method
from tercet.core.estimator import check_weight, distinct
from tercet.core.fitted_checks import Labels
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.neural_network.elman_network import Activation, RecurrentNetwork, Solver
from tercet.sequence import Sequences


@method(
    zh="Elman 网络分类器",
    task="sequence labelling",
    approach="discriminative",
    model="h_t = f(U x_t + W h_t-1 + b), P(y_t|x_1 ... x_t) = softmax(V h_t + c), h_0 = 0",
    strategy="cross-entropy of the labels + alpha |weights|² / 2",
    loss="log",
    convex=False,
    algorithms={
        "bptt": "back-propagation through time over whole sequences",
        "truncated": "back-propagation through n_steps time steps; Elman's own algorithm for one",
    },
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class ElmanNetworkClassifier(RecurrentNetwork):
    """Elman network that predicts a label at each time step of a sequence.

    The network is that of `ElmanNetwork`, with one softmax output for each class and the cross-entropy as its loss.

    Parameters
    ----------
    n_units : int, default=16
        The number of hidden units.
    activation : {"logistic", "tanh", "relu"}, default="tanh"
        The function f of the hidden units.
    algorithm : {"bptt", "truncated"}, default="bptt"
        How far errors are propagated back: to the beginning of the sequence, or through `n_steps` time steps.
    n_steps : int, default=1
        The time steps of "truncated"; with 1, Elman's algorithm, the context is an input like any other.
    solver : {"adam", "sgd", "momentum", "lbfgs"}, default="adam"
        The optimiser: an update rule after each batch of sequences, or L-BFGS on all of them.
    alpha : float, default=0.0
        Strength of the L2 penalty on all weights.
    batch_size : int, default=32
        Sequences in a batch.
    learning_rate : float, default=0.01
        The step length of "adam", "sgd" and "momentum".
    momentum : float, default=0.9
        The share of the last step that "momentum" adds to the next one.
    clip : float, optional, default=1.0
        The largest norm of a gradient; a longer one is shortened to it. None for no limit. Not for "lbfgs".
    max_iter : int, default=200
        The most passes over the sequences.
    tol : float, default=1e-4
        The least decrease of the loss that counts.
    n_iter_no_change : int, default=10
        Converged when the loss has not decreased in so many passes ("lbfgs" ends when it falls by less than a
        hundredth of `tol`).
    shuffle : bool, default=True
        Whether the sequences are visited in random order.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights and of the order of sequences.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, in order.
    input_weights_ : array of shape (n_units, n_features)
        U.
    recurrent_weights_ : array of shape (n_units, n_units)
        W.
    hidden_intercept_ : array of shape (n_units,)
        b.
    output_weights_ : array of shape (n_classes, n_units)
        V.
    output_intercept_ : array of shape (n_classes,)
        c.
    optimizer_ : dict
        The state of the update rule, from which the next `partial_fit` continues.
    n_iter_ : int
        Passes made.
    history_ : dict
        The mean loss of each pass.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(10, 1)) for _ in range(60)]
    >>> y = [np.where(np.r_[0, 0, x[:-2, 0]] > 0, "yes", "no") for x in X]  # two time steps ago
    >>> model = ElmanNetworkClassifier(random_state=0).fit(X, y)
    >>> model.predict([[[2.0], [-2.0], [1.0], [1.0]]])[0].tolist()
    ['no', 'no', 'yes', 'no']
    """

    output = "softmax"

    def __init__(
        self,
        n_units: Count = 16,
        *,
        activation: Activation = "tanh",
        algorithm: Literal["bptt", "truncated"] = "bptt",
        n_steps: Count = 1,
        solver: Solver = "adam",
        alpha: NonNegative = 0.0,
        batch_size: Count = 32,
        learning_rate: Positive = 0.01,
        momentum: OpenFraction = 0.9,
        clip: Positive | None = 1.0,
        max_iter: Count = 200,
        tol: NonNegative = 1e-4,
        n_iter_no_change: Count = 10,
        shuffle: bool = True,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_units = n_units
        self.activation = activation
        self.algorithm = algorithm
        self.n_steps = n_steps
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    fitted_shapes = {"classes_": Labels("outputs")}

    def _fit(self, X: Sequences, y: Sequences, sample_weight: np.ndarray | None) -> None:
        self.classes_, index = distinct(y.rows)
        if self.classes_.size < 2:
            raise ValueError(
                "ElmanNetworkClassifier needs labels of at least 2 classes; "
                f"the data contains only one class: {self.classes_.tolist()[0]!r}."
            )
        self._train(X, self._codes(index), sample_weight)

    def _codes(self, index: np.ndarray) -> np.ndarray:
        return (index[:, None] == np.arange(self.classes_.size)).astype(np.float64)

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if y is None:
            raise ValueError("ElmanNetworkClassifier requires y to be passed, but the target y is None.")
        return super()._check(X, y, reset=reset)

    def partial_fit(
        self, X: Any, y: Any, lengths: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One pass over further sequences, which continues from the weights so far.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences, visited in their order.
        y : list of label sequences, or array of shape (n_rows,)
            The labels.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        classes : array of shape (n_classes,), optional
            All labels there will be; by default those in y of the first call.
        sample_weight : array of shape (n_sequences,), optional
            Weight of each sequence.

        Returns
        -------
        self
        """
        known = getattr(self, "classes_", None)
        if known is not None and classes is not None and not np.array_equal(known, np.unique(classes)):
            raise ValueError(
                f"ElmanNetworkClassifier: classes={classes!r} is not the same as on last call to partial_fit, "
                f"which had {known!r}."
            )
        X, y, weight, first = self._given_batch(X, y, lengths, sample_weight)
        named = np.unique(y.rows if classes is None else classes) if known is None else known
        unknown = np.setdiff1d(y.rows, named)
        if unknown.size:
            raise ValueError(
                f"ElmanNetworkClassifier: y holds {unknown[:3].tolist()}; the classes are {named.tolist()}."
            )
        self.classes_ = named
        self._learn_batch(X, self._codes(np.searchsorted(named, y.rows)), weight, first)
        return self

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """The probabilities of the labels at each time step, given the inputs up to it.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        probabilities : list of arrays of shape (length, n_classes), or array of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        X, values = self._outputs(X, lengths)
        return X.like_given(values)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most probable label at each time step.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        labels : list of arrays, or array of shape (n_rows,)
            A list for a list of sequences.
        """
        X, values = self._outputs(X, lengths)
        return X.like_given(self.classes_[values.argmax(axis=1)])

    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """The share of time steps whose label is predicted.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        y : list of label sequences, or array of shape (n_rows,)
            The true labels.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            Weight of each sequence.

        Returns
        -------
        accuracy : float
        """
        X, values = self._outputs(X, lengths)
        _, labels = super()._check(X, y, reset=False)
        weight = check_weight(sample_weight, X, relative=True)
        right = self.classes_[values.argmax(axis=1)] == labels.rows
        return float(np.average(right, weights=None if weight is None else np.repeat(weight, X.lengths)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()  # asked of whatever has `predict_proba`
        tags.target_tags.required = True
        return tags
