"""The protocol of online learning (在线学习)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from tercet.core.catalog import method


@dataclass(frozen=True)
class OnlineTrace:
    """What happened at each moment of a stream.

    Attributes
    ----------
    model : the estimator after the last example.
    prediction, target, loss : arrays of shape (n_moments,).

    Examples
    --------
    >>> trace = OnlineTrace(None, np.array([1, 1, 0]), np.array([1, 0, 0]), np.array([0.0, 1.0, 0.0]))
    >>> trace.cumulative_loss, trace.regret(0.5)
    (array([0., 1., 1.]), array([-0.5,  0. , -0.5]))
    """

    model: Any
    prediction: np.ndarray
    target: np.ndarray
    loss: np.ndarray

    @property
    def cumulative_loss(self) -> np.ndarray:
        """The loss up to each moment."""
        return np.cumsum(self.loss)

    def regret(self, loss: Any) -> np.ndarray:
        """Cumulative loss less that of a rival, say of the best fixed model in hindsight."""
        return self.cumulative_loss - np.cumsum(np.broadcast_to(loss, self.loss.shape))


@method(
    zh="在线学习",
    task="protocol",
    model="any estimator with partial_fit",
    strategy="cumulative loss of predictions made before their answers are seen",
    algorithms="receive x, predict, receive y, suffer the loss, update",
    texts=["Li ch. 1, sec. 1.2"],
    peers=["river.evaluate.progressive_val_score"],
)
def learn_online(
    model: Any,
    stream: Iterable[tuple[Any, Any]],
    *,
    classes: Any = None,
    loss: Callable[[Any, Any], float] | None = None,
) -> OnlineTrace:
    """Let an estimator learn from a stream, one example at a time: predict first, then learn.

    Parameters
    ----------
    model : estimator with `predict` and `partial_fit`
        It is changed.
    stream : iterable of (x, y)
        The examples, as they come; `zip(X, y)` makes one of arrays.
    classes : array, optional
        All classes, for a classifier that has not been fitted. Its first prediction is the first of them; a
        regressor's is 0.
    loss : callable (y, prediction) -> float, optional
        By default 0 or 1 for a classifier, the square of the error for a regressor.

    Returns
    -------
    OnlineTrace

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> X, y = [[3, 3], [4, 3], [1, 1]] * 7, [1, 1, -1] * 7
    >>> trace = learn_online(Perceptron(shuffle=False), zip(X, y), classes=[-1, 1])
    >>> trace.cumulative_loss[-1], trace.model.coef_, trace.model.intercept_
    (np.float64(7.0), array([[1., 1.]]), array([-3.]))
    """
    classifier = is_classifier(model)
    if loss is None:
        loss = _zero_one if classifier else _square
    options = {"classes": np.unique(classes)} if classes is not None else {}
    predictions, targets, losses = [], [], []
    for x, y in stream:
        row = np.asarray(x).reshape(1, -1) if not hasattr(x, "tocsr") else x.reshape(1, -1).tocsr()
        try:
            prediction = model.predict(row)[0]
        except NotFittedError:
            if classifier and not options:
                raise ValueError(
                    "learn_online: a classifier that has not been fitted needs classes."
                ) from None
            prediction = options["classes"][0] if classifier else 0.0
        predictions.append(prediction)
        targets.append(y)
        losses.append(float(loss(y, prediction)))
        model.partial_fit(row, [y], **options)
    return OnlineTrace(model, np.array(predictions), np.array(targets), np.array(losses))


def _zero_one(y: Any, prediction: Any) -> float:
    return float(y != prediction)


def _square(y: Any, prediction: Any) -> float:
    return float((y - prediction) ** 2)
