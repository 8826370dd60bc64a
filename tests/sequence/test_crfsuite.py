"""Models of CRFsuite: what it dumps is read, and predicts the same."""

import io

import numpy as np
import pycrfsuite
import pytest

from tercet.sequence import CRF, read_crfsuite, write_crfsuite
from tercet.sequence.text.crfsuite import parse_dump


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crfsuite")
    rng = np.random.default_rng(0)
    words = ["w=a", "b:c", "k --> z", "w= x y", "(", "语", "0: q", "e}"]
    X = [[[str(w) for w in rng.choice(words, 3, replace=False)] for _ in range(6)] for _ in range(40)]
    y = [[["A", "B --> C", "O o"][int(rng.integers(3)) if t % 2 else words.index(token[0]) % 3]
          for t, token in enumerate(tokens)] for tokens in X]  # fmt: skip
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, tags in zip(X, y):
        trainer.append(tokens, tags)
    trainer.set_params({"c2": 0.1, "feature.possible_transitions": True})
    trainer.train(str(folder / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "model"))
    tagger.dump(str(folder / "dump.txt"))
    return tagger, folder / "dump.txt", X


def test_the_same_tags_and_probabilities(dumped):
    tagger, path, X = dumped
    model = read_crfsuite(path)
    assert isinstance(model, CRF)
    assert sorted(model.classes_.tolist()) == sorted(tagger.labels())
    for tokens in X:
        assert model.predict([tokens]) == [tagger.tag(tokens)]
        proba = model.predict_marginals([tokens])[0]
        for t in range(len(tokens)):
            for label, p in proba[t].items():
                assert p == pytest.approx(tagger.marginal(label, t), abs=1e-5)  # six decimals in the dump


def test_written_and_read_again(dumped):
    model = read_crfsuite(dumped[1])
    file = io.StringIO()
    write_crfsuite(model, file)
    again = read_crfsuite(file.getvalue().split("\n"))
    assert again.state_features_ == model.state_features_
    assert again.transition_features_ == model.transition_features_


def test_a_model_of_ours_makes_a_dump(tmp_path):
    model = CRF(c2=0.1).fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]])
    write_crfsuite(model, tmp_path / "dump")
    other = read_crfsuite(tmp_path / "dump")
    np.testing.assert_allclose(other.state_weights_, model.state_weights_, atol=1e-6)


def test_what_is_no_dump_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line 1: not the dump of a CRFsuite model"):
        parse_dump(["hello"])
    with pytest.raises(ValueError, match="has no ATTRIBUTES, TRANSITIONS, STATE_FEATURES"):
        parse_dump(["LABELS = {", "  0: A", "}"])
    lines = ["LABELS = {", "  0: A", "}", "ATTRIBUTES = {", "}", "TRANSITIONS = {", "}", "STATE_FEATURES = {"]
    with pytest.raises(ValueError, match="line 9: not a pair of known names"):
        parse_dump([*lines, "  (0) b --> A: 1.0", "}"])
    with pytest.raises(ValueError, match="line 9: cannot be read"):
        parse_dump([*lines, "  b A 1.0", "}"])
    for weight in ("x", "nan", "inf"):
        with pytest.raises(ValueError, match=f"line 10: the weight '{weight}' is not a finite number"):
            parse_dump([*lines[:4], "  0: b", *lines[4:], f"  (0) b --> A: {weight}", "}"])
    model = CRF.of_weights(["A"], ["line\nbreak"], {}, {})
    with pytest.raises(ValueError, match="line break"):
        write_crfsuite(model, io.StringIO())
