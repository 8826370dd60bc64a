"""Counts of terms: agreement with scikit-learn, and what it does not have."""

import io
import sys
import types

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer as Peer

from tercet import Recorder
from tercet.feature import CountVectorizer
from tercet.feature.text import term_counts, tokenization

POEMS = [
    "The rose is a rose.",
    "A rose, the lily; the LILY!",
    "Très élégant: l'été, 3 lilies & x_1",
    "",
    "三行诗 is a tercet",
]
PARAMETERS = [
    {},
    {"lowercase": False},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode", "stop_words": "english"},
    {"stop_words": ["rose", "is"]},
    {"ngram_range": (1, 3)},
    {"ngram_range": (2, 2), "stop_words": ["the"]},
    {"analyzer": "char", "ngram_range": (1, 2)},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
    {"token_pattern": r"\w+"},
    {"tokenizer": str.split, "token_pattern": None},
    {"min_df": 2},
    {"max_df": 0.3},
    {"max_features": 2},
    {"binary": True, "dtype": np.float32},
    {"vocabulary": ["rose", "a", "lily", "unicorn"]},
    {"vocabulary": {"lily": 1, "rose": 0}},
    {"preprocessor": str.upper},
    {"analyzer": str.split},
]


def same(one, other):
    assert one.vocabulary_ == other.vocabulary_
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()


def same_matrix(one, other):
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    assert one.has_canonical_format
    assert (one != other).nnz == 0


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_agrees_with_scikit_learn(parameters):
    ours, theirs = CountVectorizer(**parameters), Peer(**parameters)
    same_matrix(ours.fit_transform(POEMS), theirs.fit_transform(POEMS))
    same(ours, theirs)
    new = ["a rose by any other name", "unseen", "une été"]
    same_matrix(ours.transform(new), theirs.transform(new))
    assert [list(map(str, terms)) for terms in ours.inverse_transform(ours.transform(POEMS))] == [
        list(map(str, terms)) for terms in theirs.inverse_transform(theirs.transform(POEMS))
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("aB _é.三\t1ſ’“ÀßªµŁ²ı\x85\xa0\u200b", max_size=8), min_size=1, max_size=6),
    st.booleans(),
)
def test_agrees_with_scikit_learn_on_any_text(texts, lowercase):
    ours, theirs = CountVectorizer(lowercase=lowercase), Peer(lowercase=lowercase)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="empty vocabulary"):
            ours.fit_transform(texts)
        return
    same_matrix(ours.fit_transform(texts), expected)
    same(ours, theirs)


def test_a_small_buffer_gives_the_same_counts(monkeypatch):
    whole = CountVectorizer(stop_words="english").fit(POEMS)
    expected = whole.transform(POEMS)
    monkeypatch.setattr(term_counts, "BUFFER", 3)
    again = CountVectorizer(stop_words="english")
    same_matrix(again.fit_transform(POEMS), expected)
    same_matrix(again.transform(POEMS), expected)
    assert again.vocabulary_ == whole.vocabulary_


def test_documents_are_looked_at_one_after_the_other():
    seen = []

    def stream():
        for text in POEMS:
            seen.append(text)
            yield text

    model = CountVectorizer(tokenizer=lambda text: [str(len(seen))], token_pattern=None)
    counts = model.fit_transform(stream())
    assert counts.shape == (5, 5)
    assert np.array_equal(counts.toarray(), np.eye(5))


