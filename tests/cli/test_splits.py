"""Splits by class, group and time, and choices that never see the test rows."""

import numpy as np
import polars as pl
import pytest

from tercet.cli import errors
from tercet.cli.compare import nested_choice
from tercet.cli.compare.row_structure import read_structure
from tercet.cli.compare.search_spaces import SPACES, search_space
from tercet.cli.compare.splits import MOST_UNITS, Splitter, forward_chaining
from tercet.cli.compare.worker_tasks import WorkerTasks
from tercet.core.catalog import methods
from tercet.datasets import Table
from tercet.feature import infer_schema

RNG = np.random.default_rng(4)
N = 120
GROUPS = np.repeat(np.arange(24), 5)
TIMES = RNG.permutation(np.repeat(np.arange(40), 3)).astype(float)
Y = RNG.integers(0, 2, N)


def work(y=Y, task="classification", metric="accuracy", columns=None, **more):
    columns = columns or {"a": RNG.normal(size=N) + y, "b": RNG.normal(size=N)}
    frame = pl.DataFrame({**columns, "y": [f"c{v}" for v in y] if task == "classification" else y})
    schema = infer_schema(frame, "y", task)
    given = {"records": schema.to_records(frame), "y": schema.to_target(frame)[0], "schema": schema}
    return WorkerTasks(**given, task=task, metric=metric, cv=5, seed=0, **more)


@pytest.mark.parametrize("y", [None, Y])
def test_groups_are_never_on_both_sides(y):
    splitter = Splitter(5, 0, y is not None, groups=GROUPS)
    for repeat in range(3):
        splits = splitter.split(y, N, repeat)
        assert sorted(np.concatenate([test for _, test in splits])) == list(range(N))
        for train, test in splits:
            assert not {*GROUPS[train]} & {*GROUPS[test]}
            for inside, held in splitter.within(train, y, 3):
                assert {*inside} | {*held} == {*train}
                assert not {*GROUPS[inside]} & {*GROUPS[held]}
    first, second = (splitter.split(y, N, repeat)[0][1].tolist() for repeat in range(2))
    assert first != second


@pytest.mark.parametrize("cv", [2, 5, 39])
def test_tests_come_after_what_was_learned(cv):
    splits = forward_chaining(TIMES, cv)
    assert len(splits) == cv
    seen = [row for _, test in splits for row in test]
    assert len(seen) == len({*seen})  # the first stretch is never tested
    for train, test in splits:
        assert test.size
        assert TIMES[train].max() < TIMES[test].min()  # one moment is on one side
    splitter = Splitter(cv, 0, True, times=TIMES)
    train = splits[-1][0]
    for inside, held in splitter.within(train, Y, 3):
        assert TIMES[inside].max() < TIMES[held].min()
    with pytest.raises(ValueError, match="at least 41 different times"):
        forward_chaining(TIMES, 40)


def test_units_of_the_bootstrap():
    assert Splitter(5, 0).units(N).tolist() == list(range(N))
    assert (Splitter(5, 0, groups=GROUPS + 7).units(N) == GROUPS).all()
    blocks = Splitter(5, 0, times=TIMES).units(N)
    order = np.argsort(TIMES, kind="stable")
    assert (np.diff(blocks[order]) >= 0).all()
    assert 1 < np.bincount(blocks).max() < 10
    many = Splitter(5, 0).units(3 * MOST_UNITS)
    assert np.bincount(many).tolist() == [3] * MOST_UNITS


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "roc_auc"])
def test_one_answer_for_everything_is_worth_no_more_where_folds_lack_a_class(metric):
    """Two rows of a class in five folds: three folds have none of it."""
    y = np.zeros(50, dtype=int)
    y[:2] = 1
    tasks = work(y, metric=metric, columns={"a": np.arange(50.0), "b": RNG.normal(size=50)})
    scores = [tasks.score("baseline", {}, 0, fold)["measures"][metric] for fold in range(5)]
    known = [score for score in scores if np.isfinite(score)]
    assert np.mean(known) <= 0.5 + 1e-12
    if metric == "balanced_accuracy":
        assert scores == pytest.approx([0.5] * 5)


def test_contributions_of_a_split_add_up_to_its_score():
    for task, metrics in (
        (
            "classification",
            ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "log_loss", "f1_weighted"),
        ),
        ("regression", ("r2", "rmse", "mae", "neg_median_absolute_error")),
    ):
        for metric in metrics:
            y = Y if task == "classification" else RNG.normal(size=N)
            tasks = work(y, task, metric)
            name = "GaussianNB" if task == "classification" else "LinearRegression"
            found = tasks.score(name, {}, 0, 1)
            units, sums, rows = found["parts"]
            assert units.tolist() == sorted(tasks.splits(0)[1][1])
            assert sums.sum() / rows.sum() == pytest.approx(found["measures"][tasks.measure.name])


