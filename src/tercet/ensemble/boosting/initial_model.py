"""Where gradient boosting starts: the best constants, 0, or another model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from tercet.core.input_errors import shown
from tercet.ensemble.base import takes_weights
from tercet.ensemble.boosting.boosting_losses import BoostingLoss


def fitted_init(
    model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray, loss: BoostingLoss, weighted: bool
) -> Any:
    """Where boosting starts: the best constants, 0, or a fitted estimator."""
    if model.init is None:
        return loss.start(y, weight)
    if isinstance(model.init, str) and model.init == "zero":
        return np.zeros(loss.n_scores)
    needed = "predict_proba" if isinstance(model, ClassifierMixin) else "predict"
    if not hasattr(model.init, "fit") or not hasattr(model.init, needed):
        raise ValueError(
            f"The 'init' parameter of {type(model).__name__} must be a str among {{'zero'}}, None or an object "
            f"implementing 'fit' and '{needed}'. Got {shown(model.init)}."
        )
    if weighted and not takes_weights(model.init):
        raise ValueError(
            f"The initial estimator {type(model.init).__name__} does not support sample weights, which "
            f"{type(model).__name__} was given."
        )
    return clone(model.init).fit(X, model._decode(y), **({"sample_weight": weight} if weighted else {}))


def first_scores(model: Any, X: np.ndarray, loss: Any) -> np.ndarray:
    """F_0 of the rows."""
    if isinstance(model.init_, np.ndarray):
        return np.tile(model.init_, (X.shape[0], 1))
    if isinstance(model, ClassifierMixin):
        return loss.scores(np.asarray(model.init_.predict_proba(X)))
    return np.reshape(np.asarray(model.init_.predict(X), dtype=np.float64), (X.shape[0], 1)).copy()
