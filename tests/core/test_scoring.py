"""`score` of classifiers and regressors: scikit-learn's numbers, and sentences about what is wrong."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score

from tercet.core.estimator import Classifier, Regressor

N = 6
X = np.arange(2.0 * N).reshape(N, 2)


class Threshold(Classifier):
    def _fit(self, X, y, sample_weight):
        pass

    def predict(self, X):
        return self.classes_[(self._check(X, reset=False)[:, 0] > 4).astype(int)]


class FirstColumn(Regressor):
    def _fit(self, X, y, sample_weight):
        self.scale_ = y[-1] / X[-1, 0]

    def predict(self, X):
        return self._check(X, reset=False)[:, 0] * self.scale_


LABELS = np.array([0, 1, 0, 1, 1, 1])
CLASSIFIER = Threshold().fit(X, LABELS)
REGRESSOR = FirstColumn().fit(X, np.arange(N) + 1.0)
RAW = "object of type|setting an array|inhomogeneous|y_true|y_pred|mix of|Input contains"
BAD = {
    "None": None,
    "a number": 5,
    "text": "text",
    "a dict": {"a": 1},
    "too few": LABELS[:-1],
    "sparse": sparse.csr_array(LABELS[:, None]),
    "uneven": [[1]] * 5 + [[1, 2]],
    "None in it": [None, 1, 0, 1, 0, 1],
    "NaN": np.where(LABELS == 0, np.nan, 1.0),
    "strings and numbers": [1, "a"] * 3,
    "three dimensions": np.zeros((N, 2, 2)),
}


@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR], ids=["classifier", "regressor"])
@pytest.mark.parametrize("what", BAD)
def test_targets_that_cannot_be_compared(model, what):
    with pytest.raises((ValueError, TypeError), match=rf"^(?!.*({RAW})).*\by\b"):
        model.score(X, BAD[what])


@pytest.mark.parametrize("y", [["a", "b"] * 3, [0.5, 1.5] * 3, np.array([0, 1, 2**70] * 2, dtype=object)])
def test_labels_unlike_those_learned(y):
    with pytest.raises(ValueError, match=r"\by must hold|\by holds"):
        CLASSIFIER.score(X, y)


@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR], ids=["classifier", "regressor"])
@pytest.mark.parametrize(
    "weight", ["text", [1, 2], np.zeros(N), -np.ones(N), np.full(N, np.nan), np.ones((N, 2))]
)
def test_weights_that_are_none(model, weight):
    with pytest.raises((ValueError, TypeError), match=r"sample_weight|Sample weights"):
        model.score(X, LABELS, sample_weight=weight)


@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR], ids=["classifier", "regressor"])
@pytest.mark.parametrize(
    "rows", [None, "text", [[1.0], [1.0, 2.0]], np.full((N, 2), np.nan), np.ones((N, 3))]
)
def test_rows_that_are_none(model, rows):
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        model.score(rows, LABELS)


def test_the_numbers_of_scikit_learn():
    weight, y = np.arange(N) + 1.0, np.linspace(0, 7, N) ** 2
    for labels in (LABELS, LABELS[:, None], LABELS.tolist(), LABELS + 1):
        assert CLASSIFIER.score(X, labels, weight) == accuracy_score(
            labels, CLASSIFIER.predict(X), sample_weight=weight
        )
    assert REGRESSOR.score(X, y, weight) == r2_score(y, REGRESSOR.predict(X), sample_weight=weight)
    unit = 4.0**480
    assert CLASSIFIER.score(X, LABELS, weight * unit) == CLASSIFIER.score(X, LABELS, weight)
    assert FirstColumn().fit(X, y * unit).score(X, y * unit) == FirstColumn().fit(X, y).score(X, y)
