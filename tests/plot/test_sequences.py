"""Pictures of sequence models have the model's numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from tercet.plot import plot_model, plot_path, plot_transitions
from tercet.sequence import CRF, MEMM, HMMTagger, StructuredPerceptron
from tests.plot.words import ticks


def test_transitions_of_a_hidden_markov_model():
    model = SimpleNamespace(transmat_=[[0.9, 0.1], [1e-90, 1.0]], startprob_=[1, 0], classes_=["a", "b"])
    ax = plot_model(model)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.transmat_)
    assert sorted(text.get_text() for text in ax.texts) == [
        "0.1",
        "0.9",
        "1",
    ]  # what all but never happens has no number
    assert ticks(ax, "x") == ["a", "b"]


def test_weights_of_a_random_field():
    model = SimpleNamespace(
        classes_=np.array(["B", "I", "O"]),
        transition_features_={("B", "I"): 2.0, ("O", "I"): -3.0},
        state_features_={("w=a", "B"): 0.5, ("w=b", "O"): -1.5},
    )
    table = np.asarray(plot_transitions(model).images[0].get_array())
    np.testing.assert_array_equal(table, [[0, 2, 0], [0, 0, 0], [0, -3, 0]])
    ax = plot_model(model, labels=["begin", "in", "out"])
    assert ticks(ax, "y") == ["w=b → out", "w=a → begin"]
    assert [bar.get_width() for bar in ax.patches] == [-1.5, 0.5]


@pytest.mark.parametrize("kind", [CRF, MEMM, StructuredPerceptron])
def test_what_speaks_for_a_tag(kind):
    words, tags = [["a", "b", "a"], ["b", "b"]], [["x", "y", "x"], ["y", "y"]]
    model = kind().fit(words, tags)
    ax = plot_model(model)
    heaviest = max(model.state_features_.items(), key=lambda item: abs(item[1]))
    (attribute, tag), weight = heaviest
    assert ticks(ax, "y")[0] == f"{attribute} → {tag}"
    assert ax.patches[0].get_width() == weight


def test_what_speaks_for_two_neighbouring_tags():
    weights = {("w", "x"): 0.5}, {("b", "x", "y"): -2.0}
    ax = plot_model(CRF.of_weights(["x", "y"], ["w", "b"], {}, *weights), labels=["one", "two"])
    assert ticks(ax, "y") == ["b: one → two", "w → one"]
    assert [bar.get_width() for bar in ax.patches] == [-2.0, 0.5]


def test_columns_of_a_table_are_called_by_their_names():
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    ax = plot_model(CRF().fit(rows, [0, 1, 0, 1]), ["left", "right"])
    assert {word.partition(" ")[0] for word in ticks(ax, "y")} == {"left", "right"}


def test_a_tagger_is_drawn_by_its_transitions():
    model = HMMTagger().fit([["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]])
    ax = plot_model(model)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.transmat_)
    assert ticks(ax, "y") == ["D", "N"]


def test_a_path_is_bands_of_its_states():
    ax = plot_path(["rain", "sun", "sun"], labels=None)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rain", "sun"]
    heights = [band.get_paths()[0].get_extents().height for band in ax.collections]
    assert heights == [pytest.approx(1), pytest.approx(1)]
    ax = plot_path([0, 1, 1], [[1.0, 2.0]] * 3, probabilities=[[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    assert len(ax.lines) == 2
    assert ax.get_legend() is not None


def test_a_path_is_of_one_sequence():
    with pytest.raises(ValueError, match="one sequence"):
        plot_path([[0, 1], [1, 1]])
