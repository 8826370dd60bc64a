"""Forward stagewise modelling: AdaBoost by the exponential loss (Thm 8.3), Ex 8.2, any loss and base learner."""

import numpy as np
import pytest

from tercet.ensemble import AdaBoostClassifier, ForwardStagewiseRegressor, forward_stagewise
from tercet.linear_model import LinearRegression, Ridge
from tercet.losses import Absolute, Exponential, Logistic, Squared
from tercet.tree import DecisionStump, DecisionTreeRegressor

X81, Y81 = np.arange(10.0), np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
X82 = np.arange(1.0, 11.0)[:, None]
Y82 = np.array([5.56, 5.70, 5.91, 6.40, 6.80, 7.05, 8.90, 8.70, 9.00, 9.05])


def test_theorem_8_3():
    cuts = np.arange(0.5, 9.5)
    left = np.where(X81[:, None] < cuts, 1.0, -1.0)
    fit = forward_stagewise(Y81, left, Exponential(), 3)
    boosted = AdaBoostClassifier(DecisionStump(), n_estimators=3, algorithm="m1").fit(X81[:, None], Y81)
    assert [cuts[j] for j in fit.chosen] == [stump.threshold_ for stump in boosted]
    signs = [stump.left_ for stump in boosted]  # a stump of the other sign has the coefficient -alpha
    np.testing.assert_allclose(fit.coefficients * signs, boosted.estimator_weights_, atol=1e-8)
    np.testing.assert_allclose(fit.losses[1:] / 10, np.cumprod(boosted.history_["Z"]), rtol=1e-9)


def test_boosting_tree_of_example_8_2():
    model = ForwardStagewiseRegressor(n_estimators=6).fit(X82, Y82)
    assert [member.tree_.threshold[0] for member in model] == [6.5, 3.5, 6.5, 4.5, 6.5, 2.5]
    np.testing.assert_allclose(
        np.array(model.history_["loss"]) * 10,
        [1.930008, 0.800675, 0.478008, 0.305559, 0.228915, 0.172178],
        atol=1e-6,
    )
    np.testing.assert_allclose(model.coefficients_, 0.5, rtol=1e-6)  # of the negative gradient 2 (y - f)


def test_a_sum_of_linear_models_is_linear():
    model = ForwardStagewiseRegressor(LinearRegression(), n_estimators=5).fit(X82, Y82)
    assert len(model) <= 2  # nothing is left after the first
    np.testing.assert_allclose(model.predict(X82), LinearRegression().fit(X82, Y82).predict(X82), rtol=1e-6)
    ridge = ForwardStagewiseRegressor(Ridge(alpha=50.0), n_estimators=5).fit(X82, Y82)
    assert np.all(np.diff(ridge.history_["loss"]) <= 0)


@pytest.mark.parametrize("loss", ["absolute", "huber", Absolute(), Logistic(), Exponential()])
def test_every_round_lowers_any_loss(loss):
    y = np.sign(Y82 - 7) if getattr(loss, "margin", False) else Y82
    model = ForwardStagewiseRegressor(DecisionTreeRegressor(max_depth=2), loss=loss, n_estimators=6).fit(
        X82, y
    )
    assert np.all(np.diff(model.history_["loss"]) <= 1e-12)
    with pytest.raises(ValueError, match="y of the Exponential loss must"):
        ForwardStagewiseRegressor(loss=Exponential()).fit(X82, Y82)


def test_weights_are_repetitions():
    weight = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    weighted = ForwardStagewiseRegressor(n_estimators=4).fit(X82, Y82, weight)
    repeated = ForwardStagewiseRegressor(n_estimators=4).fit(
        np.repeat(X82, weight, axis=0), np.repeat(Y82, weight)
    )
    np.testing.assert_allclose(weighted.predict(X82), repeated.predict(X82), rtol=1e-7)
    fit = forward_stagewise(Y82, np.column_stack([np.ones(10), X82]), Squared(), 2, weight)
    assert fit.coefficients[0 if fit.chosen[0] == 0 else 1] != 0
