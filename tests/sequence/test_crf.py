"""The conditional random field."""

import io
import itertools
import pickle

import numpy as np
import pandas as pd
import pycrfsuite
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

from tercet import EarlyStopping
from tercet.core.steps import ConvergenceWarning
from tercet.io import trusted_types
from tercet.metrics.sequence import span_f1
from tercet.sequence import CRF
from tercet.sequence.crf.base import CHUNK
from tests.sequence.crf_data import corpus, crfsuite, differences

X, Y = corpus()
EXACT = {"epsilon": 1e-9, "delta": 1e-13}
FEATURES = {  # ours and CRFsuite's
    "seen": ({}, {}),
    "all": (
        {"all_possible_states": True, "all_possible_transitions": True},
        {"feature.possible_states": 1, "feature.possible_transitions": 1},
    ),
    "frequent": ({"min_freq": 3}, {"feature.minfreq": 3}),
}
FLAT = [label for tags in Y for label in tags]


@pytest.fixture(scope="module")
def model():
    return CRF(c2=0.1, **EXACT).fit(X, Y)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.0, 0.01), (0.5, 0.1), (1.0, 0.0)])
@pytest.mark.parametrize("more", FEATURES)
def test_agrees_with_crfsuite(tmp_path, c1, c2, more):
    ours, theirs = FEATURES[more]
    tagger, info = crfsuite(tmp_path / "model", X, Y, c1=c1, c2=c2, **EXACT, **theirs)
    model = CRF(c1=c1, c2=c2, **EXACT, **ours).fit(X, Y)
    assert differences(model, info) < 1e-5
    if c1 == 0:
        assert set(model.state_features_) == set(info.state_features)
    weights = [*info.state_features.values(), *info.transitions.values()]
    assert np.count_nonzero(np.abs([*model.state_weights_, *model.transition_weights_]) > 1e-7) == len(
        weights
    )
    other = corpus(10, seed=1)[0]
    assert model.predict(other) == [tagger.tag(sentence) for sentence in other]
    marginals = model.predict_marginals(other)
    for sentence, found in zip(other, marginals):
        tagger.set(sentence)
        for t, row in enumerate(found):
            assert row == pytest.approx({label: tagger.marginal(label, t) for label in "ABC"}, abs=1e-5)


def test_objective_is_that_of_crfsuite():
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.2, "c2": 0.5, **EXACT}, verbose=False)
    for sentence, tags in zip(X, Y):
        trainer.append(sentence, tags)
    trainer.train("")
    model = CRF(c1=0.2, c2=0.5, **EXACT).fit(X, Y)
    assert model.objective(X, Y) == pytest.approx(trainer.logparser.last_iteration["loss"], abs=1e-5)
    assert model.history_["fun"][-1] == pytest.approx(model.objective(X, Y), rel=1e-9)


@pytest.mark.parametrize("algorithm", ["gd", "newton-cg", "bfgs", "iis", "iis-s", "iis-t"])
def test_every_algorithm_minimises_the_same(algorithm):
    # whole numbers for exact iterative scaling
    words = [[{"word": token["word"], "first": token["first"]} for token in sentence] for sentence in X[:12]]
    best = CRF(c2=0.5, **EXACT).fit(words, Y[:12]).objective(words, Y[:12])
    found = CRF(algorithm, c2=0.5, epsilon=1e-5, delta=0.0).fit(words, Y[:12])
    assert found.objective(words, Y[:12]) == pytest.approx(best, rel=1e-7)


def test_exact_scaling_of_fractions_is_algorithm_t():
    one, other = (CRF(algorithm, max_iterations=3000).fit(X[:5], Y[:5]) for algorithm in ("iis", "iis-t"))
    np.testing.assert_array_equal(one.state_weights_, other.state_weights_)


