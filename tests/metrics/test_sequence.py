"""Tags, phrases and their scores."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer

from tercet.metrics.sequence import (
    allowed_transitions,
    convert_scheme,
    guess_scheme,
    sequence_accuracy,
    span_f1,
    span_precision,
    span_recall,
    span_report,
    span_scores,
    spans_to_tags,
    tag_accuracy,
    tag_scores,
    tags_to_spans,
)
from tercet.metrics.sequence.schemes import SCHEMES

WORDS = [
    "At",
    "Microsoft",
    "Research",
    "we",
    "have",
    "an",
    "insatiable",
    "curiosity",
    "and",
    "the",
    "desire",
    "to",
    "create",
    "new",
    "technology",
    "that",
    "will",
    "help",
    "define",
    "the",
    "computing",
    "experience",
]
TAGS = [
    "O",
    "B",
    "E",
    "O",
    "O",
    "O",
    "B",
    "E",
    "O",
    "O",
    "BE",
    "O",
    "O",
    "B",
    "E",
    "O",
    "O",
    "O",
    "O",
    "O",
    "B",
    "E",
]


def test_base_noun_phrases_of_the_text():
    found = tags_to_spans(TAGS, "be")
    assert [(a, b) for _, a, b in found] == [(1, 2), (6, 7), (10, 10), (13, 14), (20, 21)]
    phrases = [" ".join(WORDS[a : b + 1]) for _, a, b in found]
    assert phrases == [
        "Microsoft Research",
        "insatiable curiosity",
        "desire",
        "new technology",
        "computing experience",
    ]
    assert tags_to_spans(TAGS) == found
    assert spans_to_tags(found, len(TAGS), "be") == TAGS


def test_words_inside_a_phrase_of_the_text_are_other():
    assert tags_to_spans(["B", "O", "O", "E", "O"], "be") == [("", 0, 3)]
    assert tags_to_spans(["B", "O", "B", "E", "E"], "be") == [("", 0, 0), ("", 2, 3), ("", 4, 4)]
    assert tags_to_spans(["B", "O", "B", "E", "E"], "be", strict=True) == [("", 2, 3)]


@st.composite
def phrases(draw):
    n = draw(st.integers(1, 12))
    cuts = sorted(draw(st.sets(st.integers(0, n), max_size=n + 1)) | {0, n})
    chosen = [(a, b - 1, draw(st.sampled_from(["", "X", "Y-Z"]))) for a, b in itertools.pairwise(cuts)]
    keep = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    return [(kind, a, b) for (a, b, kind), kept in zip(chosen, keep) if kept], n


@given(phrases(), st.sampled_from([*SCHEMES, "bilou", "bmes", "bio"]))
def test_tags_and_phrases_are_inverse(case, scheme):
    found, n = case
    tags = spans_to_tags(found, n, scheme)
    assert tags_to_spans(tags, scheme) == found
    assert tags_to_spans(tags, scheme, strict=True) == found
    start, follow, end = allowed_transitions(sorted({*tags}), scheme)
    at = [sorted({*tags}).index(tag) for tag in tags]
    assert start[at[0]]
    assert end[at[-1]]
    assert all(follow[a, b] for a, b in itertools.pairwise(at))


@given(phrases(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_conversion(case, one, other):
    found, n = case
    assert convert_scheme(spans_to_tags(found, n, one), other, one) == spans_to_tags(found, n, other)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "ioe1", "ioe2", "iobes"])
def test_a_sequence_is_allowed_just_when_all_its_phrases_are_well_formed(scheme):
    labels = [f"{letter}-{kind}" for letter in "BIES" for kind in "XY"] + ["O"]
    letters = {"iob1": "BI", "iob2": "BI", "ioe1": "IE", "ioe2": "IE", "iobes": "BIES"}[scheme]
    labels = [label for label in labels if label[0] in letters or label == "O"]
    start, follow, end = allowed_transitions(labels, scheme)
    for path in itertools.product(range(len(labels)), repeat=3):
        tags = [labels[k] for k in path]
        fine = start[path[0]] and end[path[-1]] and follow[path[0], path[1]] and follow[path[1], path[2]]
        assert fine == (tags_to_spans(tags, scheme, strict=True) == tags_to_spans(tags)), tags


def test_rules_of_the_evaluation_script():
    # conlleval: an I of another type begins a new phrase, an I after O too.
    assert tags_to_spans(["I-A", "I-B", "B-B", "O", "I-A", "E-A", "I-A"]) == [
        ("A", 0, 0),
        ("B", 1, 1),
        ("B", 2, 2),
        ("A", 4, 5),
        ("A", 6, 6),
    ]


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ([["B-X", "I-X", "O"]], "iob2"),
        ([["I-X", "B-X", "O"]], "iob1"),
        ([["I-X", "E-X", "O"]], "ioe2"),
        ([["I-X", "E-X", "I-X"]], "ioe1"),
        ([["B-X", "I-X", "E-X"]], "iobes"),
        ([["B", "L", "U"]], "iobes"),
        ([TAGS], "be"),
        ([["I", "I"]], "iob1"),
    ],
)
def test_guess(tags, scheme):
    assert guess_scheme(tags) == scheme


def test_predicted_tags_tell_two_schemes_apart():
    """B and E alone may be of either scheme; an I or S is of one only."""
    true, told = [["B-X", "E-X", "O", "O", "O"]], [["B-X", "E-X", "B-X", "I-X", "E-X"]]
    assert span_scores(true, told) == span_scores(true, told, scheme="iobes") == (0.5, 1.0, 2 / 3, 1)
    inside = [["B", "E", "B", "O", "E"]]
    assert span_scores(inside, inside)[3] == 2


def test_nothing_to_judge():
    assert tag_accuracy([], []) == sequence_accuracy([], []) == span_f1([], []) == 0.0


def test_bad_tags_and_schemes_are_named():
    with pytest.raises(ValueError, match="'Q-X' is of no scheme"):
        tags_to_spans(["Q-X"])
    with pytest.raises(ValueError, match="scheme must be one of iob1"):
        tags_to_spans(["O"], "iob3")
    with pytest.raises(ValueError, match="do not tell a scheme"):
        guess_scheme([["O"]])
    with pytest.raises(ValueError, match="overlaps"):
        spans_to_tags([("", 0, 2), ("", 2, 3)], 5)
    with pytest.raises(ValueError, match="not inside"):
        spans_to_tags([("", 0, 5)], 5)


TRUE = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"], ["B-PER", "O", "O"]]
TOLD = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"], ["O", "O", "I-PER"]]


def test_scores_of_phrases():
    # Right: PER at 0-1 of the second. Told: MISC 2-5, PER 0-1, PER 2. There: MISC 3-5, PER 0-1, PER 0.
    assert span_scores(TRUE, TOLD) == (pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3), 3)
    precision, recall, f1, support = span_scores(TRUE, TOLD, average=None)
    np.testing.assert_allclose([precision, recall, f1], [[0, 0.5]] * 3)
    assert support.tolist() == [1, 2]
    assert span_scores(TRUE, TOLD, average="macro")[2] == pytest.approx(0.25)
    assert span_scores(TRUE, TOLD, average="weighted")[2] == pytest.approx(1 / 3)
    # Strictly the last PER, which begins with I, is none.
    assert span_precision(TRUE, TOLD, strict=True) == pytest.approx(0.5)
    assert span_recall(TRUE, TOLD, strict=True) == pytest.approx(1 / 3)
    assert span_f1(TRUE, TOLD, strict=True) == pytest.approx(0.4)


def test_scores_of_tags():
    assert tag_accuracy(TRUE, TOLD) == pytest.approx(9 / 13)
    assert sequence_accuracy(TRUE, TOLD) == pytest.approx(1 / 3)
    precision, recall, f1, support = tag_scores(TRUE, TOLD, labels=["B-PER", "I-PER"])
    np.testing.assert_allclose(precision, [1, 0.5])
    np.testing.assert_allclose(recall, [0.5, 1])
    np.testing.assert_allclose(f1, [2 / 3, 2 / 3])
    assert support.tolist() == [2, 1]


def test_nothing_to_find():
    with pytest.warns(UndefinedMetricWarning) as found:
        assert span_scores([["O"]], [["O"]]) == (0.0, 0.0, 0.0, 0)
    assert [str(one.message).split(".")[0] for one in found] == [
        "precision is set to 0: there are no predicted phrases",
        "recall is set to 0: there are no right phrases",
    ]
    with pytest.warns(UndefinedMetricWarning, match="no predicted phrases of type LOC"):
        p, r, _, _ = span_scores([["B-PER", "B-LOC"]], [["B-PER", "O"]], average=None)
    assert p.tolist() == r.tolist() == [0.0, 1.0]
    with pytest.warns(UndefinedMetricWarning, match="Recall is ill-defined"):
        tag_scores([["O"]], [["B"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert span_scores([["B"]], [["O"]], zero_division=0.0) == (0.0, 0.0, 0.0, 1)
    assert span_f1([["O"]], [["O"]], zero_division=1.0) == 1.0
    assert span_scores([["O"]], [["O"]], average="macro", zero_division=1.0) == (1.0, 1.0, 1.0, 0)


def test_report():
    table = span_report(TRUE, TOLD, output_dict=True)
    assert table["PER"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2}
    assert table["micro"]["f1"] == pytest.approx(1 / 3)
    text = span_report(TRUE, TOLD).splitlines()
    assert text[0].split() == ["precision", "recall", "f1", "support"]
    assert text[3].split() == ["PER", "0.50", "0.50", "0.50", "2"]


def test_lengths_must_match():
    with pytest.raises(ValueError, match="Sequence 1 has 1 tags in y_true and 2"):
        tag_accuracy([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(ValueError, match="2 sequences and y_pred 1"):
        span_f1([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="list of tag sequences"):
        tag_accuracy(["O"], ["O"])
    with pytest.raises(ValueError, match="average must be one of"):
        span_scores(TRUE, TOLD, average="samples")


def test_as_a_scorer():
    class Parrot:
        def fit(self, X, y):
            return self

        def predict(self, X):
            return TOLD

        def __sklearn_tags__(self):
            from sklearn.base import BaseEstimator

            return BaseEstimator().__sklearn_tags__()

    assert make_scorer(span_f1)(Parrot(), TRUE, TRUE) == pytest.approx(1 / 3)
