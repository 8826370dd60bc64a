"""Coherence of topics, with the numbers of gensim."""

import sys

import numpy as np
import pytest
from scipy import sparse

from tercet.topic import PLSA, coherence, count_documents, count_topic_words

WORDS = ["cat", "dog", "fish", "moon", "star", "sun"]
DOCUMENTS = [
    *(
        [WORDS[(d * d + 3 * i * i + i * d) % (4 if d % 2 else 6)] for i in range(4 + 23 * (d % 6))]
        for d in range(12)
    ),
    [],
    ["sea", "sand"],
]
TOPICS = [["cat", "dog", "fish"], ["moon", "star", "sun", "cat"], ["sea", "moon"]]
# CoherenceModel(topics=TOPICS, texts=DOCUMENTS, corpus=bags, dictionary=Dictionary(DOCUMENTS), coherence=measure,
# processes=1).get_coherence_per_topic() of gensim 4.4.0, where bags are dictionary.doc2bow of the documents.
GENSIM = {
    "u_mass": [-0.5757403160266613, -0.481728626312722, -24.99196378631329],
    "c_uci": [0.41208224253195036, 0.46162848666849204, -20.611825726327275],
    "c_npmi": [0.2348057650333094, 0.2795559970746941, -0.7459668479079518],
    "c_v": [0.8428116670197703, 0.8810053048643781, 0.07447769596298923],
}


@pytest.mark.parametrize("measure", list(GENSIM))
def test_numbers_of_gensim(measure):
    found = coherence(TOPICS, DOCUMENTS, measure, per_topic=True)
    np.testing.assert_allclose(found, GENSIM[measure], rtol=1e-12)
    assert coherence(TOPICS, DOCUMENTS, measure) == pytest.approx(np.mean(GENSIM[measure]))


def windows(document, size):
    return [set(document[k : k + size]) for k in range(max(1, len(document) - size + 1))] if document else []


def test_exact_windows_are_those_of_the_definition():
    every = [window for document in DOCUMENTS for window in windows(document, 5)]
    p = {w: np.mean([w in window for window in every]) for w in TOPICS[0]}
    values = []
    for a in TOPICS[0]:
        for b in TOPICS[0]:
            if a != b:
                both = np.mean([a in window and b in window for window in every])
                values.append(np.log((both + 1e-12) / (p[a] * p[b])) / -np.log(both + 1e-12))
    found = coherence(TOPICS[:1], DOCUMENTS, "c_npmi", window=5, exact=True)
    assert found == pytest.approx(np.mean(values), rel=1e-12)


def test_words_that_are_in_every_window():
    always = [["a", "b"], ["b", "a", "c"]]
    assert coherence([["a", "b"]], always, "c_npmi", exact=True) == 1.0
    assert coherence([["a", "b"]], always, "c_npmi") == pytest.approx(-1.0)  # gensim's


def test_counts_bags_and_models_as_input():
    counted = count_documents(DOCUMENTS)
    names = sorted(counted.vocabulary)
    bags = [
        list(zip(row.indices.tolist(), row.data.tolist())) for row in map(sparse.csr_array, counted.counts)
    ]
    for documents in (counted.counts, counted.counts.toarray(), bags):
        for given in (names, dict(enumerate(names))):
            found = coherence(TOPICS, documents, "u_mass", feature_names=given, per_topic=True)
            np.testing.assert_allclose(found, GENSIM["u_mass"], rtol=1e-12)
    whole = coherence(TOPICS, counted.counts, "c_npmi", feature_names=names)
    assert whole == pytest.approx(coherence(TOPICS, DOCUMENTS, "c_npmi", window="document"))
    numbers = [[counted.vocabulary[word] for word in topic] for topic in TOPICS]
    assert coherence(numbers, counted.counts, "u_mass") == pytest.approx(np.mean(GENSIM["u_mass"]))
    model = PLSA(2, random_state=0).fit(DOCUMENTS)
    assert coherence(model, DOCUMENTS, n_words=3) == coherence(model.top_words(3), DOCUMENTS)
    by_columns = PLSA(2, random_state=0).fit(counted.counts)
    assert coherence(by_columns, counted.counts, "u_mass", n_words=3) == pytest.approx(
        coherence(model, DOCUMENTS, "u_mass", n_words=3)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"measure": "c_w"}, "measure must be one of 'u_mass'"),
        ({"topics": [["cat"]]}, r"topic 0 is \['cat'\]"),
        ({"topics": ["cat"]}, "topic 0 is 'cat'"),
        ({"topics": [["cat", "cat"]]}, "all different"),
        ({"topics": []}, "topics has no topics"),
        ({"topics": [["nobody", "nowhere"]]}, "None of the words of the topics occurs"),
        ({"window": 0}, "window must be a whole number of at least 1"),
        ({"documents": np.ones((2, 3))}, "documents has no column for the word 'cat'"),
    ],
)
def test_bad_input(arguments, said):
    with pytest.raises(ValueError, match=said):
        coherence(**{"topics": TOPICS, "documents": DOCUMENTS, **arguments})


def test_words_of_topics_are_counted():
    topics = {"sport": ["ball", "play"], "music": ["song", "play"]}
    found = count_topic_words([["ball", "play", "tree"], ["song"]], topics, smoothing=0.5)
    assert found.tolist() == [[2.5, 1.5], [0.5, 1.5]]
    with pytest.raises(TypeError, match="must be a list of words; got the string 'ball'"):
        count_topic_words([["ball"]], {"sport": "ball"})
    with pytest.raises(ValueError, match="smoothing must be a finite number of at least 0; got -1"):
        count_topic_words([["ball"]], topics, smoothing=-1)


def test_documents_are_counted_in_batches(monkeypatch):
    monkeypatch.setattr(sys.modules["tercet.topic.coherence"], "BATCH", 50)
    np.testing.assert_allclose(coherence(TOPICS, DOCUMENTS, per_topic=True), GENSIM["c_v"], rtol=1e-12)
