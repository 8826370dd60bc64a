"""Output codes: their distances, what they correct, and the ways to decode them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from tercet.multiclass import OneVsRestClassifier, OutputCodeClassifier, code_distances, code_matrix
from tercet.multiclass.output_codes import codeword_distances

X, y = load_digits(n_class=6, return_X_y=True)
X, y = X[:400] / 16, y[:400]


@pytest.mark.parametrize("n", range(2, 9))
def test_exhaustive_code_has_every_split_once(n):
    code = code_matrix("exhaustive", n)
    assert code.shape == (n, 2 ** (n - 1) - 1)
    assert (code[0] == 1).all()
    assert len({tuple(column) for column in code.T}) == code.shape[1]
    assert (code.min(axis=0) == -1).all()
    # Any two rows differ in half of all the splits.
    assert (codeword_distances(code)[np.triu_indices(n, 1)] == 2 ** (n - 2)).all()


@given(st.integers(3, 6), st.integers(2, 5), st.sampled_from(["random", "sparse"]), st.integers(0, 1000))
def test_random_codes(n, per_class, kind, seed):
    code = code_matrix(kind, n, n * per_class, random_state=seed)
    assert code.shape == (n, n * per_class)
    assert set(np.unique(code)) <= ({-1, 1} if kind == "random" else {-1, 0, 1})
    if kind == "sparse":
        assert ((code.max(axis=0) == 1) & (code.min(axis=0) == -1)).all()
    nearest = codeword_distances(code)[np.triu_indices(n, 1)].min()
    best = code_matrix(kind, n, n * per_class, n_draws=20, random_state=seed)
    assert codeword_distances(best)[np.triu_indices(n, 1)].min() >= nearest


@given(st.data(), st.integers(3, 6), st.integers(0, 1000))
def test_errors_are_corrected(data, n, seed):
    code = code_matrix("random", n, 4 * n, random_state=seed)
    nearest = codeword_distances(code)[np.triu_indices(n, 1)].min()
    assume(nearest >= 3)
    flips = int((nearest - 1) // 2)
    letters = data.draw(st.lists(st.integers(0, 4 * n - 1), min_size=flips, max_size=flips, unique=True))
    received = code.copy()
    received[:, letters] *= -1
    for decoding in ("hamming", "euclidean", "loss"):
        assert_array_equal(code_distances(received, code, decoding).argmin(axis=1), np.arange(n))


def test_losses():
    outputs, code = np.array([[0.5, -2.0, 3.0]]), np.array([[1.0, -1, 0], [-1, 1, 1]])
    z = outputs * code
    assert_allclose(code_distances(outputs, code, "loss")[0], np.exp(-z).sum(axis=1))
    assert_allclose(code_distances(outputs, code, "loss", loss="hinge")[0], np.maximum(0, 1 - z).sum(axis=1))
    assert_allclose(
        code_distances(outputs, code, "loss", loss="logistic")[0], np.log1p(np.exp(-z)).sum(axis=1)
    )
    weights = np.array([[0.2, 0.3, 0.5], [1.0, 0, 0]])
    weighted = code_distances(outputs, code, "loss-weighted", loss="hinge", weights=weights)
    assert_allclose(weighted[0], (weights * np.maximum(0, 1 - z)).sum(axis=1))


def test_one_vs_rest_code_is_one_vs_rest():
    ours = OutputCodeClassifier(RidgeClassifier(), code="one-vs-rest", decoding="loss", loss="hinge").fit(
        X, y
    )
    rest = OneVsRestClassifier(RidgeClassifier()).fit(X, y)
    outputs = np.column_stack([e.decision_function(X) for e in ours.estimators_])
    assert_allclose(outputs, rest.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("code", ["sparse", "exhaustive", "one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize("decoding", ["euclidean", "hamming", "loss", "loss-weighted"])
@pytest.mark.parametrize(
    "base", [RidgeClassifier(), GaussianNB(var_smoothing=0.1)], ids=["scores", "probabilities"]
)
def test_codes_and_decodings_learn(code, decoding, base):
    model = OutputCodeClassifier(base, code=code, code_size=4, decoding=decoding, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert len(model.estimators_) == model.code_book_.shape[1]
    scores = model.decision_function(X)
    assert_array_equal(scores.argmax(axis=1), model.predict(X))


def test_unused_classes_are_not_seen():
    code = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]])
    model = OutputCodeClassifier(GaussianNB(), code=code).fit(X, y)
    assert_array_equal(model.estimators_[0].class_count_.sum(), np.isin(y, [0, 1, 4, 5]).sum())
    assert model.min_distance_ == 0.5


def test_weights_of_letters():
    model = OutputCodeClassifier(GaussianNB(), code="one-vs-one", decoding="loss-weighted").fit(X, y)
    assert_allclose(model.letter_weights_.sum(axis=1), 1)
    assert (model.letter_weights_[model.code_book_ == 0] == 0).all()


def test_reports_and_errors():
    with pytest.warns(UserWarning, match="have the same code word and cannot be told apart"):
        OutputCodeClassifier(GaussianNB(), code_size=0.2, random_state=0).fit(X, y)
    for options, message in [
        ({"code": "dense"}, "code must be 'random', .* got 'dense'"),
        ({"code": [[1, -1], [2, 1]]}, "a row of -1, 0 and 1 for each of 6 classes"),
        ({"code": np.ones((6, 2))}, "column 0 must have both a 1 and a -1"),
        ({"code_size": 0.1}, "6 classes would get 0 letters"),
        ({"decoding": "nearest"}, "'decoding' must be one of 'euclidean'"),
    ]:
        with pytest.raises(ValueError, match=message):
            OutputCodeClassifier(GaussianNB(), **options).fit(X, y)
    with pytest.raises(ValueError, match="would need 32767 estimators"):
        code_matrix("exhaustive", 16)


def test_generator_as_seed():
    a, b = (code_matrix("random", 5, 8, random_state=np.random.default_rng(3)) for _ in range(2))
    assert_array_equal(a, b)


def test_exponential_losses_beyond_floating_point_are_compared():
    code = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    with np.errstate(over="raise"):
        far = code_distances([[-2000.0, -1999.0], [-1e150, -2e150], [-1e150, 1e150]], code, "loss")
    assert np.isfinite(far).all()
    assert_array_equal(far.argmin(axis=1), [2, 1, 2])  # e^1999 is less than e^2000


def test_scores_of_single_precision_are_compared_without_overflow():
    X = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    with np.errstate(over="raise"):
        model = OutputCodeClassifier(OneVsRestClassifier(RidgeClassifier()), random_state=0).fit(
            X, [0, 1, 2, 2]
        )
        assert model.predict(X).shape == (4,)
