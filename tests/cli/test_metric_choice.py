"""The measure that ranks: by the target, or by a name of ours or of scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from tercet.cli import contributions, scorers
from tercet.cli.compare.metric_choice import choose_measure, of_which_class
from tercet.cli.errors import Refusal
from tercet.cli.measures import MEASURES

RNG = np.random.default_rng(6)


def chosen(name, task, y, k=0):
    measure, why = choose_measure(name, task, y, k)
    return measure.name, why


def test_by_the_target():
    assert chosen(None, "classification", np.arange(100) % 2, 2) == ("accuracy", None)
    rare = (np.arange(1000) < 30).astype(int)
    name, why = chosen(None, "classification", rare, 2)
    assert name == "roc_auc"
    assert "97% of the rows are of one class" in why
    assert chosen(None, "classification", (np.arange(50) < 1).astype(int), 2)[0] == "log_loss"
    assert chosen("accuracy", "classification", rare, 2) == ("accuracy", None)
    assert chosen(None, "regression", RNG.normal(size=50)) == ("r2", None)
    assert chosen(None, "clustering", None) == ("silhouette", None)


def test_a_measure_of_one_class_says_of_which():
    """Of 0 and 1 it is 1, as in scikit-learn; of two names it is the rarer one."""
    rare = (np.arange(40) % 4 != 0).astype(int)
    names, numbers = np.array(["ill", "well"]), np.array([0, 1])
    for measure in map(scorers.find, scorers.OF_ONE_CLASS):
        told = of_which_class(measure, names, rare)
        assert told == f"{measure.title} is that of the class 'ill'."
        assert of_which_class(measure, numbers, rare) == f"{measure.title} is that of the class 1."
        given = np.where(np.arange(40) % 3 == 0, 1 - rare, rare)
        if measure.needs == "ranking":
            given = np.stack([1 - given + rare / 9, given], axis=1)
        one = scorers.for_class(measure, scorers.positive_class(names, rare))
        swapped = given[:, ::-1] if given.ndim == 2 else 1 - given
        assert one.of(rare, given, 2) == measure.of(1 - rare, swapped, 2) != measure.of(rare, given, 2)
        assert one.contributions(rare, given, 2).mean() == pytest.approx(one.of(rare, given, 2))
        assert scorers.for_class(measure, scorers.positive_class(numbers, rare)) is measure
    assert of_which_class(scorers.find("f1_micro"), names, rare) is None
    assert of_which_class(scorers.find("average_precision"), ["a", "b", "c"], rare) is None


def test_counts_are_offered_as_counts():
    counts = RNG.poisson(1.5, 200).astype(float)
    name, why = chosen(None, "regression", counts)
    assert name == "r2"
    assert "--metric poisson_deviance" in why
    assert chosen("poisson_deviance", "regression", counts)[0] == "poisson_deviance"
    assert chosen("neg_mean_poisson_deviance", "regression", counts)[0] == "poisson_deviance"
    with pytest.raises(Refusal, match="for regression there are r2, rmse, mae, and"):
        choose_measure("poisson_deviance", "regression", counts - 9, 0)
    years = RNG.integers(1990, 2020, 200).astype(float)
    assert chosen(None, "regression", years)[1] is None


def test_counts_that_are_taken_as_classes_are_offered_as_counts():
    def why(values, classes=None):
        found, y = np.unique(values, return_inverse=True)
        classes = found.tolist() if classes is None else classes
        return choose_measure(None, "classification", y, found.size, classes)[1]

    counts = RNG.poisson(1.5, 400)
    assert "--task regression --metric poisson_deviance" in why(counts)
    assert why(counts, []) is None  # somebody has said that they are classes
    assert why(RNG.integers(0, 10, 400)) is None  # digits
    assert why(RNG.choice([1, 2, 3, 4, 5], 400, p=[0.1, 0.1, 0.2, 0.3, 0.3])) is None  # a rating
    assert why(RNG.integers(0, 3, 400)) is None
    assert why(np.array(list("abcd"))[np.minimum(RNG.poisson(0.7, 400), 3)]) is None


def test_every_scorer_of_scikit_learn_is_known():
    several = {name for name in get_scorer_names() if name.endswith("_samples")}  # labels for a row
    ours = {*MEASURES, *scorers.SAME, *scorers.ALL}
    assert {*get_scorer_names()} - several <= ours
    assert {*scorers.SAME, *scorers.ALL} <= {*get_scorer_names()}
    assert {*scorers.SAME.values()} <= {*MEASURES}


@pytest.mark.parametrize("name", [*scorers.SAME, *scorers.ALL])
def test_scorers_have_scikit_learns_values_without_the_sign(name):
    measure = scorers.find(name)
    scorer = get_scorer(name)
    if measure.task == "clustering":
        given, more = (np.arange(60) // 20, RNG.integers(0, 3, 60)), ()
        expected = scorer._score_func(*given)
    elif measure.task == "regression":
        given, more = (RNG.gamma(2.0, size=60), RNG.gamma(2.0, size=60)), ()
        expected = scorer._score_func(*given, **scorer._kwargs)
    else:
        k = 2 if name in scorers.FOR_TWO_CLASSES else 3
        truth = np.arange(60) % k
        proba = RNG.dirichlet(np.ones(k), 60)
        given = truth, proba if measure.needs in ("proba", "ranking") else proba.argmax(axis=1)
        more = (k,)
        expected = scorer._score_func(*given, **scorer._kwargs)
    assert measure.of(*given, *more) == pytest.approx(expected)
    assert measure.greater_is_better == (scorer._sign > 0)
    assert measure.low <= expected <= measure.high
    if measure.contributions is not None:
        assert measure.contributions(*given, *more).mean() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "task", "y", "words"),
    [
        ("beauty", "classification", np.arange(9) % 2, "accuracy, balanced_accuracy.*scikit-learn"),
        ("r2", "classification", np.arange(9) % 2, "for classification there are accuracy"),
        ("f1", "classification", np.arange(9) % 3, "f1 is for two classes, and there are 3"),
        ("rand_score", "clustering", None, "for clustering there are silhouette"),
        ("neg_log_loss", "regression", np.arange(9.0), "for regression"),
    ],
)
def test_other_names_are_refused(name, task, y, words):
    with pytest.raises(Refusal, match=words):
        choose_measure(name, task, y, 0 if y is None or task == "regression" else int(y.max()) + 1)


MEANS = [name for name, measure in MEASURES.items() if measure.contributions is not None]


@pytest.mark.parametrize("name", MEANS)
def test_contributions_are_the_measure_of_a_sample_to_first_order(name):
    """Rows counted twice move a measure as their contributions say."""
    measure, n = MEASURES[name], 400
    more = (3,)
    if measure.task == "regression":
        truth, more = RNG.poisson(3.0, n).astype(float), ()
        given = truth + RNG.normal(size=n) ** 2 + 0.1
    else:
        truth = RNG.integers(0, 3, n)
        proba = RNG.dirichlet(np.ones(3), n) + 0.4 * np.eye(3)[truth]
        proba /= proba.sum(axis=1, keepdims=True)
        given = proba.argmax(axis=1) if measure.needs == "labels" else proba
    parts = measure.contributions(truth, given, *more)
    assert parts.mean() == pytest.approx(measure.of(truth, given, *more))
    rows = RNG.choice(n, 20, replace=False)
    twice = np.concatenate([np.arange(n), rows])
    moved = measure.of(truth[twice], given[twice], *more) - parts.mean()
    said = parts[twice].mean() - parts.mean()
    assert moved == pytest.approx(said, abs=0.15 * abs(said) + 0.004 * parts.std())


def test_classes_weigh_alike_over_test_sets_that_lack_some():
    truth = np.array([0, 0, 0, 1, 0, 0, 2, 1])
    tests = [np.array([0, 1, 3]), np.array([2, 4]), np.array([5, 6, 7])]
    share = contributions.class_shares(truth, tests, 3)
    assert share == pytest.approx([1 / 3, 1 / 2, 1])
    answer = np.zeros(8, dtype=int)
    scores = [MEASURES["balanced_accuracy"].of(truth[t], answer[t], 3, share) for t in tests]
    assert np.mean(scores) == pytest.approx(1 / 3)
    assert contributions.class_shares(truth, [np.arange(8)], 3) is None
