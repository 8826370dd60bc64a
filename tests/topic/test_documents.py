"""Input of documents: counts, bags of words, tokens."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tercet.topic import LSA, PLSA, LatentDirichletAllocation
from tercet.topic.base import TopicModel
from tercet.topic.documents import count_documents, refuse_fractions
from tercet.topic.pyldavis import pyldavis_data


class Counting(TopicModel):
    """A topic model whose topics are the first documents."""

    def fit(self, X, y=None):
        return self._learn(X, y)

    def _fit(self, X, y, sample_weight):
        assert type(X) is sparse.csr_array
        assert X.has_canonical_format
        assert X.data.all()
        self.components_ = X.toarray()[:2]

    def transform(self, X):
        return self._check(X, reset=False)


TOKENS = [["b", "a", "b"], [], ["c", "b"]]
BAGS = [[(1, 2), (0, 1)], [], [(2, 1), (1, 1)]]
COUNTS = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "X",
    [
        TOKENS,
        tuple(TOKENS),
        pd.Series(TOKENS),
        BAGS,
        COUNTS,
        COUNTS.astype(int),
        sparse.csr_matrix(COUNTS),
        sparse.coo_array(COUNTS),
        pd.DataFrame(COUNTS, columns=["a", "b", "c"]),
        [[(1, 1), (0, 1), (1, 1), (2, 0)], [], [(2, 1), (1, 1)]],  # a word twice, and one that is not there
    ],
)
def test_every_form_of_documents_gives_the_same_counts(X):
    model = Counting().fit(X)
    np.testing.assert_array_equal(model.components_, COUNTS[:2])
    np.testing.assert_array_equal(model.transform(X).toarray(), COUNTS)


def test_stored_zeros_are_left_out_of_a_copy():
    X = sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert Counting().fit(X).transform(X).nnz == 1
    assert X.nnz == 2


def test_words_that_were_not_seen_are_ignored_and_counted():
    model = Counting().fit(TOKENS)
    new = [["a", "z", "z"], ["y"], []]
    np.testing.assert_array_equal(model.transform(new).toarray(), [[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert model.unseen_words(new).tolist() == [2, 1, 0]
    assert model.fit(BAGS).unseen_words([[(0, 1), (7, 3)], []]).tolist() == [3, 0]
    assert not hasattr(model, "vocabulary_")  # of the fit to tokens
    assert model.unseen_words(COUNTS).tolist() == [0, 0, 0]


def test_tokens_are_found_among_the_columns_of_a_frame():
    model = Counting().fit(pd.DataFrame(COUNTS, columns=["a", "b", "c"]))
    assert model.transform([["b", "z"]]).toarray().tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        (["raw text", "more"], TypeError, r"X\[0\] is the text 'raw text'. Count .* CountVectorizer\(\)"),
        ([["raw text"], ["and more"]], TypeError, r"X\[0\] is the text \['raw text'\]. Count"),
        ([["a"], "b"], TypeError, r"X\[1\] holds 'b'"),
        ([["a", 1]], TypeError, r"X\[0\] holds 1"),
        ([["a"], [(0, 1)]], TypeError, r"X\[1\] holds \(0, 1\)"),
        ([[(0, 1)], ["a"]], TypeError, r"X\[1\] holds 'a'"),
        ([[(0, 1), (1, -1)]], ValueError, "the count -1.0 in document 0"),
        ([[(-1, 1)]], ValueError, "the word number -1 in document 0"),
        ([[(0, np.nan)]], ValueError, "the count nan"),
        ([[], []], ValueError, "its 2 documents are empty"),
        (np.zeros((2, 3)), ValueError, "all counts of its 2 documents are zero"),
        ([[(3, 0)]], ValueError, "all counts of its 1 documents are zero"),
        (np.array([[1.0, -2.0]]), ValueError, "Negative values in data passed to Counting .*-2"),
        (np.array([[1.0, np.nan]]), ValueError, "NaN"),
        (None, ValueError, "X must be"),
    ],
)
def test_bad_documents_are_refused_with_a_sentence(X, error, said):
    with pytest.raises(error, match=said):
        Counting().fit(X)


def test_a_model_of_counts_knows_no_tokens():
    model = Counting().fit(COUNTS)
    with pytest.raises(ValueError, match="Counting: X holds tokens, but the model was fitted to counts"):
        model.transform(TOKENS)
    assert model.transform([[], []]).shape == (2, 3)
    with pytest.raises(ValueError, match="4 features"):
        model.transform(np.ones((1, 4)))


def test_fractions_are_refused_where_words_are_drawn():
    refuse_fractions(sparse.csr_array(COUNTS), "Method")
    with pytest.raises(ValueError, match=r"Method: X must hold whole counts of words; it has 0\.5"):
        refuse_fractions(sparse.csr_array(COUNTS / 2), "Method")


def test_count_documents_takes_a_vocabulary():
    found = count_documents([["a", "q"]], {"q": 1, "a": 4}, n_features=5)
    assert found.counts.toarray().tolist() == [[0.0, 1.0, 0.0, 0.0, 1.0]]
    with pytest.raises(TypeError, match="X must be a list of documents"):
        count_documents(COUNTS)


def test_top_words_and_their_names():
    model = Counting().fit(TOKENS)
    assert model.top_words(2) == [["b", "a"], ["a", "b"]]
    assert model.top_words(1, with_weights=True)[0] == [("b", 2 / 3)]
    assert model.fit(COUNTS).top_words(1) == [["x1"], ["x0"]]
    assert model.top_words(1, ["u", "v", "w"]) == [["v"], ["u"]]
    assert model.top_words(1, {0: "u", 1: "v"}) == [["v"], ["u"]]
    with pytest.raises(ValueError, match=r"a name for each of the 3 words; its shape is \(1,\)"):
        model.top_words(1, ["u"])
    with pytest.raises(ValueError, match="n_words must be a whole number of at least 1; got 0"):
        model.top_words(0)


def test_topic_similarity():
    model = Counting().fit(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    assert model.topic_similarity()[0, 1] == pytest.approx(0.5)
    assert model.topic_similarity("jensen-shannon")[0, 1] == pytest.approx(
        0.5
    )  # one bit in half of the words
    assert model.topic_similarity("hellinger")[0, 1] == pytest.approx(1 - np.sqrt(0.5))
    with pytest.raises(ValueError, match="metric must be one of 'cosine'"):
        model.topic_similarity("euclid")


def test_arguments_for_pyldavis():
    """pyLDAvis wants distributions in rows, no empty document, and a name and a count for each word."""
    model = Counting().fit(np.array([[1.0, 1.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]]))
    model.transform = lambda X: np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 3.0]])
    found = pyldavis_data(model, np.array([[1.0, 0.0, 4.0, 2.0], [0.0, 0.0, 5.0, 0.0], [1.0, 1.0, 0.0, 0.0]]))
    assert found["vocab"] == ["x0", "x1", "x3"]  # no topic has x2
    assert found["doc_lengths"].tolist() == [3.0, 2.0]
    assert found["term_frequency"].tolist() == [2.0, 1.0, 2.0]
    np.testing.assert_allclose(found["topic_term_dists"], [[0.25, 0.25, 0.5], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(found["doc_topic_dists"], [[0.5, 0.5], [0.25, 0.75]])
    with pytest.raises(ValueError, match="X has no word that the model knows"):
        pyldavis_data(model, np.array([[0.0, 0.0, 1.0, 0.0]]))


@pytest.mark.parametrize(
    "model", [LatentDirichletAllocation(), LSA(), PLSA()], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_topic_models_of_raw_text_suggest_a_vectorizer(model, kind):
    with pytest.raises(
        TypeError, match=r"the text 'a red rose'\. Count .* CountVectorizer\(\)\.fit_transform"
    ):
        model.fit(kind(["a red rose", "a lily"]))


def test_tokens_of_several_words_are_tokens():
    assert count_documents([["new york", "rose"], ["new york"]]).vocabulary == {"new york": 0, "rose": 1}
