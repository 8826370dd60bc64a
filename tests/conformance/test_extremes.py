"""Numbers near the limits of floating point: a model of numbers or an error that says what is wrong."""

import warnings

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from tercet.core.kernel import JIT
from tests.conformance.population import CARDS, data, is_tabular, make

TABULAR = [card for card in CARDS if card.family != "sequence" and is_tabular(card)]
every_estimator = pytest.mark.parametrize("card", TABULAR, ids=lambda card: card.name)
ASKED = ("predict", "predict_proba", "decision_function", "transform")
# No neighbour within the radius: NaN and a warning, as with the peer.
NAN_FAR_AWAY = {"RadiusNeighborsRegressor"}


def cases(card):
    """Few rows at the ends of the range of numbers, and few that a model is easily not determined by."""
    X, y = data(card, n=8, d=2)
    if card.task != "regression":
        y = np.arange(8) % 2
    for size in (1e-320, 1e-300, 1e-160, 1e150, 1e308):
        yield f"X of {size:g}", X * size, y, None, X * size
    if card.task == "regression":
        for size in (1e-300, 1e150, 1e308):
            yield f"y of {size:g}", X, y / y.max() * size, None, X
    one = X.copy()
    one[0, 0] = 1e300
    yield "one value of 1e300", one, y, None, one
    yield "a constant column", X * [1, 0] + [0, 3], y, None, X
    yield "rows far away", X, y, None, X * 1e200
    yield "rows farther away", X, y, None, X * 1e308
    for size in (1e-320, 1e300, 1e308):
        yield f"weights of {size:g}", X, y, np.full(8, size), X
    yield "one weight", X, y, np.eye(8)[3], X


def answers(model, X):
    for name in ASKED:
        if hasattr(model, name):
            found = getattr(model, name)(X)
            yield name, found.toarray() if hasattr(found, "toarray") else np.asarray(found)


@every_estimator
def test_numbers_or_an_error(card):
    for what, X, y, weight, query in cases(card):
        model, given = make(card), {}
        if weight is not None:
            if not has_fit_parameter(model, "sample_weight"):
                continue
            given = {"sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # NumPy's own warnings; kernels that run as plain Python give more of them
            for raw in ("overflow", "invalid value", "divide by zero") if JIT else ():
                warnings.filterwarnings("error", message=f".*{raw}", category=RuntimeWarning)
            try:
                found = list(answers(model.fit(X, y, **given), query))
            except ValueError:
                continue
        for name, values in found:
            if values.dtype.kind == "f" and card.name not in NAN_FAR_AWAY:
                assert np.isfinite(values).all(), f"{name}: {what}"
