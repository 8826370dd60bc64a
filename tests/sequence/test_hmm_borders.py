"""What hidden Markov models say where a call is ambiguous, overwrites what was set, or has too little data."""

import pickle
import warnings

import numpy as np
import pytest

from tercet.sequence import GMMHMM, CategoricalHMM, GaussianHMM, PoissonHMM

rng = np.random.default_rng(0)
SYMBOLS = rng.integers(0, 3, (40, 1))
ROWS = rng.normal(size=(40, 2))


def set_by_hand(**options):
    model = CategoricalHMM(2, random_state=0, **options)
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    model.emissionprob_ = np.array([[0.1, 0.4, 0.5], [0.7, 0.2, 0.1]])
    return model


def test_a_parameter_that_was_set_and_is_overwritten_is_named():
    with pytest.warns(UserWarning, match="has been set") as said:
        model = set_by_hand(init_params="te").fit(SYMBOLS)
    texts = [str(one.message) for one in said]
    assert [
        any(f"{name} has been set" in text for text in texts) for name in ("startprob_", "transmat_")
    ] == [
        False,
        True,
    ]
    assert any(
        "emissionprob_ has been set" in text and "init_params='te' contains 'e'" in text for text in texts
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*has been set")
        model.fit(SYMBOLS)  # what a fit found was not set by hand
        pickle.loads(pickle.dumps(model)).fit(SYMBOLS)
        set_by_hand(init_params="").fit(SYMBOLS)
    model.transmat_ = np.full((2, 2), 0.5)
    with pytest.warns(UserWarning, match="CategoricalHMM: transmat_ has been set"):
        model.fit(SYMBOLS)


def test_covariances_that_were_set_are_named_as_the_user_knows_them():
    model = GaussianHMM(2, random_state=0)
    model.means_, model.covars_ = np.zeros((2, 2)), np.ones((2, 2))
    with pytest.warns(UserWarning, match=r"GaussianHMM: covars_ has been set.*contains 'c'"):
        model.fit(ROWS)


@pytest.mark.parametrize(
    ("model", "X", "count"),
    [
        (CategoricalHMM(3), SYMBOLS[:13], 2 + 6 + 6),
        (GaussianHMM(3), ROWS[:9], 2 + 6 + 6 + 6),
        (GaussianHMM(3, "full"), ROWS[:9], 2 + 6 + 6 + 9),
        (GMMHMM(2, 2), ROWS[:10], 1 + 2 + 2 + 8 + 8),
        (PoissonHMM(2), SYMBOLS[:4], 1 + 2 + 2),
        (GaussianHMM(3, params="mc"), ROWS[:5], 6 + 6),
    ],
)
def test_fewer_data_than_parameters(model, X, count):
    model.set_params(random_state=0, tol=100.0)
    with pytest.warns(UserWarning, match=f"{count} free parameters is fitted to only {X.size} data points"):
        model.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(SYMBOLS if X.shape[1] == 1 else ROWS)


@pytest.mark.parametrize("model", [CategoricalHMM(2), GaussianHMM(2), GMMHMM(2), PoissonHMM(2)])
def test_without_iterations_a_model_is_initialised(model):
    X = ROWS if isinstance(model, (GaussianHMM, GMMHMM)) else SYMBOLS
    model.set_params(n_iter=0, random_state=0).fit(X)
    assert (model.n_iter_, model.converged_, model.monitor_.history) == (0, False, [])
    assert np.isfinite(model.score(X))
    once = model.__class__(2, n_iter=1, random_state=0, init_params="")
    vars(once).update({name: value for name, value in vars(model).items() if name[-1] == "_"})
    twice = model.__class__(2, n_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once.fit(X)
        twice.fit(X)
    np.testing.assert_allclose(once.transmat_, twice.transmat_)  # EM goes on from there
    kept = set_by_hand(n_iter=0, init_params="").fit(SYMBOLS)
    np.testing.assert_array_equal(kept.transmat_, [[0.7, 0.3], [0.4, 0.6]])


@pytest.mark.parametrize("lengths", [[25, 15], (25, 15), np.array([25, 15])])
def test_lengths_in_second_place(lengths):
    wanted = CategoricalHMM(2, random_state=0).fit(SYMBOLS, lengths=lengths)
    sequences = [SYMBOLS[:25].ravel().tolist(), SYMBOLS[25:].ravel().tolist()]
    for X in (SYMBOLS, SYMBOLS.ravel(), SYMBOLS.tolist(), sequences):
        found = CategoricalHMM(2, random_state=0).fit(X, lengths)
        np.testing.assert_array_equal(found.transmat_, wanted.transmat_)
        assert found.score(X, lengths) == wanted.score(SYMBOLS, lengths=lengths)


def test_ones_in_second_place_are_labels_and_a_warning_says_so():
    with pytest.warns(UserWarning, match="y has a 1 for each row, which are labels"):
        model = CategoricalHMM(2).fit([0, 1, 2], [1, 1, 1])
    assert model.transmat_[1].tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="y must have a label for each row of X"):
        CategoricalHMM(2).fit([[0, 1, 2], [0, 1]], [2, 3])


def test_lists_of_one_symbol_are_sequences_and_a_warning_says_so():
    model = set_by_hand()
    column = [[0], [1], [2]]
    with pytest.warns(UserWarning, match=r"3 lists of one symbol each, which means 3 sequences of length 1"):
        _, states = model.decode(column)
    assert [part.shape for part in states] == [(1,), (1,), (1,)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (np.array(column), [0, 1, 2], np.array([0, 1, 2])):
            assert model.decode(one)[1].shape == (3,)
        assert model.decode(column, lengths=[3])[1].shape == (3,)
        assert [part.shape for part in model.decode(column, lengths=[1, 1, 1])[1]] == [(1,)] * 3
        assert len(model.decode([[0]])[1]) == 1
        assert len(model.decode([[0], [1, 2]])[1]) == 2
