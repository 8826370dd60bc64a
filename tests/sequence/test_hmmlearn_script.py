"""What users of hmmlearn write runs here unchanged, but for the import."""

from __future__ import annotations

import pickle
import warnings

import hmmlearn.hmm
import numpy as np
import pytest

import tercet.sequence


def three_blobs(hmm):
    """A model that is set by hand makes data, from which others learn."""
    model = hmm.GaussianHMM(n_components=3, covariance_type="full", random_state=7)
    model.startprob_ = np.array([0.6, 0.3, 0.1])
    model.transmat_ = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.3, 0.3, 0.4]])
    model.means_ = np.array([[0.0, 0.0], [3.0, -3.0], [5.0, 10.0]])
    model.covars_ = np.tile(np.identity(2), (3, 1, 1))
    X, Z = model.sample(500, random_state=np.random.RandomState(1))
    assert X.shape == (500, 2)
    assert Z.shape == (500,)
    more, _ = model.sample(100, currstate=Z[-1])
    X, lengths = np.concatenate([X, more]), [len(X), len(more)]
    remodel = hmm.GaussianHMM(n_components=3, covariance_type="full", n_iter=100, random_state=1)
    remodel.fit(X, lengths)
    assert remodel.monitor_.converged
    assert remodel.monitor_.iter == len(remodel.monitor_.history)
    gains = np.diff(list(remodel.monitor_.history))
    order = np.argsort(remodel.means_[:, 0])
    states = np.argsort(order)[remodel.predict(X, lengths)]
    _, path = remodel.decode(X, lengths, algorithm="viterbi")
    assert np.array_equal(remodel.predict(X, lengths), path)
    posteriors = remodel.predict_proba(X, lengths)
    assert np.allclose(posteriors.sum(axis=1), 1.0)
    log_likelihood, again = remodel.score_samples(X, lengths)
    assert np.allclose(again, posteriors)
    assert log_likelihood == pytest.approx(remodel.score(X, lengths))
    assert remodel.covars_.shape == (3, 2, 2)
    kept = pickle.loads(pickle.dumps(remodel))
    assert np.array_equal(kept.predict(X, lengths), path)
    return (gains > -1e-6).all(), np.mean(states[:500] == Z) > 0.95


def stay_or_learn(hmm, X, lengths):
    """Half of a model is set by hand and kept."""
    model = hmm.GaussianHMM(3, covariance_type="diag", n_iter=5, params="mct", init_params="", tol=1e-6)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    model.means_ = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    model.covars_ = np.full((3, 2), 2.0)
    model.fit(X, lengths)
    return (
        *(model.startprob_, model.transmat_, model.means_, model.covars_, model.monitor_.iter),
        *(model.score(X, lengths), model.aic(X, lengths), model.bic(X, lengths), model.predict(X, lengths)),
    )


def casino(hmm):
    """A fair die and a loaded one; the best of several starts by its score on other rolls."""
    gen_model = hmm.CategoricalHMM(n_components=2, random_state=99)
    gen_model.startprob_ = np.array([1.0, 0.0])
    gen_model.transmat_ = np.array([[0.95, 0.05], [0.1, 0.9]])
    gen_model.emissionprob_ = np.array([[1 / 6] * 6, [1 / 10] * 5 + [1 / 2]])
    rolls, gen_states = gen_model.sample(4000)
    X_train, X_validate = rolls[:2000], rolls[2000:]
    best_score = best_model = None
    for idx in range(3):
        model = hmm.CategoricalHMM(n_components=2, random_state=idx, init_params="se", n_iter=50)
        model.transmat_ = np.array([[0.9, 0.1], [0.1, 0.9]])
        model.fit(X_train)
        score = model.score(X_validate)
        if best_score is None or score > best_score:
            best_score, best_model = score, model
    states = best_model.predict(rolls)
    right = max(np.mean(states == gen_states), np.mean(states != gen_states))
    return right > 0.7, gen_model.n_components


def earthquakes(hmm):
    """Counts, and the number of states by AIC and BIC."""
    counts = np.concatenate([np.random.default_rng(0).poisson(rate, 40) for rate in (3, 20, 4, 18)])
    aic, bic, rates = [], [], None
    for n_components in range(1, 4):
        model = hmm.PoissonHMM(n_components=n_components, random_state=2, n_iter=60)
        model.fit(counts[:, None])
        aic.append(model.aic(counts[:, None]))
        bic.append(model.bic(counts[:, None]))
        if n_components == 2:
            rates = np.sort(model.lambdas_.ravel()).round(1).tolist()
            assert np.isclose(model.get_stationary_distribution().sum(), 1.0)
    return int(np.argmin(bic)), rates


def mixtures(hmm):
    X = np.random.default_rng(1).normal(size=(80, 2)) + np.repeat(
        [[0, 0], [6, 6], [0, 6], [6, 0]], 20, axis=0
    )
    model = hmm.GMMHMM(n_components=2, n_mix=2, covariance_type="diag", n_iter=20, random_state=0)
    model.fit(X, [20, 60])
    X_new, _ = model.sample(5)
    return model.weights_.shape, model.means_.shape, model.covars_.shape, X_new.shape


def test_scripts_for_hmmlearn_run_as_they_are():
    X = np.random.default_rng(3).normal(size=(30, 2)) + np.arange(30)[:, None] / 15
    answers = []
    for hmm in (hmmlearn.hmm, tercet.sequence):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chapters = three_blobs(hmm), casino(hmm), earthquakes(hmm), mixtures(hmm)
            answers.append((chapters, stay_or_learn(hmm, X, [12, 18])))
    (theirs, their_numbers), (ours, our_numbers) = answers
    assert ours == theirs
    for one, other in zip(our_numbers, their_numbers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
