"""`score` of classifiers and regressors: scikit-learn's numbers, and sentences about what is wrong."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from tercet.core.estimator import Classifier, Regressor
from tercet.ensemble import VotingClassifier
from tercet.naive_bayes import BayesDecisionClassifier, BernoulliNB, GaussianNB

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


def nearly_alike(labels, n=90):
    """Rows of two or three classes that overlap."""
    rng = np.random.default_rng(0)
    index = np.arange(n) % len(labels)
    return rng.normal(size=(n, 2)) + index[:, None], np.array(labels)[index]


def voting(**options):
    # each sees something else in a row: three of them need not agree
    members = [(f"m{k}", BernoulliNB(binarize=float(k))) for k in (0, 1, 2)]
    return VotingClassifier([*members, ("g", GaussianNB())], majority=True, **options)


def rejecting(kind, **options):
    if kind == "bayes":
        return BayesDecisionClassifier(GaussianNB(), reject=0.3, **options)
    return voting(voting=kind, **options)


@pytest.mark.parametrize("kind", ["hard", "soft", "bayes"])
@pytest.mark.parametrize(
    ("labels", "options", "label"),
    [
        ((0, 1, 2), {}, -1),
        ((-1, 1), {}, -2),
        ((False, True), {}, -1),
        (("a", "b", "c"), {}, "reject"),
        ((0, 1, 2), {"reject_label": "?"}, "?"),
        (("a", "b", "c"), {"reject_label": 0}, 0),
    ],
    ids=str,
)
def test_a_rejected_row_counts_as_an_error(kind, labels, options, label):
    A, y = nearly_alike(labels)
    model = rejecting(kind, **options).fit(A, y)
    said = model.predict(A)
    rejected = np.array([one == label for one in said.tolist()])
    if kind != "soft" or len(labels) > 2:
        assert 0 < rejected.sum() < len(y)
    right = np.array([a == b for a, b in zip(said.tolist(), y.tolist())])
    assert model.score(A, y) == pytest.approx(right.mean())
    weight = np.arange(len(y)) % 3
    assert model.score(A, y, sample_weight=weight) == pytest.approx(np.average(right, weights=weight))
    assert model.score(A[rejected], y[rejected]) == 0.0 if rejected.any() else True
    assert np.isfinite(cross_val_score(rejecting(kind, **options), A, y, cv=3, error_score="raise")).all()
    if not options:
        scores = cross_val_score(rejecting(kind), A, y, cv=3, scoring="accuracy", error_score="raise")
        np.testing.assert_allclose(scores, cross_val_score(rejecting(kind), A, y, cv=3))


@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro"])
@pytest.mark.parametrize("options", [{}, {"reject_label": None}, {"reject_label": "?"}])
def test_classifiers_that_may_reject_and_do_not(scoring, options):
    """Predictions have the type of the classes, so that any scorer takes them."""
    A, y = nearly_alike((0, 1))
    members = [("a", GaussianNB()), ("b", GaussianNB()), ("c", GaussianNB())]
    for model in (
        VotingClassifier(members, majority=True, **options),
        BayesDecisionClassifier(GaussianNB(), reject=0.9, **options),
    ):
        assert model.fit(A, y).predict(A).dtype == y.dtype
        search = GridSearchCV(
            model, {"reject_label": [None, "?"]}, cv=3, scoring=scoring, error_score="raise"
        )
        assert np.isfinite(search.fit(A, y).best_score_)


def test_a_member_that_rejects_a_row_does_not_vote_on_it():
    A, y = nearly_alike(("a", "b", "c"))
    for label in (None, "?"):
        silent = BayesDecisionClassifier(GaussianNB(), reject=0.0, reject_label=label)
        pair = VotingClassifier([("silent", silent), ("g", GaussianNB())]).fit(A, y)
        np.testing.assert_array_equal(pair.predict(A), GaussianNB().fit(A, y).predict(A))
        assert (pair.transform(A)[:, 0] == -1).all()


def test_the_label_of_rejected_rows_is_no_class():
    A, y = nearly_alike((0, 1))
    for model in (voting(reject_label=1), rejecting("bayes", reject_label=1)):
        with pytest.raises(ValueError, match="reject_label=1 must not be one of the classes"):
            model.fit(A, y)
