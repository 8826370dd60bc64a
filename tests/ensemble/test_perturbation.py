"""Perturbed outputs and parameters, and negative correlation learning."""

import numpy as np
import pytest
from scipy.stats import randint
from sklearn.datasets import load_iris

from tercet.ensemble import (
    BaggingClassifier,
    NegativeCorrelationRegressor,
    OutputPerturbationClassifier,
    error_ambiguity,
)
from tercet.ensemble.perturbation.negative_correlation_regressor import Members, outputs
from tercet.ensemble.perturbation.output_perturbation_classifier import flipped, smeared
from tercet.linear_model import LinearRegression
from tercet.tree import DecisionTreeClassifier

X, Y = load_iris(return_X_y=True)


def test_flipped_labels():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    found = [flipped(y, 3, 0.3, np.ones(100), np.random.default_rng(seed)) for seed in range(40)]
    assert {int((labels != y).sum()) for labels in found} == {30}
    changed = np.concatenate([labels[(labels != y) & (y == 0)] for labels in found])
    assert np.mean(changed == 1) == pytest.approx(0.75, abs=0.06)  # 30 of 40 others


def test_smeared_labels():
    outputs = smeared(np.repeat([0, 1], [3000, 1000]), 2, 0.5, np.ones(4000), np.random.default_rng(0))
    noise = outputs - np.eye(2)[np.repeat([0, 1], [3000, 1000])]
    np.testing.assert_allclose(noise.std(axis=0), 0.5 * np.sqrt(0.75 * 0.25), rtol=0.05)


@pytest.mark.parametrize("algorithm", ["flip", "smear"])
def test_perturbed_outputs_make_an_ensemble(algorithm):
    model = OutputPerturbationClassifier(algorithm=algorithm, n_estimators=10, random_state=0, rate=0.3)
    model.fit(X[::2], Y[::2])
    assert model.score(X[1::2], Y[1::2]) > 0.9
    trees = {member.tree_.threshold.tobytes() for member in model}
    assert len(trees) == 10  # members differ, though all have the same rows
    plain = OutputPerturbationClassifier(algorithm=algorithm, n_estimators=2, rate=0.0).fit(X, Y)
    np.testing.assert_array_equal(plain.predict(X), DecisionTreeClassifier().fit(X, Y).predict(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_members_must_suit_the_outputs():
    with pytest.raises(ValueError, match="algorithm='smear' needs a regressor"):
        OutputPerturbationClassifier(DecisionTreeClassifier(), algorithm="smear").fit(X, Y)
    with pytest.raises(ValueError, match="algorithm='flip' needs a classifier"):
        OutputPerturbationClassifier(LinearRegression()).fit(X, Y)


def test_perturbed_parameters():
    asked = {"max_depth": [2, 3, 4], "min_samples_leaf": randint(1, 9)}
    model = BaggingClassifier(n_estimators=20, param_distributions=asked, random_state=0).fit(X, Y)
    assert {member.max_depth for member in model} == {2, 3, 4}
    assert len({member.min_samples_leaf for member in model}) > 3
    again = BaggingClassifier(n_estimators=20, param_distributions=asked, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match="param_distributions has no values for 'max_depth'"):
        BaggingClassifier(param_distributions={"max_depth": []}).fit(X, Y)


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(60, 2))
    return x, np.sin(3 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * rng.normal(size=60)


def test_gradients_of_negative_correlation(wave):
    x, y = wave
    rng = np.random.default_rng(1)
    members = Members(
        rng.normal(size=(2, 6)), rng.normal(size=6), rng.normal(size=(2, 3)), rng.normal(size=2)
    )
    weight = np.full(60, 1 / 60)
    model = NegativeCorrelationRegressor(2, hidden_units=3, penalty=0.7, alpha=0.0)

    def objective(theta):
        """By the error-ambiguity decomposition: (1 - penalty) of the members' error, penalty of the ensemble's."""
        _, f = outputs(theta, x)
        parts = [error_ambiguity(row, target) for row, target in zip(f, y)]
        mean, whole = (np.mean([getattr(part, name) for part in parts]) for name in ("mean_error", "error"))
        return 0.5 * ((1 - 0.7) * mean + 0.7 * whole)

    error, gradients = model._error_and_gradients(members, x, y, weight)
    assert error == pytest.approx(objective(members))
    for k, gradient in enumerate(gradients):
        at = tuple(0 for _ in gradient.shape)
        parts = [part.copy() for part in members]
        parts[k][at] += 1e-6
        slope = (objective(Members(*parts)) - error) / 1e-6
        assert gradient[at] / 2 == pytest.approx(
            slope, abs=1e-5
        )  # the gradient is that of the sum over 2 members


def test_a_penalty_makes_members_differ(wave):
    x, y = wave
    spread = []
    for penalty in (0.0, 0.9):
        model = NegativeCorrelationRegressor(4, penalty=penalty, random_state=0).fit(x, y)
        assert model.score(x, y) > 0.9
        spread.append(model.member_predictions(x).std(axis=1).mean())
        np.testing.assert_allclose(model.member_predictions(x).mean(axis=1), model.predict(x))
    assert spread[1] > 1.5 * spread[0]
