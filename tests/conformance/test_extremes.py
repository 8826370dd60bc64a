"""Numbers near the limits of floating point: a model of numbers or an error that says what is wrong."""

import warnings

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from tercet.core.kernel import JIT
from tests.conformance.population import CARDS, data, is_sequential, is_tabular, make, output

TABULAR = [card for card in CARDS if is_tabular(card)]
RELATIVE = [card for card in TABULAR if card.load().relative_weights]
every_estimator = pytest.mark.parametrize("card", TABULAR, ids=lambda card: card.name)
ASKED = ("predict", "predict_proba", "decision_function", "transform")
# No neighbour within the radius: NaN and a warning, as with the peer.
NAN_FAR_AWAY = {"RadiusNeighborsRegressor"}


def cases(card):
    """Few rows at the ends of the range of numbers, and few that a model is easily not determined by."""
    X, y = data(card, n=8, d=2)
    X = X / max(X.max(), 1.0)  # counts, too
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
        yield f"weights of {size:g}", X, y, np.full(len(X), size), X
    if not is_sequential(card):
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
            given = {"sample_weight": weight[:1] if is_sequential(card) else weight}
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


@pytest.mark.parametrize("card", RELATIVE, ids=lambda card: card.name)
def test_the_unit_of_the_weights_does_not_matter(card):
    X, y = data(card, n=16, d=2)
    weight = np.random.default_rng(0).random(16) + 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = output(make(card).fit(X, y, sample_weight=weight), X)
        for unit in (4.0**-500, 4.0**500):
            found = output(make(card).fit(X, y, sample_weight=weight * unit), X)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_weights_are_refused():
    (card,) = [card for card in CARDS if card.name == "Ridge"]
    X, y = data(card, n=16, d=2)
    with pytest.raises(ValueError, match=r"sample_weight adds up to 1.6e\+301; the sum must be from"):
        make(card).fit(X, y, sample_weight=np.full(16, 1e300))
