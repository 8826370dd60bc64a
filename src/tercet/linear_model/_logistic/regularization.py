"""C and l1_ratio of logistic regression, and the deprecated `penalty` that says the same in other words."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np

Penalty = Literal["l1", "l2", "elasticnet", "deprecated"] | None
BY_NAME = {"l2": 0.0, "l1": 1.0}


class Regularization(NamedTuple):
    """The penalty of a fit: its kind ("l2", "l1", "elasticnet", None), C, and the share of L1."""

    kind: str | None
    C: float
    l1_ratio: float


def regularization(model: Any) -> Regularization:
    """The penalty that `penalty`, `C` and `l1_ratio` of a model come to."""
    if model.penalty == "deprecated":
        ratio = 0.0 if model.l1_ratio is None else float(model.l1_ratio)
        kind = {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet")
        return Regularization(None if np.isinf(model.C) else kind, model.C, ratio)
    if model.penalty is None:
        return Regularization(None, np.inf, 0.0)
    if model.penalty == "elasticnet" and model.l1_ratio is None:
        raise ValueError(
            f"{type(model).__name__}: l1_ratio must be specified when penalty is elasticnet: a number in [0, 1]; "
            "got l1_ratio=None."
        )
    return Regularization(model.penalty, model.C, BY_NAME.get(model.penalty, model.l1_ratio))


def warn_of_deprecated(model: Any) -> None:
    """The warnings that scikit-learn gives for `penalty`, `l1_ratio=None` and for parameters that contradict it."""
    name, penalty, ratio = type(model).__name__, model.penalty, model.l1_ratio
    if penalty == "deprecated":
        if ratio is None:
            _future(f"{name}: 'l1_ratio=None' was deprecated in version 1.8 of scikit-learn; give 0 for L2.")
    else:
        _future(
            f"{name}: 'penalty' was deprecated in version 1.8 of scikit-learn and goes away in its 1.10. Leave it "
            "out, and give l1_ratio=0 for 'l2', l1_ratio=1 for 'l1', a number between them for 'elasticnet', and "
            "C=np.inf for None."
        )
    kind = regularization(model).kind
    if kind != "elasticnet" and ratio is not None and 0 < ratio < 1:
        _plain(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={kind})")
    if penalty in BY_NAME and ratio != BY_NAME[penalty]:
        _plain(
            f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. The penalty decides; it is deprecated."
        )
    if penalty is None and model.C != 1.0:
        _plain("Setting penalty=None will ignore the C and l1_ratio parameters")


def warn_of_changing_defaults(model: Any, ratios: Any) -> None:
    """The warnings that scikit-learn gives for parameters of LogisticRegressionCV that are about to change.

    `ratios` are the values of l1_ratios, None where there are none.
    """
    name, messages = type(model).__name__, []
    if isinstance(model.l1_ratios, str) and model.l1_ratios == "warn":
        messages.append(
            "The default value for l1_ratios will change from None to (0.0,) in scikit-learn 1.10; set it."
        )
    elif model.l1_ratios is None and model.penalty == "deprecated":
        messages.append("'l1_ratios=None' was deprecated in version 1.8 of scikit-learn; give (0,) for L2.")
    if model.penalty != "deprecated":
        messages.append(
            "'penalty' was deprecated in version 1.8 of scikit-learn and goes away in its 1.10. Leave it out, "
            "and give l1_ratios=(0,) for 'l2', (1,) for 'l1', numbers between them for 'elasticnet'."
        )
    if isinstance(model.scoring, str) and model.scoring == "warn":
        messages.append(
            "The default value of the parameter 'scoring' will change from None, which is accuracy, to "
            "'neg_log_loss' in scikit-learn 1.11; set it."
        )
    if isinstance(model.use_legacy_attributes, str):
        messages.append(
            f"The fitted attributes of {name} will be simplified. The default value of use_legacy_attributes "
            "will change from True to False in scikit-learn 1.10. Set it: False is the new form, True the old one."
        )
    for message in messages:
        warnings.warn(message, FutureWarning, stacklevel=5)
    if model.penalty in BY_NAME and ratios is not None:
        warnings.warn(
            f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={model.penalty})",
            UserWarning,
            stacklevel=5,
        )


def _future(message: str) -> None:
    warnings.warn(message, FutureWarning, stacklevel=5)


def _plain(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)
