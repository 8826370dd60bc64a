"""What all hidden Markov models share: labels, topologies, starts, weights, threads, the course of a fit."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from tercet import EarlyStopping
from tercet.core.steps import fitted_attributes
from tercet.sequence import CategoricalHMM
from tercet.sequence.hmm.categorical_hmm import CategoricalEmissions
from tercet.sequence.hmm.em import EStep
from tercet.sequence.hmm.state_labels import state_codes

TRUE = CategoricalHMM(3, random_state=0)
TRUE.startprob_ = [0.6, 0.3, 0.1]
TRUE.transmat_ = [[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]]
TRUE.emissionprob_ = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def corpus(count=40, seed=0, most=30):
    """Sequences of symbols and states."""
    rng = np.random.default_rng(seed)
    pairs = [TRUE.sample(int(n), random_state=int(n) + k) for k, n in enumerate(rng.integers(1, most, count))]
    return [X[:, 0] for X, _ in pairs], [states for _, states in pairs]


def same(one, other):
    a, b = fitted_attributes(one), fitted_attributes(other)
    return a.keys() == b.keys() and all(
        np.array_equal(a[name], b[name]) if isinstance(a[name], np.ndarray) else a[name] == b[name]
        for name in a
    )


# Labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "count", "names", "codes"),
    [
        ([0, 2, -1], 3, [0, 1, 2], [0, 2, -1]),
        ([1, 0, 1], None, [0, 1], [1, 0, 1]),
        ([3, 7, -1], None, [3, 7], [0, 1, -1]),
        ([3, 7, 7], 4, [3, 7, 8, 9], [0, 1, 1]),
        ([1.0, np.nan, 0.0], None, [0, 1], [1, -1, 0]),
        (["b", "a", "b"], None, ["a", "b"], [1, 0, 1]),
        (["b", None, "a"], 3, ["a", "b", "state 2"], [1, -1, 0]),
        ([1, None, 0], None, [0, 1], [1, -1, 0]),
        ([-1, -1], 2, [0, 1], [-1, -1]),
        ([True, False], None, [False, True], [1, 0]),
        ([True, None, True], 2, [False, True], [1, -1, 1]),
        ([True, True], None, [True], [0, 0]),
        ([False, True], 4, [False, True, 2, 3], [0, 1]),
    ],
)
def test_names_of_states(labels, count, names, codes):
    given_labels = np.array(labels, dtype=object if None in labels else None)
    found, states = state_codes(given_labels, count, "HMM")
    assert found.tolist() == names
    assert [type(name) for name in found.tolist()] == [type(name) for name in names]
    assert states.tolist() == codes


@pytest.mark.parametrize(
    ("labels", "count", "message"),
    [
        (["a", "b", "c"], 2, "y has 3 different labels .* n_components=2"),
        ([0, 5, 9], 2, "y has 3 different labels"),
        (np.array(["a", 1], dtype=object), None, "labels of one kind"),
    ],
)
def test_bad_labels_are_named(labels, count, message):
    with pytest.raises(ValueError, match=message):
        state_codes(np.asarray(labels), count, "HMM")


def test_names_come_back():
    X, y = corpus()
    words = np.array(["noun", "verb", "adj"])
    numbers = CategoricalHMM().fit(X, y)
    named = CategoricalHMM().fit(X, [words[states] for states in y])
    assert named.classes_.tolist() == ["adj", "noun", "verb"]
    for one, other in zip(numbers.predict(X), named.predict(X)):
        assert np.array_equal(words[one], other)
    assert set(named.sample(50)[1]) <= set(words)
    assert named.sample(1, currstate="verb")[1].tolist() == ["verb"]
    table = named.predict(np.concatenate(X), [len(x) for x in X])
    assert np.array_equal(table, np.concatenate(named.predict(X)))


def test_counting_finds_the_truth_and_needs_no_passes():
    X, y = corpus(400, most=60)
    model = CategoricalHMM().fit(X, y)
    np.testing.assert_allclose(model.transmat_, TRUE.transmat_, atol=0.03)
    np.testing.assert_allclose(model.emissionprob_, TRUE.emissionprob_, atol=0.03)
    assert model.converged_
    assert model.monitor_.iter == 0
    flat = CategoricalHMM().fit(np.concatenate(X), np.concatenate(y), lengths=[len(x) for x in X])
    np.testing.assert_allclose(flat.transmat_, model.transmat_, rtol=1e-12)


def test_some_labels_anchor_the_states():
    X, y = corpus(200, most=40)
    rng = np.random.default_rng(0)
    some = [np.where(rng.random(len(states)) < 0.1, states, -1) for states in y]
    model = CategoricalHMM(3, n_iter=40).fit(X, some)
    np.testing.assert_allclose(model.transmat_, TRUE.transmat_, atol=0.1)
    np.testing.assert_allclose(model.emissionprob_, TRUE.emissionprob_, atol=0.1)
    assert np.diff(model.monitor_.history).min() >= -1e-8
    words = [[None if k < 0 else "abc"[k] for k in states] for states in some]
    named = CategoricalHMM(n_iter=40).fit(X, words)
    assert named.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(named.transmat_, model.transmat_, rtol=1e-12)


def test_a_known_state_counts_as_known_in_em():
    X, known = [[0, 1, 2]], [[-1, 2, -1]]
    model = CategoricalHMM(3, n_iter=1, init_params="")
    model.startprob_, model.transmat_, model.emissionprob_ = (
        TRUE.startprob_,
        TRUE.transmat_,
        TRUE.emissionprob_,
    )
    before = {name: np.array(value) for name, value in fitted_attributes(model).items()}
    model.fit(X, known)
    pi, A, B = (np.array(t) for t in (TRUE.startprob_, TRUE.transmat_, TRUE.emissionprob_))
    joint = (pi * B[:, 0])[:, None] * A[:, 2][:, None] * B[2, 1] * (A[2] * B[:, 2])[None, :]
    assert model.monitor_.history[0] == pytest.approx(np.log(joint.sum()), rel=1e-12)
    np.testing.assert_allclose(model.startprob_, joint.sum(axis=1) / joint.sum(), rtol=1e-12)
    assert before.keys() <= fitted_attributes(model).keys()


def test_states_without_a_label_find_their_own_way():
    X, y = corpus(120, most=40)
    rng = np.random.default_rng(0)
    some = [np.where((states == 0) & (rng.random(len(states)) < 0.3), 0, -1) for states in y]
    model = CategoricalHMM(3, n_iter=40, n_init=3, random_state=0).fit(X, some)
    assert model.emissionprob_[0].argmax() == 0
    np.testing.assert_allclose(sorted(model.emissionprob_[1:, 1]), [0.0, 0.8], atol=0.15)


def test_unknown_labels_alone_are_no_labels():
    X, _ = corpus(10)
    plain = CategoricalHMM(2, random_state=0).fit(X)
    assert same(plain, CategoricalHMM(2, random_state=0).fit(X, [np.full(len(x), -1) for x in X]))


# Topologies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "allowed"),
    [
        ("left-right", np.triu(np.ones((4, 4)))),
        ("bakis", np.triu(np.ones((4, 4))) - np.triu(np.ones((4, 4)), 3)),
        ("cycle", np.eye(4) + np.roll(np.eye(4), 1, axis=1)),
        (np.eye(4, dtype=bool), np.eye(4)),
    ],
)
def test_what_is_not_allowed_stays_zero(topology, allowed):
    X, _ = corpus(30)
    model = CategoricalHMM(4, topology=topology, transmat_prior=2.0, random_state=0).fit(X)
    assert np.array_equal(model.transmat_ > 0, allowed > 0)
    if isinstance(topology, str) and topology != "cycle":
        assert model.startprob_.tolist() == [1, 0, 0, 0]
    ergodic = CategoricalHMM(4, random_state=0).fit(X)
    fewer = 16 - allowed.sum()
    assert ergodic._n_parameters() - model._n_parameters() == fewer


def test_topologies_are_checked():
    with pytest.raises(ValueError, match="topology lets state 1 go nowhere"):
        CategoricalHMM(2, topology=[[True, True], [False, False]]).fit([0, 1])
    with pytest.raises(ValueError, match="parameter 'topology' must be"):
        CategoricalHMM(2, topology="star").fit([0, 1])
    with pytest.raises(ValueError, match=r"from 1 to 0 after row 1, but topology"):
        CategoricalHMM(2, topology="left-right").fit([[0, 1, 1]], [[0, 1, 0]])
    model = CategoricalHMM(2, topology="left-right", init_params="")
    model.startprob_, model.transmat_, model.emissionprob_ = [1, 0], [[0.5, 0.5], [0.5, 0.5]], [[1.0], [1.0]]
    with pytest.raises(ValueError, match=r"transmat_\[1, 0\] is 0.5, but topology='left-right'"):
        model.fit([0, 0])


def test_labels_may_begin_anywhere_in_a_left_right_model():
    model = CategoricalHMM(topology="left-right").fit([[0, 1], [1, 1]], [[0, 1], [1, 1]])
    assert model.startprob_.tolist() == [0.5, 0.5]
    assert model.transmat_.tolist() == [[0, 1], [0, 1]]


# Weights, threads, starts -----------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.booleans())
def test_a_weight_of_two_is_the_sequence_twice(seed, labelled):
    X, y = corpus(8, seed, most=8)
    weight = np.random.default_rng(seed).integers(0, 3, 8)
    weight[0] = 1
    y = y if labelled else None
    again = [k for k in range(8) for _ in range(weight[k])]
    # weights of zero leave the number of symbols to the others, which must not matter here
    options = {"n_iter": 3, "random_state": seed, "n_features": 4}
    model = CategoricalHMM(3, **options)
    one = model.fit(X, y, sample_weight=weight)
    other = clone(model).fit([X[k] for k in again], y and [y[k] for k in again])
    for name in ("startprob_", "transmat_", "emissionprob_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)
    score = one.score(X, sample_weight=weight)
    assert score == pytest.approx(one.score([X[k] for k in again]), rel=1e-12)


def test_weights_must_make_sense():
    for wrong in ([1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            CategoricalHMM(2).fit([[0, 1], [1]], sample_weight=wrong)


@pytest.mark.parametrize("implementation", ["scaling", "log"])
def test_same_bits_for_any_n_jobs(implementation, monkeypatch):
    monkeypatch.setattr(EStep, "chunks", lambda self, theta: self.X.chunks(40))
    X, y = corpus(60)
    some = [np.where(np.arange(len(states)) % 3, -1, states) for states in y]
    for labels in (None, y, some):
        models = [
            CategoricalHMM(3, n_iter=3, random_state=0, n_jobs=k, implementation=implementation).fit(
                X, labels
            )
            for k in (1, 2, 5)
        ]
        assert same(models[0], models[1])
        assert same(models[0], models[2])
        answers = [model.predict_proba(X) for model in models]
        assert all(np.array_equal(a, b) for a, b in zip(answers[0], answers[1]))
        assert models[0].score(X) == models[2].score(X)


def test_chunks_change_nothing_but_rounding(monkeypatch):
    X, _ = corpus(60)
    whole = CategoricalHMM(3, n_iter=3, random_state=0).fit(X)
    states = whole.predict(X)
    monkeypatch.setattr(EStep, "chunks", lambda self, theta: self.X.chunks(25))
    cut = CategoricalHMM(3, n_iter=3, random_state=0).fit(X)
    np.testing.assert_allclose(cut.transmat_, whole.transmat_, rtol=1e-10)
    assert all(np.array_equal(a, b) for a, b in zip(whole.predict(X), states))


def test_the_best_of_several_starts_is_kept():
    X, _ = corpus(30)
    one = CategoricalHMM(3, n_iter=5, random_state=0).fit(X)
    many = CategoricalHMM(3, n_iter=5, random_state=0, n_init=6).fit(X)
    ends = {}
    for start, value in zip(many.history_["start"], many.history_["log_likelihood"]):
        ends[start] = value
    assert len(ends) == 6
    assert ends[0] == one.monitor_.history[-1]
    assert many.monitor_.history[-1] == max(ends.values())
    assert many.monitor_.history[-1] >= one.monitor_.history[-1]
    assert many.n_iter_ == many.monitor_.iter == 5
    assert same(many, CategoricalHMM(3, n_iter=5, random_state=0, n_init=6).fit(X))


# The course of a fit ----------------------------------------------------------------------------------------------


def test_convergence_is_told():
    X, _ = corpus(10)
    with pytest.warns(
        ConvergenceWarning, match=r"CategoricalHMM did not converge in 2 passes .* Raise n_iter"
    ):
        model = CategoricalHMM(3, n_iter=2, random_state=0).fit(X)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CategoricalHMM(3, n_iter=500, tol=0.1, random_state=0).fit(X)
    assert model.converged_
    assert model.monitor_.converged
    history = model.monitor_.history
    assert history[-1] - history[-2] < 0.1 <= history[-2] - history[-3]
    assert model.n_iter_ == len(history)


def test_only_what_params_say_is_learned():
    X, _ = corpus(10)
    for kept, letters in (("startprob_", "te"), ("transmat_", "se"), ("emissionprob_", "st")):
        model = CategoricalHMM(3, params=letters, init_params="", n_iter=2)
        model.startprob_, model.transmat_, model.emissionprob_ = (
            np.array(t) for t in (TRUE.startprob_, TRUE.transmat_, TRUE.emissionprob_)
        )
        model.fit(X)
        for name in ("startprob_", "transmat_", "emissionprob_"):
            assert np.array_equal(getattr(model, name), getattr(TRUE, name)) == (name == kept)


def test_a_fit_that_fails_leaves_the_model_alone():
    model = CategoricalHMM(2, random_state=0).fit([[0, 1], [1, 1]])
    before = model.transmat_.copy()
    with pytest.raises(ValueError, match="topology lets"):
        model.set_params(topology=[[True, True], [False, False]]).fit([[0, 1]])
    assert np.array_equal(model.transmat_, before)


def test_parameters_are_checked_without_a_fit_too():
    for name in ("implementation", "algorithm"):
        with pytest.raises(ValueError, match=f"parameter '{name}' must be"):
            clone(TRUE).set_params(**{name: "guess"}).fit([0, 1])
        model = CategoricalHMM(3, **{name: "guess"})
        model.startprob_, model.transmat_, model.emissionprob_ = (
            TRUE.startprob_,
            TRUE.transmat_,
            TRUE.emissionprob_,
        )
        with pytest.raises(ValueError, match=f"{name}"):
            model.predict([0, 1])
    with pytest.raises(ValueError, match="algorithm must be one of 'viterbi', 'map'; got 'guess'"):
        TRUE.decode([0, 1], algorithm="guess")


def test_verbose_prints_each_pass(capsys):
    CategoricalHMM(2, n_iter=3, tol=-np.inf, verbose=True, random_state=0).fit([[0, 1, 0], [1, 1]])
    assert capsys.readouterr().out.count("log-likelihood") == 3


def test_early_stopping_holds_out_whole_sequences():
    X, _ = corpus(60)
    model = CategoricalHMM(3, n_iter=100, tol=-np.inf, random_state=0)
    model.set_callbacks(EarlyStopping(patience=2)).fit(X)
    assert len(model.validation_scores_) < 100
    assert np.isfinite(model.score(X))


def test_choice_by_cross_validation():
    X, _ = corpus(60)
    search = GridSearchCV(
        CategoricalHMM(random_state=0, n_features=4, n_init=2), {"n_components": [1, 3]}, cv=3
    )
    assert search.fit(np.array(X, dtype=object)).best_params_ == {"n_components": 3}


def test_interrupted_fits_keep_the_last_pass(monkeypatch):
    X, _ = corpus(10)
    passes = []

    def statistics(self, rows, posterior, theta, real=CategoricalEmissions.statistics):
        passes.append(1)
        if len(passes) > 3:
            raise KeyboardInterrupt
        return real(self, rows, posterior, theta)

    expected = CategoricalHMM(3, n_iter=3, random_state=0).fit(X)
    monkeypatch.setattr(CategoricalEmissions, "statistics", statistics)
    model = CategoricalHMM(3, n_iter=50, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert np.array_equal(model.transmat_, expected.transmat_)
    assert model.monitor_.history == expected.monitor_.history
    assert not model.monitor_.converged