def test_probabilities_by_enumeration(model):
    sentence = X[np.argmax([len(sentence) == 4 for sentence in X])]
    states, steps, log_p = model.state_features_, model.transition_features_, {}
    attributes = pycrfsuite.ItemSequence(sentence).items()
    for path in itertools.product("ABC", repeat=len(sentence)):
        score = sum(steps.get(pair, 0.0) for pair in itertools.pairwise(path))
        for token, label in zip(attributes, path):
            score += sum(value * states.get((name, label), 0.0) for name, value in token.items())
        log_p[path] = score
    log_z = np.logaddexp.reduce(list(log_p.values()))
    ranked = sorted(log_p, key=log_p.__getitem__, reverse=True)
    assert model.predict_single(sentence) == list(ranked[0])
    for (labels, value), path in zip(model.k_best([sentence], k=5)[0], ranked, strict=False):
        assert labels == list(path)
        assert value == pytest.approx(log_p[path] - log_z)
    assert len(model.k_best([sentence], k=1000)[0]) == 3 ** len(sentence)
    for t, row in enumerate(model.predict_marginals_single(sentence)):
        for label, p in row.items():
            assert p == pytest.approx(sum(np.exp(v - log_z) for path, v in log_p.items() if path[t] == label))
    path = ranked[2]
    assert model.log_likelihood([sentence], [list(path)])[0] == pytest.approx(log_p[path] - log_z)
    known = [path[0], None, path[2], None]
    agreeing = [v for other, v in log_p.items() if other[0] == path[0] and other[2] == path[2]]
    assert model.log_likelihood([sentence], [known])[0] == pytest.approx(
        np.logaddexp.reduce(agreeing) - log_z
    )


def forms(X):
    """The same tokens in every form: words, lists, CSR and dense rows, a table with lengths, a frame."""
    plain = [[dict.fromkeys((f"word:{t['word']}", "cap" if t["cap"] else "low"), 1.0) for t in s] for s in X]
    names = sorted({name for sentence in plain for token in sentence for name in token})
    tables = [np.array([[float(name in token) for name in names] for token in s]) for s in plain]
    lengths = [len(s) for s in X]
    yield "dicts", plain, None
    yield (
        "dicts of words",
        [[{"word": t["word"], "cap" if t["cap"] else "low": True} for t in s] for s in X],
        None,
    )
    yield "lists", [[list(token) for token in s] for s in plain], None
    yield "sets", [[set(token) for token in s] for s in plain], None
    yield "items", [pycrfsuite.ItemSequence(s) for s in plain], None
    yield "flat", [token for s in plain for token in s], lengths
    yield "arrays", tables, None
    yield "CSR", [sparse.csr_array(table) for table in tables], None
    yield "table", np.concatenate(tables), lengths
    yield "sparse table", sparse.csr_matrix(np.concatenate(tables)), lengths
    yield "frame", pd.DataFrame(np.concatenate(tables), columns=names), lengths


def test_all_forms_of_input_are_alike():
    weights = {}
    for name, rows, lengths in forms(X):
        model = CRF(c2=0.2, **EXACT).fit(rows, Y if lengths is None else FLAT, lengths)
        predicted = model.predict(rows, lengths)
        flat = predicted.tolist() if lengths is not None else list(itertools.chain(*predicted))
        weights[name] = sorted(zip(model.state_weights_, flat)), flat
        if name in ("dicts", "frame"):
            weights[name] = *weights[name], model.state_features_
    for name, found in weights.items():
        assert found[1] == weights["dicts"][1], name
        np.testing.assert_allclose(
            [w for w, _ in found[0]], [w for w, _ in weights["dicts"][0]], atol=1e-6, err_msg=name
        )
    assert weights["frame"][2] == pytest.approx(weights["dicts"][2], abs=1e-6)