def test_sources(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_bytes("été rose".encode("latin-1"))
    for given_as, document in (
        ("filename", path),
        ("file", io.BytesIO(path.read_bytes())),
        ("content", path.read_bytes()),
    ):
        model = CountVectorizer(input=given_as, encoding="latin-1").fit([document])
        assert sorted(model.vocabulary_) == ["rose", "été"]
    with pytest.raises(UnicodeDecodeError, match="a document of X is in another encoding"):
        CountVectorizer().fit([path.read_bytes()])
    assert sorted(CountVectorizer(decode_error="ignore").fit([path.read_bytes()]).vocabulary_) == ["rose"]
    series = pl.Series(["a rose", "a lily"])
    assert CountVectorizer().fit_transform(series).shape == (2, 2)


def test_lists_of_tokens():
    model = CountVectorizer(analyzer="tokens", ngram_range=(1, 2), stop_words=["b"])
    counts = model.fit_transform([["a", "b", "a"], ("c",), []])
    assert model.vocabulary_ == {"a": 0, "a a": 1, "c": 2}
    assert counts.toarray().tolist() == [[2, 1, 0], [0, 0, 1], [0, 0, 0]]
    watched = CountVectorizer(analyzer="tokens").set_callbacks(Recorder()).fit([["a", "b"], ["a", "c"]])
    assert watched.vocabulary_ == {"a": 0, "b": 1, "c": 2}
    with pytest.raises(TypeError, match=r"X\[0\] is 'a rose'; with analyzer='tokens'"):
        model.fit(["a rose"])


def test_chinese_without_jieba(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    monkeypatch.setattr(tokenization.importlib.util, "find_spec", lambda name: None)
    model = CountVectorizer(analyzer="chinese").fit(["三行诗很短。A tercet", "三行诗"])
    assert model.segmenter_ == "bigrams"
    assert sorted(model.vocabulary_) == ["a", "tercet", "三行", "很短", "行诗", "诗很"]
    # a text is Chinese only where the user says so
    assert sorted(CountVectorizer().fit(["三行诗 很短"]).vocabulary_) == ["三行诗", "很短"]


def test_chinese_with_jieba(monkeypatch):
    jieba = types.ModuleType("jieba")
    jieba.lcut = lambda text: text.replace("。", " 。").split()
    monkeypatch.setitem(sys.modules, "jieba", jieba)
    monkeypatch.setattr(tokenization.importlib.util, "find_spec", lambda name: name)
    model = CountVectorizer(analyzer="chinese", stop_words=["很"]).fit(["三行诗 很 短。"])
    assert model.segmenter_ == "jieba"
    assert model.vocabulary_ == {"三行诗": 0, "短": 1}
    monkeypatch.setattr(tokenization.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="words that jieba found, and jieba is not installed"):
        model.transform(["短"])


def test_equally_frequent_terms_are_kept_in_order():
    words = [f"word{k:03}" for k in range(200)]
    model = CountVectorizer(max_features=20).fit([" ".join(reversed(words))])
    assert model.get_feature_names_out().tolist() == words[:20]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CountVectorizer().fit("a rose"), "X is a single text. Iterable over raw text documents"),
        (lambda: CountVectorizer().fit(5), "X must be a list or another iterable of documents; got 5"),
        (lambda: CountVectorizer().fit({"a": "rose"}), "X must be a list"),
        (lambda: CountVectorizer().fit(["rose", None]), r"X\[1\] is None; documents must be texts"),
        (lambda: CountVectorizer().fit(["rose", 5.5]), r"X\[1\] is 5.5"),
        (lambda: CountVectorizer(ngram_range=(1, 2)).fit([["a"]]), r"X\[0\] is \['a'\]"),
        (lambda: CountVectorizer().fit(["rose", np.nan]), "np.nan is an invalid document"),
        (lambda: CountVectorizer().fit(pl.DataFrame({"text": POEMS})), r"X has the shape \(5, 1\)"),
        (lambda: CountVectorizer().fit(sparse.csr_array(np.eye(2))), r"X has the shape \(2, 2\)"),
        (lambda: CountVectorizer().fit([]), "empty vocabulary"),
        (lambda: CountVectorizer().fit(["", "a"]), "empty vocabulary"),
        (lambda: CountVectorizer(min_df=2).fit(["rose"]), "max_df corresponds to < documents than min_df"),
        (lambda: CountVectorizer(max_df=0.5).fit(["rose", "rose"]), "After pruning, no terms remain"),
        (lambda: CountVectorizer(ngram_range=(2, 1)).fit(POEMS), "lower boundary larger"),
        (lambda: CountVectorizer(ngram_range=(0, 1)).fit(POEMS), "'ngram_range' must be a pair of whole"),
        (lambda: CountVectorizer(vocabulary=["a", "a"]).fit(POEMS), "Duplicate term in vocabulary: 'a'"),
        (lambda: CountVectorizer(vocabulary={"a": 1}).fit(POEMS), "doesn't contain index 0"),
        (lambda: CountVectorizer(vocabulary="rose").fit(POEMS), "'vocabulary' must be a dict or an iterable"),
        (lambda: CountVectorizer(token_pattern="(").fit(POEMS), "is no regular expression"),
        (lambda: CountVectorizer(token_pattern=None).fit(POEMS), "token_pattern is None"),
        (lambda: CountVectorizer(encoding="klingon").fit(POEMS), "'encoding' must be an encoding"),
        (lambda: CountVectorizer(dtype="no such").fit(POEMS), "'dtype' must be a type of numbers"),
        (lambda: CountVectorizer(stop_words="klingon").fit(POEMS), "'stop_words' must be"),
        (lambda: CountVectorizer(analyzer="klingon").fit(POEMS), "'analyzer' must be one of"),
        (lambda: CountVectorizer(analyzer="tokens").fit([5]), r"X\[0\] is 5; with analyzer='tokens'"),
        (
            lambda: CountVectorizer(analyzer="tokens").fit([["a", 5]]),
            "with analyzer='tokens' documents are lists",
        ),
        (lambda: CountVectorizer(vocabulary=[["a"]]).fit(POEMS), r"vocabulary must hold terms; got \['a'\]"),
        (
            lambda: CountVectorizer(analyzer=lambda text: None).fit(POEMS),
            "the analyzer must give a list of terms",
        ),
        (lambda: CountVectorizer(analyzer=lambda text: [[1]]).fit(POEMS), r"of X\[0\] it gives \[\[1\]\]"),
        (lambda: CountVectorizer(analyzer=lambda text: [1, "a"]).fit(POEMS), "terms must be of one type"),
        (lambda: CountVectorizer().transform(POEMS), "Vocabulary not fitted or provided"),
        (
            lambda: CountVectorizer().fit(POEMS).inverse_transform(np.eye(2)),
            "X has 2 columns; the vocabulary",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_errors_of_functions_of_the_user_are_their_own():
    def broken(text):
        raise KeyError(text)

    with pytest.raises(KeyError, match="rose"):
        CountVectorizer(tokenizer=broken, token_pattern=None).fit(["rose"])


def test_documents_are_no_metadata():
    assert not hasattr(CountVectorizer(), "set_fit_request")
    assert not hasattr(CountVectorizer(), "set_transform_request")


def test_one_word_and_unseen_words():
    model = CountVectorizer().fit(["rose rose", "rose"])
    assert model.vocabulary_ == {"rose": 0}
    assert model.transform(["lily", "", "rose lily"]).toarray().tolist() == [[0], [0], [1]]
    assert model.transform([]).shape == (0, 1)
