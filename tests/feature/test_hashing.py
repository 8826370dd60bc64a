"""The hashing trick: hashes, columns and buckets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction import FeatureHasher as PeerHasher
from sklearn.feature_extraction.text import HashingVectorizer as PeerVectorizer
from sklearn.utils import murmurhash3_32

from tercet.feature import FeatureHasher, HashBucketEncoder, HashingVectorizer
from tercet.feature.hashing import hashed_entries
from tercet.feature.hashing.murmurhash3 import hash_numbers, hash_texts
from tests.feature.test_count_vectorizer import POEMS

TEXTS = ["", "a", "ab", "abc", "abcd", "abcde", "rosé", "玫瑰花", "x" * 1000, "\0", "𝕏"]


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_hashes_are_those_of_scikit_learn(seed):
    expected = [murmurhash3_32(text, seed=seed) for text in TEXTS]
    assert hash_texts(TEXTS, seed).tolist() == expected
    assert hash_texts([text.encode() for text in TEXTS], seed).tolist() == expected


def test_hashes_of_numbers():
    whole = np.array([0, -3, 2**40])
    assert np.array_equal(hash_numbers(whole), hash_numbers(whole.astype(float)))
    assert hash_numbers(np.array([-0.0])) == hash_numbers(np.array([0]))
    large = np.array([2**62, 2**62 + 1])
    assert len(set(hash_numbers(large).tolist())) == 2
    assert len(set(hash_numbers(np.arange(1000) / 7).tolist())) == 1000


RECORDS = [{"foo": "bar", "dada": 42, "tzara": 0}, {"foo": 1.5, "dada": -2}, {}]


@pytest.mark.parametrize("alternate_sign", [True, False])
@pytest.mark.parametrize("n_features", [4, 2**20])
def test_records_are_hashed_as_by_scikit_learn(alternate_sign, n_features):
    options = {"n_features": n_features, "alternate_sign": alternate_sign}
    one, other = FeatureHasher(**options).transform(RECORDS), PeerHasher(**options).transform(RECORDS)
    assert type(one) is type(other)
    assert abs(one - other).nnz == 0
    pairs = [list(record.items()) for record in RECORDS]
    assert abs(FeatureHasher(**options, input_type="pair").transform(pairs) - other).nnz == 0


def test_what_are_no_records():
    with pytest.raises(TypeError, match="X must hold dicts with input_type='dict'; got 'a'"):
        FeatureHasher().transform(["a"])
    with pytest.raises(TypeError, match="feature names must be strings; X has 3"):
        FeatureHasher(input_type="string").transform([[3]])
    with pytest.raises(TypeError, match="must hold lists of pairs of names and numbers"):
        FeatureHasher(input_type="pair").transform([[1.0, 2.0]])
    with pytest.raises(TypeError, match="must hold lists of strings; got 3"):
        FeatureHasher(input_type="string").transform([3])
    with pytest.raises(TypeError, match="X must be a list or another iterable"):
        FeatureHasher().fit(5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "l1", "ngram_range": (1, 2)},
        {"norm": None, "analyzer": "char_wb", "ngram_range": (2, 4)},
        {"stop_words": "english", "binary": True, "n_features": 16},
        {"alternate_sign": False, "dtype": np.float32, "token_pattern": r"\w+"},
    ],
    ids=str,
)
def test_texts_are_hashed_as_by_scikit_learn(options):
    one, other = HashingVectorizer(**options).transform(POEMS), PeerVectorizer(**options).transform(POEMS)
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-6)


def test_names_are_forgotten_when_there_are_many(monkeypatch):
    whole = HashingVectorizer().transform(POEMS)
    monkeypatch.setattr(hashed_entries, "MANY", 3)
    monkeypatch.setattr("tercet.feature.text.hashing_vectorizer.BATCH", 5)
    assert abs(HashingVectorizer().transform(iter(POEMS)) - whole).nnz == 0


def test_documents_that_are_none():
    with pytest.raises(TypeError, match=r"X\[1\] is 5; documents must be texts"):
        HashingVectorizer().transform(["a rose", 5])
    tokens = HashingVectorizer(analyzer="tokens", norm=None, alternate_sign=False)
    assert tokens.transform([["a", "b", "a"]]).sum() == 3
    chinese = HashingVectorizer(analyzer="chinese", norm=None, alternate_sign=False).fit(["玫瑰"])
    assert chinese.segmenter_ in ("jieba", "bigrams")
    assert chinese.transform(["玫瑰花开"]).sum() > 0


def test_buckets_are_columns_of_the_feature_hasher():
    words = np.array(["rose", "lily", "violet"], dtype=object)[:, None]
    found = HashBucketEncoder(50).fit_transform(words).ravel()
    rows = PeerHasher(50, input_type="string").transform(words.tolist())
    assert np.array_equal(found, rows.indices)


def test_buckets_do_not_depend_on_the_container():
    numbers = np.array([[1, 2], [3, 40], [2**33, 5]])
    frame = pd.DataFrame(numbers, columns=["a", "b"])
    expected = HashBucketEncoder(20).fit_transform(numbers)
    for given in (
        numbers.astype(float),
        frame,
        frame.astype(object),
        frame.astype("Int64"),
        numbers.tolist(),
    ):
        assert np.array_equal(HashBucketEncoder(20).fit_transform(given), expected)
    assert not np.array_equal(HashBucketEncoder(20, seed=1).fit_transform(numbers), expected)
    assert HashBucketEncoder(20).fit(numbers).transform([[77, "new"]]).shape == (1, 2)


def test_buckets_of_missing_values_and_columns():
    X = np.array([["a", 1.0], [None, np.nan]], dtype=object)
    model = HashBucketEncoder([3, 5]).fit(X)
    assert model.transform(X)[1].tolist() == [3, 5]
    assert np.isnan(HashBucketEncoder(4, missing="nan").fit_transform(X)[1]).all()
    columns = HashBucketEncoder([3, 5], encode="onehot").fit(X)
    assert columns.transform(X).shape == (2, 10)
    assert columns.get_feature_names_out(["s", "t"]).tolist()[3:5] == ["s_missing", "t_0"]
    assert HashBucketEncoder(4, encode="onehot-dense", missing="nan").fit_transform(X).sum() == 2
    with pytest.raises(ValueError, match="'n_buckets' must be a whole number"):
        HashBucketEncoder([3, 5, 7]).fit(X)
    with pytest.raises(ValueError, match="do not fit into memory: encode them as a sparse matrix"):
        HashBucketEncoder(2**31 - 1, encode="onehot-dense").fit(X).transform(np.repeat(X, 50, axis=0))


def test_buckets_are_used_evenly():
    found = HashBucketEncoder(64).fit_transform(np.arange(64_000)[:, None])
    counts = np.bincount(found.ravel().astype(int), minlength=64)
    assert 800 < counts.min() <= counts.max() < 1200