def test_a_model_of_a_frame_answers_for_dicts():
    *_, (_, frame, lengths) = forms(X)
    (_, dicts, _), *_ = forms(X)
    model = CRF().fit(frame, FLAT, lengths)
    assert list(itertools.chain(*model.predict(dicts))) == model.predict(frame, lengths).tolist()


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = CRF(c2=0.2, min_freq=2, **EXACT).fit(
        [s for s, w in zip(X, weight) for _ in range(w)], [t for t, w in zip(Y, weight) for _ in range(w)]
    )
    weighted = CRF(c2=0.2, min_freq=2, **EXACT).fit(X, Y, sample_weight=weight)
    assert weighted.transition_features_ == pytest.approx(repeated.transition_features_, abs=1e-6)
    assert {k: w for k, w in weighted.state_features_.items() if w} == pytest.approx(
        repeated.state_features_, abs=1e-6
    )
    assert weighted.objective(X, Y, sample_weight=weight) == pytest.approx(weighted.history_["fun"][-1])


def test_a_sequence_of_weight_zero_brings_no_label():
    model = CRF().fit([*X, [{"new": True}]], [*Y, ["D"]], sample_weight=[1.0] * len(X) + [0.0])
    assert model.classes_.tolist() == ["A", "B", "C"]
    assert model.state_weights_.tolist() == pytest.approx(CRF().fit(X, Y).state_weights_.tolist(), abs=1e-9)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap"])
def test_same_bits_for_any_number_of_threads(algorithm):
    options = {"random_state": 3, "max_iterations": 12}
    with pytest.warns(ConvergenceWarning):
        one, two = (CRF(algorithm, n_jobs=n, **options, epsilon=0.0, delta=0.0).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.state_weights_, two.state_weights_)
    np.testing.assert_array_equal(np.concatenate(one.predict_proba(X)), np.concatenate(two.predict_proba(X)))


def test_unknown_labels_are_summed_over():
    """With half of the labels gone, the fit still finds a stationary point of the likelihood of the rest."""
    rng = np.random.default_rng(0)
    partly = [[label if rng.random() < 0.5 else None for label in tags] for tags in Y]
    partly[0] = [None] * len(Y[0])
    model = CRF(c2=0.3, all_possible_transitions=True, all_possible_states=True, **EXACT).fit(X, partly)
    at = model.objective(X, partly)
    for weights in (model.state_weights_, model.transition_weights_):
        for k in range(0, weights.size, 3):
            weights[k] += 1e-4
            up = model.objective(X, partly)
            weights[k] -= 2e-4
            down = model.objective(X, partly)
            weights[k] += 1e-4
            assert (up - down) / 2e-4 == pytest.approx(0.0, abs=1e-5)
            assert min(up, down) > at
    assert model.score(X, Y) > 0.6
    assert 0 <= model.score(X, partly) <= 1


def test_labels_of_any_kind():
    numbers = [[ord(label) for label in tags] for tags in Y]
    mixed = [[("x" if label == "A" else 2 if label == "B" else 3.5) for label in tags] for tags in Y]
    plain = CRF().fit(X, Y)
    assert CRF().fit(X, numbers).predict(X) == [[ord(label) for label in tags] for tags in plain.predict(X)]
    assert set(CRF().fit(X, mixed).classes_.tolist()) == {2, 3.5, "x"}
    nan = [[float(ord(label)) if label != "C" else float("nan") for label in tags] for tags in Y]
    assert CRF().fit(X, nan).classes_.tolist() == [65.0, 66.0]


def test_score_of_tokens_and_sequences(model):
    predicted = model.predict(X)
    right = [p == t for part, tags in zip(predicted, Y) for p, t in zip(part, tags)]
    assert model.score(X, Y) == pytest.approx(np.mean(right))
    whole = [part == tags for part, tags in zip(predicted, Y)]
    assert model.score(X, Y, of="sequences") == pytest.approx(np.mean(whole))
    weight = np.arange(len(X), dtype=float)
    mean = np.average(whole, weights=weight)
    assert model.score(X, Y, sample_weight=weight, of="sequences") == pytest.approx(mean)
    with pytest.raises(ValueError, match="of must be 'tokens' or 'sequences'; got 'words'"):
        model.score(X, Y, of="words")