class Spy(WorkerTasks):
    """Keeps the rows that models were fitted on and asked about."""

    def encode(self, name, train, test, key=None):
        self.seen.append((name, {*train.tolist()}, None if test is None else {*test.tolist()}))
        return super().encode(name, train, test, key)


def spying(**more):
    tasks = work(**more)
    tasks.__class__, tasks.seen = Spy, []
    return tasks


def test_the_members_of_a_combination_are_chosen_without_the_test_rows():
    tasks = spying()
    candidates = [
        (name, {})
        for name in ("GaussianNB", "DecisionTreeClassifier", "KNeighborsClassifier", "LogisticRegression")
    ]
    found = tasks.combine(candidates, 0, 2)
    _, test = tasks.splits(0)[2]
    outer = [name for name, _, held in tasks.seen if held == {*test.tolist()}]
    inner = [(learned, held) for _, learned, held in tasks.seen if held != {*test.tolist()}]
    weights = found["weights"]
    assert weights.sum() == pytest.approx(1.0)
    assert outer == [name for (name, _), weight in zip(candidates, weights) if weight]
    assert len(inner) == len(candidates) * nested_choice.FOLDS
    for learned, held in inner:
        assert not (learned | held) & {*test.tolist()}


def test_settings_are_chosen_without_the_test_rows_and_the_untuned_score_is_kept():
    rows = RNG.normal(size=(N, 2))
    y = (np.hypot(*rows.T) > 1.1).astype(int)  # a circle, which needs depth
    tasks = spying(y=y, columns={"a": rows[:, 0], "b": rows[:, 1]})
    found = tasks.score("DecisionTreeClassifier", {"max_depth": 1}, 0, 3, tune=True)
    _, test = tasks.splits(0)[3]
    for _, learned, held in tasks.seen:
        assert not learned & {*test.tolist()}
        assert held == {*test.tolist()} or not held & {*test.tolist()}
    assert found["chosen"]["max_depth"] != 1
    assert found["measures"]["accuracy"] > found["untuned"]["accuracy"]
    assert found["untuned"] == tasks.score("DecisionTreeClassifier", {"max_depth": 1}, 0, 3)["measures"]
    assert tasks.trial("DecisionTreeClassifier")["searched"] == len(search_space("DecisionTreeClassifier"))


@pytest.mark.parametrize("name", sorted(SPACES))
def test_search_spaces_are_small_and_valid(name):
    card = next(card for card in methods() if card.name == name and card.kind == "estimator")
    space = search_space(name)
    assert 1 < len(space) <= 7
    default = card.load()().get_params()
    for settings in space:
        model = card.load()(**settings)
        assert {key: model.get_params()[key] for key in settings} == settings
        assert any(default[key] != value for key, value in settings.items())  # beside the defaults


def test_the_search_works_where_settings_fail():
    """More neighbours than rows, say: the rest is searched."""
    y = np.arange(30) % 2
    tasks = work(y, columns={"a": y + RNG.normal(size=30), "b": RNG.normal(size=30)})
    found = tasks.score("KNeighborsClassifier", {}, 0, 0, tune=True)
    assert found["chosen"].get("n_neighbors", 5) < 24


FRAME = pl.DataFrame(
    {
        "day": [f"2024-01-{1 + k % 28:02d}" for k in range(30)],
        "who": [None if k % 7 == 0 else f"p{k % 6}" for k in range(30)],
        "gap": [None if k == 3 else float(k) for k in range(30)],
        "y": [k % 2 for k in range(30)],
    }
)


def test_groups_and_times_from_columns():
    table = Table(FRAME)
    groups = read_structure(table, "who", None)
    assert groups.kind == "group"
    assert np.unique(groups.groups).size == 7  # those without one are a group
    times = read_structure(table, None, "day")
    assert times.kind == "time"
    assert (np.argsort(times.times, kind="stable")[:2] == [0, 28]).all()
    assert times.take(np.array([1, 0])).times.tolist() == times.times[[1, 0]].tolist()
    assert read_structure(table, None, None).kind == "random"
    for asked, words in (
        ((None, "who"), "a column of dates or numbers is needed"),
        ((None, "gap"), "1 rows have no time"),
        (("nobody", None), "there is no column nobody"),
        (("who", "day"), "exclude each other"),
    ):
        with pytest.raises(errors.Refusal, match=words):
            read_structure(table, *asked)
    with pytest.raises(errors.Refusal, match="7 different values, and --cv 9 needs at least 9"):
        groups.check(9)
