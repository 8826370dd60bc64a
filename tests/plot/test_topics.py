"""Pictures of topics."""

import numpy as np
import pytest

from tercet.plot import plot_model, plot_top_words, plot_topic_map, to_svg
from tercet.plot.topics import prevalence, topic_plane
from tercet.topic import PLSA

DOCUMENTS = [["cat", "dog", "dog"], ["dog", "cat", "$"], ["moon", "sun", "sun"], ["sun", "月亮"]]


@pytest.fixture(scope="module")
def model():
    return PLSA(2, random_state=0).fit(DOCUMENTS)


def test_top_words_are_bars(model):
    ax = plot_top_words(model, 2)
    top = model.top_words(2, with_weights=True)
    assert [bar.get_width() for bar in ax.patches] == [weight for topic in top for _, weight in topic]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [word for topic in top for word, _ in topic]
    assert len(plot_top_words(model, 2, topics=[1]).patches) == 2
    assert to_svg(plot_model(model)).startswith("<svg")
    with pytest.raises(ValueError, match=r"topics must be some of the 2 topics, from 0; got \[2\]"):
        plot_top_words(model, topics=[2])


def test_map_places_topics_by_their_divergence(model):
    ax = plot_topic_map(model, DOCUMENTS)
    (circles,) = ax.collections
    points = circles.get_offsets()
    apart = 1 - model.topic_similarity("jensen-shannon")[0, 1]
    assert np.sum((points[0] - points[1]) ** 2) == pytest.approx(apart)
    np.testing.assert_allclose(circles.get_sizes(), 60 + 3000 * prevalence(model, DOCUMENTS))
    assert to_svg(ax).startswith("<svg")
    np.testing.assert_allclose(prevalence(model), model.topic_weights_)


def test_plane_of_three_topics_keeps_their_distances():
    squared = np.array([[0.0, 0.5, 1.0], [0.5, 0.0, 0.7], [1.0, 0.7, 0.0]])
    points = topic_plane(squared)
    found = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, squared, atol=1e-12)
    assert topic_plane(np.zeros((1, 1))).shape == (1, 2)