def test_constraints(model):
    free = model.predict(X)
    assert any(pair == ("C", "A") for tags in free for pair in itertools.pairwise(tags))
    matrix = np.ones((3, 3), dtype=bool)
    matrix[2, 0] = False
    for constraints in (matrix, {"C": ["B", "C"]}):
        tied = clone(model).set_params(constraints=constraints).fit(X, Y)
        found = tied.predict(X)
        assert not any(pair == ("C", "A") for tags in found for pair in itertools.pairwise(tags))
        best = [tied.k_best([sentence], k=1)[0][0][0] for sentence in X]
        assert best == found
        for row in np.concatenate(tied.predict_proba(X)):
            assert row.sum() == pytest.approx(1.0)
    nothing = clone(model).set_params(constraints=np.zeros((3, 3), dtype=bool)).fit(X, Y)
    assert len(nothing.predict([X[0][:1]])[0]) == 1
    for ask in (nothing.predict, nothing.predict_proba):
        with pytest.raises(ValueError, match="the constraints leave no path for sequence"):
            ask(X)
    for wrong, message in (
        ({"D": ["A"]}, r"constraints name the labels \['D'\]"),
        ([[True]], r"boolean matrix of shape \(3, 3\)"),
        ("iob", "constraints='iob': The tag 'A' is of no scheme"),
        ("xyz", "constraints='xyz': scheme must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(constraints=wrong).fit(X, Y)
    rare = clone(model).set_params(constraints={"C": ["B", "C"], "D": ["A"]}).fit(X, Y)  # a fold without D
    assert rare.predict(X) == tied.predict(X)


def test_scheme_of_tags():
    tags = {"A": "O", "B": "B-X", "C": "I-X"}
    labels = [[tags[label] for label in part] for part in Y]
    model = CRF(constraints="iob2").fit(X, labels)
    for part in model.predict(X):
        assert part[0] != "I-X"
        assert ("O", "I-X") not in itertools.pairwise(part)


def test_inspection_and_pruning(model):
    states, steps = model.state_features_, model.transition_features_
    assert model.top_features(1)[0][0] == max(states.values())
    weight, label, name = model.top_features(-1)[0]
    assert states[name, label] == weight == min(states.values())
    weight, before, label = model.top_transitions(1)[0]
    assert steps[before, label] == weight == max(steps.values())
    assert model.num_attributes_ == len(model.attributes_) == model.n_features_in_
    assert model.size_ > 0
    small = CRF(c2=0.1).fit(X, Y)
    assert small.predict(X)  # tables are made, and must be made anew
    few = small.prune(0.5)
    assert few.state_features_ == {
        k: w for k, w in CRF(c2=0.1).fit(X, Y).state_features_.items() if abs(w) > 0.5
    }
    again = CRF.of_weights(
        few.classes_.tolist(), few.attributes_, few.transition_features_, few.state_features_
    )
    assert few.predict(X) == again.predict(X)


def test_unknown_attributes_say_nothing(model):
    silent = model.predict_proba([[{"never": "seen"}]])[0]
    np.testing.assert_array_equal(silent, model.predict_proba([[{}]])[0])
    np.testing.assert_allclose(silent, 1 / 3)


def test_tokens_without_attributes_learn_transitions():
    model = CRF(c2=0.01).fit([[{}, {}, {}]] * 4, [["a", "b", "a"]] * 4)
    assert model.state_weights_.size == 0
    assert model.predict_single([{}, {}]) in (["a", "b"], ["b", "a"])


def test_many_chunks_one_answer(model):
    many = X * (CHUNK // sum(map(len, X)) + 2)
    assert model.predict(many)[: len(X)] == model.predict(X)


def test_persistence_and_search(model):
    safe = skops.io.loads(skops.io.dumps(model), trusted=trusted_types())
    for copy in (pickle.loads(pickle.dumps(model)), safe):
        assert copy.predict(X) == model.predict(X)
        assert copy.attributes_ == model.attributes_
    search = GridSearchCV(CRF(max_iterations=20), {"c2": [0.1, 10.0]}, cv=3, error_score="raise")
    with pytest.warns(ConvergenceWarning):
        search.fit(X, Y)
    assert search.best_params_["c2"] in (0.1, 10.0)


def test_forged_places_are_refused(model):
    forged = pickle.loads(pickle.dumps(model))
    forged.state_pairs_ = forged.state_pairs_ + 1000
    with pytest.raises(ValueError, match="state_pairs_ must be indices below"):
        forged.predict(X)
    forged = pickle.loads(pickle.dumps(model))
    forged.vocabulary_ = dict.fromkeys(forged.vocabulary_, 10**6)
    with pytest.raises(ValueError, match="vocabulary_ has columns past"):
        forged.predict(X)


def test_verbose_says_a_line_for_each_pass(capsys):
    model = CRF(verbose=True).fit(X, Y)
    assert capsys.readouterr().out.count("pass ") == model.n_iter_


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([["a"], []], [["A"], ["B"]], {}, "Sequence 1 has 0 rows but 1 labels"),
        ([[], []], [[], []], {}, "X has no tokens: 0 in 2 sequences"),
        ([["a", "b"]], [["A"]], {}, "Sequence 0 has 2 rows but 1 labels"),
        ([["a", "b"]], [[None, None]], {}, "needs labels; y has none that is known"),
        ([[{"a": 1.0}, {"big": 1e200}]], [["A", "B"]], {}, "attribute 'big' has the value 1e.200; allowed"),
        ([np.array([[1.0, 0.0], [0.0, -1e200]])], [["A", "B"]], {}, "attribute 'x1' has the value -1e.200"),
        ([["a", "b"]], None, {}, "requires y to be passed"),
        ([[{"a": float("nan")}, "b"]], [["A", "B"]], {}, "attribute 'a' is nan"),
        ([np.array([[1.0], [np.nan]])], [["A", "B"]], {}, "Input X contains NaN"),
        ([["a", "b"]], [["A", "B"]], {"c1": 1.0, "algorithm": "l2sgd"}, "c1=1.0 needs algorithm='lbfgs'"),
        (
            [[{"a": -1.0}, "b"]],
            [["A", "B"]],
            {"algorithm": "iis"},
            "Negative values in data, of which iterative scaling knows",
        ),
        ([["a", "b"]], [["A", "B"]], {"min_freq": 9}, "min_freq=9 leaves no feature"),
        ([["a", "b"]], [["A", "B"]], {"c2": -1.0}, "parameter 'c2' must be a number in"),
        ([["a", "b"]], [["A", "B"]], {"algorithm": "sgd"}, "parameter 'algorithm' must be one of"),
        ([["a", "b"]], [[None, "B"], ["A"]], {}, "y has the labels of 2 sequences, but X has 1"),
        ([["a", "b"]], [[{"A"}, "B"]], {}, "A label must be hashable: .* got {'A'}"),
    ],
)
def test_bad_input(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        CRF(**options).fit(X, y)


def test_labels_in_a_matrix_of_numpy():
    with pytest.raises(TypeError, match=r"y must not be a matrix of NumPy; pass np\.asarray\(y\)"):
        CRF().fit(np.ones((4, 2)), np.asmatrix([0, 1, 0, 1]).T, lengths=[4])


def test_labels_never_seen(model):
    """A fold of a cross-validation may have some: there is no probability of them, and no path finds them."""
    strange = [["Z", *Y[0][1:]]]
    with pytest.raises(ValueError, match=r"y has the label 'Z'; those of the model are \['A', 'B', 'C'\]"):
        model.log_likelihood([X[0]], strange)
    found = model.predict([X[0]])
    assert model.score([X[0]], [["Z", *found[0][1:]]]) == 1 - 1 / len(X[0])
    assert model.score([X[0]], [["Z", *found[0][1:]]], of="sequences") == 0.0


def test_a_refit_that_finds_the_same_weights():
    """The same numbers for other pairs: tables of the first fit must not answer for the second."""
    model, refit = (
        CRF.of_weights(["A", "B"], ["a", "b"], {}, {("a", first): 1.0, ("b", second): 1.0})
        for first, second in ("AB", "BA")
    )
    assert model.predict([["a", "b"]]) == [["A", "B"]]
    np.testing.assert_array_equal(model.state_weights_, refit.state_weights_)
    vars(model).update(vars(refit))
    assert model.predict([["a", "b"]]) == [["B", "A"]]


def test_whole_sequences_without_labels():
    rest = [[None] * len(X[0]), *Y[1:-1], [None] * len(X[-1])]
    one, other = CRF(**EXACT).fit(X, [None, *Y[1:-1], None]), CRF(**EXACT).fit(X, rest)
    np.testing.assert_array_equal(one.state_weights_, other.state_weights_)
    np.testing.assert_array_equal(
        one.log_likelihood(X[:2], [None, Y[1]]), one.log_likelihood(X[:2], [rest[0], Y[1]])
    )


def test_labels_that_pandas_calls_missing():
    labels = pd.Series(FLAT, dtype="string")
    labels[3] = pd.NA
    lengths = [len(sentence) for sentence in X]
    flat = [token for sentence in X for token in sentence]
    expected = [None if k == 3 else label for k, label in enumerate(FLAT)]
    one, other = CRF(**EXACT).fit(flat, labels, lengths), CRF(**EXACT).fit(flat, expected, lengths)
    np.testing.assert_array_equal(one.state_weights_, other.state_weights_)


def test_tokens_without_attributes_are_tokens(model):
    silent = model.predict_proba([[{}, {}]])[0]
    np.testing.assert_array_equal(model.predict_proba([[[], []]])[0], silent)
    np.testing.assert_array_equal(model.predict_proba([[], []], [2]), silent)


def test_search_by_phrases():
    tags = {"A": "O", "B": "B-X", "C": "I-X"}
    labels = [[tags[label] for label in part] for part in Y]
    search = GridSearchCV(
        CRF(constraints="iob2"), {"c2": [0.1, 100.0]}, scoring=make_scorer(span_f1), cv=3, error_score="raise"
    ).fit(X, labels)
    assert search.best_params_ == {"c2": 0.1}
    np.testing.assert_allclose(
        cross_val_score(search.best_estimator_, X, labels, scoring=make_scorer(span_f1), cv=3).mean(),
        search.best_score_,
    )


def test_bad_questions(model):
    with pytest.raises(ValueError, match="y has no known label to compare with"):
        model.score(X, [[None] * len(tags) for tags in Y])
    for ask in (model.score, model.objective):
        with pytest.raises(ValueError, match="one weight for each sequence"):
            ask(X, Y, sample_weight=[1.0, 2.0])
    for ask in (CRF().predict, CRF().predict_marginals):
        with pytest.raises(NotFittedError):
            ask(X)
    with pytest.raises(ValueError, match="a weight is for 'C', which is no label or attribute"):
        CRF.of_weights(["A", "B"], ["up"], {("A", "C"): 1.0}, {})
    assert CRF.of_weights(["A", 2], ["up"], {("A", 2): 1.0}, {}).predict([["up", "up"]]) == [["A", 2]]


def test_files_do_not_grow_with_answers(model):
    before = len(pickle.dumps(model))
    model.predict(X)
    assert len(pickle.dumps(model)) == before
    assert io.BytesIO(pickle.dumps(model)).getbuffer().nbytes < 50_000


def test_callbacks_score_phrases():
    """One callback holds out sequences, the other is shown all that were given."""
    tags = {"A": "O", "B": "B-X", "C": "I-X"}
    labels = [[tags[label] for label in part] for part in Y]
    monitor, stop = (
        ScoringMonitor(scoring=make_scorer(span_f1)),
        EarlyStopping(make_scorer(span_f1), patience=2),
    )
    model = CRF(c2=0.1).set_callbacks(monitor, stop).fit(X, labels)
    passes = {row["task_id"]: row["score"] for row in monitor.get_logs().data if row["task_name"] == "pass"}
    assert passes[model.best_iter_ - 1] == span_f1(labels, model.predict(X))
    assert model.best_iter_ + 2 == len(model.validation_scores_) == model.n_iter_
    np.testing.assert_allclose(np.concatenate(model.predict_proba(X)).sum(axis=1), 1.0)
