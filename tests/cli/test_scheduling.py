"""The scheduler within its budget, with a pretended pool and clock."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from tercet.cli.compare import scheduling as module
from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.cost_estimate import extrapolate
from tercet.cli.compare.scheduling import Scheduler
from tercet.cli.compare.worker_pool import TaskResult
from tercet.cli.measures import MEASURES


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


class PretendPool:
    """Does one task at a time; a fit takes what `costs` says; scores come from `scores`."""

    def __init__(self, clock, costs, fail=(), promise=1.0, trial=0.001, trials=()):
        self.clock, self.costs, self.fail, self.promise = clock, costs, dict(fail), promise
        self.trial, self.trials = trial, dict(trials)
        self.log = []

    def run(self, tasks, deadline, begun=None):
        for task in tasks:
            if self.clock.now >= deadline:
                return
            if begun:
                begun(task)
            name, cost = task.label, self.costs.get(task.label, 0.001)
            self.log.append((task.method, name, task.arguments.get("repeat"), task.arguments.get("fold")))
            start = self.clock.now
            trial = task.method == "trial"
            tried = self.trials.get(name, self.trial)
            self.clock.now += min(tried, task.limit) if trial else cost
            if self.fail.get(name) == task.method:
                yield TaskResult(task, error="is not for these data")
            elif self.clock.now > deadline:
                self.clock.now = deadline
                yield TaskResult(task, error="the time was up", lost=True)
                return
            elif trial and tried > task.limit:
                yield TaskResult(task, error="the time was up", lost=True)
            elif trial:
                told = None if self.promise is None else cost * self.promise
                yield TaskResult(task, {"cost": told, "settings": {}, "busy": (start, self.clock.now)})
            else:
                value = {
                    "measures": {"accuracy": 0.9},
                    "fit_time": cost,
                    "predict_time": 0.0,
                    "busy": (start, self.clock.now),
                    "warnings": [],
                }
                if task.method == "combine":
                    many = len(task.arguments["candidates"])
                    value["weights"] = np.array([0.75, 0.25, *[0.0] * (many - 2)])
                yield TaskResult(task, value)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def run(clock, costs, *, deadline, cv=5, repeats=3, patience=1.0, **pool):
    pool = PretendPool(clock, costs, **pool)
    scheduler = Scheduler(
        pool, list(costs), cv=cv, repeats=repeats, jobs=1, deadline=deadline, patience=patience
    )
    scheduler.run()
    return scheduler, pool


def test_cheapest_first_and_whole_rounds(clock):
    scheduler, pool = run(clock, {"slow": 0.5, "quick": 0.01, "middle": 0.1}, deadline=100)
    scored = [entry[1] for entry in pool.log if entry[0] == "score"]
    order = [name for name, _ in itertools.groupby(scored)]
    assert order == [BASELINE, "quick", "middle", "slow"] * 3
    assert {one.complete_repeats(5) for one in scheduler.methods.values()} == {3}


def test_a_method_that_would_burst_the_budget_is_left_out_and_named(clock):
    scheduler, pool = run(clock, {"quick": 0.01, "endless": 50.0}, deadline=20)
    assert "would take about 250.0 s" in scheduler.methods["endless"].dropped
    assert clock.now < 1
    assert scheduler.methods["quick"].complete_repeats(5) == 3
    assert not any(entry[:2] == ("score", "endless") for entry in pool.log)


def test_where_time_is_short_the_dearest_have_fewer_rounds(clock):
    costs = {"quick": 0.1, "slow": 1.0, "strong": 0.4}
    pool = PretendPool(clock, costs)
    scheduler = Scheduler(
        pool, ["strong", "quick", "slow"], leaders=1, cv=5, repeats=5, jobs=1, deadline=22.0
    )
    scheduler.run()
    assert clock.now < 22.0
    assert {one.name: one.complete_repeats(5) for one in scheduler.finished()} == {
        BASELINE: 5,
        "strong": 5,
        "quick": 5,
        "slow": 1,
    }
    assert scheduler.rounds() == 5
    assert scheduler.left_out() == {}


class TwoProcesses(PretendPool):
    """Two tasks at a time; the first fit of a method in a process compiles for so long as `compiling` says."""

    def __init__(self, clock, costs, compiling):
        super().__init__(clock, costs)
        self.compiling, self.compiled = compiling, set()

    def run(self, tasks, deadline, begun=None):
        queue, running = iter(tasks), []
        while True:
            while len(running) < 2 and (task := next(queue, None)) is not None:
                cost = self.costs.get(task.label, 0.001)
                if task.method == "score" and task.label not in self.compiled:
                    cost += self.compiling.get(task.label, 0.0)
                running.append((self.clock.now + cost, len(self.log), task))
                self.log.append((task.method, task.label))
            if not running:
                return
            end, _, task = first = min(running)
            running.remove(first)
            if end > deadline:
                self.clock.now = deadline
                return
            self.clock.now = end
            self.compiled |= {task.label} if task.method == "score" else set()
            if task.method == "trial":
                yield TaskResult(task, {"cost": None, "settings": {}, "busy": (end, end)})
            else:
                value = {"measures": {"accuracy": 0.9}, "fit_time": 0.1, "predict_time": 0.0, "warnings": []}
                yield TaskResult(task, {**value, "busy": (end, end)})


def test_a_method_that_compiles_for_long_does_not_hold_all_processes(clock):
    costs = {"strong": 0.1, "line": 0.1, "tree": 0.1}
    pool = TwoProcesses(clock, costs, compiling={"strong": 30.0, "line": 1.0, "tree": 1.0})
    scheduler = Scheduler(pool, list(costs), leaders=3, cv=5, repeats=1, jobs=2, deadline=20.0, rows=100)
    scheduler.run()
    assert {one.name for one in scheduler.finished()} == {BASELINE, "line", "tree"}


def test_a_round_is_for_all_where_there_is_time(clock):
    scheduler, _ = run(clock, {"quick": 0.1, "slow": 1.0}, deadline=30, repeats=4)
    assert {one.complete_repeats(5) for one in scheduler.finished()} == {4}


def test_a_round_that_is_cut_off_does_not_count(clock):
    """The fits take longer than the trials told."""
    scheduler, _ = run(clock, {"quick": 0.1, "slow": 1.0}, deadline=8.0, repeats=3, promise=0.1)
    assert {one.name: one.complete_repeats(5) for one in scheduler.finished()} == {
        BASELINE: 3,
        "quick": 3,
        "slow": 1,
    }
    scheduler, _ = run(clock, {"slow": 1.0}, deadline=clock.now + 4, promise=0.5)
    assert scheduler.left_out()["slow"] == "the time was up after 3 of 5 folds"
    scheduler.deadline = clock.now + 3
    scheduler.run()  # goes on where it stopped
    assert scheduler.rounds() == 1
    assert len(scheduler.methods["slow"].results) == 5


def test_a_trial_that_fails_or_lasts_too_long_is_not_the_end(clock):
    """A few rows may be too few for a method that is good on all of them."""
    scheduler, _ = run(clock, {"needs many rows": 0.1}, deadline=100, promise=None)
    assert scheduler.rounds() == 3
    scheduler, pool = run(clock, {"compiles": 0.1}, deadline=clock.now + 100, trial=5.0)
    assert scheduler.rounds() == 3
    assert [entry[0] for entry in pool.log].count("trial") == 4  # with little patience, then with more


def test_slow_trials_do_not_keep_the_cheap_from_their_turn(clock):
    slow = [f"compiles {k}" for k in range(9)]
    scheduler, _ = run(
        clock,
        dict.fromkeys([*slow, "quick"], 0.1),
        deadline=50,
        patience=10.0,
        trials=dict.fromkeys(slow, 9.0),
    )
    assert scheduler.methods["quick"].complete_repeats(5) >= 1
    assert clock.now <= 50
    # Nobody is lost without a word.
    assert {one.name for one in scheduler.finished()} | {*scheduler.left_out()} == {*scheduler.methods}


def test_a_dear_method_waits_for_those_of_unknown_cost(clock):
    """Its first round would take a large part of the time: the others may be cheaper."""
    scheduler, pool = run(
        clock,
        {"dear": 4.0, "compiles": 0.1},
        deadline=30,
        repeats=1,
        patience=10.0,
        trials={"compiles": 3.0},
    )
    order = [name for name, _ in itertools.groupby(entry[1] for entry in pool.log if entry[0] == "score")]
    assert order == [BASELINE, "compiles", "dear"]
    assert scheduler.left_out() == {}


def test_refusals_are_kept_with_their_reason(clock):
    scheduler, pool = run(
        clock,
        {"picky": 0.1, "late": 0.1, "good": 0.1},
        deadline=100,
        fail=[("picky", "trial"), ("late", "score")],
    )
    assert scheduler.methods["picky"].dropped == "is not for these data"
    assert scheduler.methods["late"].dropped == "is not for these data"
    assert len([entry for entry in pool.log if entry[:2] == ("score", "late")]) == 1
    assert scheduler.methods["good"].complete_repeats(5) == 3


@pytest.mark.parametrize(
    ("spans", "rows", "seconds"),
    [
        ([(200, 0.01)], 200, 0.01),
        ([(200, 0.010), (2000, 0.019)], 20_000, 0.109),  # 5 microseconds a row
        ([(200, 0.0002), (2000, 0.0009)], 2000, 0.0009),
        ([(200, 0.02), (2000, 0.2)], 20_000, 2.0),  # as the rows
        ([(200, 0.01), (2000, 1.0)], 20_000, 100.0),  # as their square
        ([(200, 0.0001), (2000, 0.0009), (20_000, 0.0015)], 800_000, 0.0275),  # the first trials are noise
    ],
)
def test_costs_are_foretold_from_small_trials(spans, rows, seconds):
    assert extrapolate(spans, rows) == pytest.approx(seconds, rel=0.02)


labels = st.integers(2, 5).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), min_size=2, max_size=40)
    )
)


@given(labels)
def test_measures_of_labels_are_scikit_learns(data):
    from sklearn import metrics

    k, pairs = data
    truth, predicted = np.array(pairs).T
    assert MEASURES["accuracy"].of(truth, predicted, k) == metrics.accuracy_score(truth, predicted)
    assert MEASURES["macro_f1"].of(truth, predicted, k) == pytest.approx(
        metrics.f1_score(truth, predicted, average="macro")
    )
    recall = metrics.recall_score(truth, predicted, average="macro", labels=np.unique(truth), zero_division=0)
    assert MEASURES["balanced_accuracy"].of(truth, predicted, k) == pytest.approx(recall)


@given(st.integers(2, 4), st.integers(0, 10_000))
def test_measures_of_probabilities_are_scikit_learns(k, seed):
    from sklearn import metrics

    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(k), rng.integers(0, k, 20)])
    proba = rng.dirichlet(np.ones(k), truth.size).round(2) + 1e-3  # with ties
    proba /= proba.sum(axis=1, keepdims=True)
    given_ = proba[:, 1] if k == 2 else proba
    area = metrics.roc_auc_score(truth, given_, multi_class="ovr", average="macro")
    assert MEASURES["roc_auc"].of(truth, proba, k) == pytest.approx(area)
    assert MEASURES["log_loss"].of(truth, proba, k) == pytest.approx(metrics.log_loss(truth, proba))


def test_measures_of_numbers_are_scikit_learns():
    from sklearn import metrics

    truth, predicted = np.random.default_rng(0).normal(size=(2, 30))
    assert MEASURES["r2"].of(truth, predicted) == pytest.approx(metrics.r2_score(truth, predicted))
    assert MEASURES["rmse"].of(truth, predicted) == pytest.approx(
        metrics.root_mean_squared_error(truth, predicted)
    )
    assert MEASURES["mae"].of(truth, predicted) == pytest.approx(
        metrics.mean_absolute_error(truth, predicted)
    )


def combining(clock, costs, candidates, *, deadline, repeats=2, leaders=0, **more):
    pool = PretendPool(clock, costs, **more)
    given = {"cv": 5, "repeats": repeats, "jobs": 1, "patience": 1.0, "leaders": leaders}
    names = [name for name in costs if name != "combination"]
    scheduler = Scheduler(pool, names, deadline=clock.now + deadline, candidates=candidates, **given)
    scheduler.run()
    scheduler.combine()
    return scheduler, pool


def test_strong_methods_are_combined_when_there_is_time(clock):
    candidates = [("a", {}), ("b", {}), ("a", {"depth": 2}), ("unknown", {})]
    scheduler, pool = combining(clock, {"a": 0.1, "b": 0.2, "c": 0.1}, candidates, deadline=100)
    combined = scheduler.combination
    assert combined in scheduler.finished()
    assert combined.complete_repeats(5) == scheduler.rounds() == 2
    assert [entry for entry in pool.log if entry[0] == "combine"] == [
        ("combine", "combination", repeat, fold) for repeat in range(2) for fold in range(5)
    ]
    # The pretended splits weigh the first candidate with 3/4 and the second with 1/4.
    assert combined.members == [
        {"name": "a", "settings": {}, "weight": 0.75},
        {"name": "b", "settings": {}, "weight": 0.25},
    ]
    assert combined.settings == {"of": "a 75%, b 25%", "among": "a, b, a (depth=2)"}
    assert scheduler.left_out() == {}
    alone, _ = combining(clock, {"a": 0.1}, [("a", {})], deadline=100)
    assert alone.combination is None


def test_a_combination_has_as_many_candidates_as_there_is_time_for(clock):
    costs, candidates = {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1}, [(name, {}) for name in "abcd"]
    scheduler, _ = combining(clock, costs, candidates, deadline=2.55 + 4.6, repeats=1)
    # Each candidate takes two fits for the choice, each of the three chosen one more, on five folds.
    assert scheduler.combination.settings["among"] == "a, b, c"
    late, _ = combining(clock, costs, candidates, deadline=3.0, repeats=1)
    assert late.combination is None
    assert late.left_out() == {}


def test_a_combination_that_was_cut_off_is_none(clock):
    costs = {"a": 0.1, "b": 0.1, "combination": 30.0}
    scheduler, pool = combining(clock, costs, [("a", {}), ("b", {})], deadline=20, repeats=1)
    assert any(entry[0] == "combine" for entry in pool.log)
    assert scheduler.combination is None
    assert scheduler.left_out() == {}


def test_the_combination_comes_before_the_rest_and_time_is_kept_for_its_rounds(clock):
    costs = {"a": 0.1, "b": 0.1, "other": 0.1, "combination": 0.2}
    candidates = [("a", {}), ("b", {})]
    scheduler, pool = combining(clock, costs, candidates, deadline=12.0, repeats=9, leaders=1)
    order = [key for key, _ in itertools.groupby(entry[:2] for entry in pool.log)]
    assert order.index(("combine", "combination")) < order.index(("score", "other"))
    assert 1 < scheduler.combination.complete_repeats(5) <= scheduler.rounds()
    assert clock.now < 12.0


def test_members_of_a_combination_have_the_settings_that_were_found_on_the_split(clock):
    class Searching(PretendPool):
        given: list = []

        def run(self, tasks, deadline, begun=None):
            for outcome in super().run(tasks, deadline, begun):
                if outcome.task.method == "trial":
                    outcome.value["searched"] = 2
                elif outcome.task.method == "score" and outcome.task.arguments.get("tune"):
                    outcome.value |= {"chosen": {"depth": outcome.task.arguments["fold"] // 4}, "untuned": {}}
                elif outcome.task.method == "combine":
                    self.given.append(outcome.task.arguments["candidates"])
                yield outcome

    pool = Searching(clock, {"a": 0.01, "b": 0.01})
    scheduler = Scheduler(
        pool,
        ["a", "b"],
        tune=True,
        candidates=[("a", {}), ("a", {"width": 3})],
        cv=5,
        repeats=1,
        jobs=1,
        deadline=100.0,
    )
    scheduler.run()
    scheduler.combine()
    assert pool.given == [[("a", {"depth": k // 4}), ("a", {"width": 3})] for k in range(5)]
    assert scheduler.combination.members[0] == {"name": "a", "settings": {"depth": 0}, "weight": 0.75}


def test_the_first_of_each_family_are_scored_before_others_are_tried(clock):
    costs = {"strong": 0.3, "other family": 0.1, "more": 0.01, "still more": 0.01}
    pool = PretendPool(clock, costs)
    scheduler = Scheduler(pool, list(costs), leaders=2, cv=5, repeats=1, jobs=1, deadline=100.0, patience=1.0)
    scheduler.run()
    order = [key for key, _ in itertools.groupby(entry[:2] for entry in pool.log)]
    assert order == [
        *(("trial", name) for name in (BASELINE, "strong", "other family")),
        *(("score", name) for name in (BASELINE, "strong", "other family")),
        *(("trial", name) for name in ("more", "still more")),
        *(("score", name) for name in ("more", "still more")),
    ]


def test_a_small_budget_has_several_rounds_of_the_first(clock):
    """Where the trials of the others take all the time: kernels are compiled when they are first used."""
    costs = {"strong": 0.1, "other family": 0.1, **{f"more {k}": 0.01 for k in range(30)}}
    pool = PretendPool(clock, costs, trials={name: 1.5 for name in costs if "more" in name})
    told = []
    scheduler = Scheduler(
        pool,
        list(costs),
        leaders=2,
        cv=5,
        repeats=10,
        jobs=1,
        deadline=36.0,
        patience=9.0,
        ended=lambda turn, turns: told.append((turn, scheduler.rounds())),
    )
    scheduler.run()
    assert scheduler.rounds() >= 3
    assert all(turn <= rounds for turn, rounds in told)
    assert [turn for turn, _ in told] == list(range(1, scheduler.rounds() + 1))
    assert clock.now <= 36.0
    assert len(scheduler.finished()) > 8


@pytest.mark.parametrize("trial", [0.01, 30.0])
def test_the_shortest_budget_has_an_answer(clock, trial):
    """Nothing is done within it: the quickest method is, and the baseline."""
    costs = {"SVC": 400.0, "GaussianNB": 3.0}
    pool = PretendPool(clock, costs, trial=trial)
    scheduler = Scheduler(pool, list(costs), cv=5, repeats=9, jobs=1, deadline=1.0, patience=0.25)
    scheduler.run()
    assert len(scheduler.finished()) < 2
    scheduler.patience = 100.0
    scheduler.ensure_one(1000.0)
    assert {one.name for one in scheduler.finished()} == {BASELINE, "GaussianNB"}
    assert scheduler.rounds() == 1
    assert "SVC" in scheduler.left_out()
    before = list(pool.log)
    scheduler.ensure_one(1000.0)  # there is one
    assert pool.log == before


def test_a_round_that_was_announced_stays_done(clock):
    told = []
    costs = {"quick": 0.1, "slow": 1.0}
    pool = PretendPool(clock, costs)
    scheduler = Scheduler(
        pool,
        list(costs),
        cv=5,
        repeats=4,
        jobs=1,
        deadline=13.5,
        patience=1.0,
        ended=lambda turn, turns: told.append((turn, scheduler.rounds())),
    )
    scheduler.run()
    scheduler.deadline = 40.0
    scheduler.run()
    assert told == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert scheduler.rounds() == 4


def test_a_search_is_given_up_before_its_method(clock):
    class Searching(PretendPool):
        def run(self, tasks, deadline, begun=None):
            for outcome in super().run(tasks, deadline, begun):
                if outcome.value is not None and outcome.task.method == "trial":
                    outcome.value["searched"] = 4
                yield outcome

    costs = {"short": 0.1, "long": 2.0}
    scheduler = Scheduler(
        Searching(clock, costs), list(costs), tune=True, cv=5, repeats=1, jobs=1, deadline=60.0, patience=1.0
    )
    scheduler.run()
    assert scheduler.methods["short"].tune  # twelve fits on each split
    assert not scheduler.methods["long"].tune
    assert scheduler.rounds() == 1
    assert scheduler.left_out() == {}


def test_pictures_keep_their_share_where_the_first_method_took_too_long(monkeypatch):
    from tercet.cli import compare

    clock = Clock()
    monkeypatch.setattr(compare, "time", clock)
    assert compare._details_deadline(0.0, 100.0) == pytest.approx(88.0)
    clock.now = 300.0
    assert compare._details_deadline(0.0, 100.0) == pytest.approx(316.0)


@pytest.mark.parametrize("task", ["classification", "regression", "clustering"])
def test_one_method_of_each_family_comes_first_and_slow_families_last(task):
    from tercet.cli.compare.method_order import QUICK, SLOW_FAMILIES, STRONGEST, in_order, leaders
    from tercet.core.catalog import methods

    cards = [card for card in methods(task=task) if card.kind == "estimator"]
    names = {card.name for card in methods()}
    assert {*STRONGEST, *QUICK} <= names
    first, order = leaders(cards), in_order(cards)
    assert sorted(order, key=str) == sorted(cards, key=str)
    assert order[: len(first)] == first
    families = [card.family for card in first]
    assert len(families) == len({*families}) > 1
    assert any(card.name in QUICK for card in cards)
    rest = [card.family in SLOW_FAMILIES for card in order[len(first) :]]
    assert rest == sorted(rest)


@pytest.mark.parametrize("size", [0.01, 1.0, 1000.0])
def test_the_perceptron_of_a_comparison_learns_targets_of_any_size(size):
    from sklearn.datasets import make_friedman1

    from tercet.cli.compare.method_order import leaders
    from tercet.cli.compare.worker_tasks import SETTINGS
    from tercet.core.catalog import methods
    from tercet.neural_network import MLPRegressor

    for task, name in (("classification", "MLPClassifier"), ("regression", "MLPRegressor")):
        assert name in [card.name for card in leaders(methods(task=task))]
    X, y = make_friedman1(400, noise=1, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPRegressor(**SETTINGS["MLPRegressor"], random_state=0).fit(X[:300], size * y[:300])
    assert model.score(X[300:], size * y[300:]) > 0.5
