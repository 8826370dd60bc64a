"""Pictures of graphs."""

import numpy as np
import pytest

from tercet.graph import PageRank
from tercet.plot import plot_convergence, plot_graph, plot_history, plot_model, to_svg

EDGES = {"A": ["B", "C"], "B": ["C"], "C": ["A", "C"]}


def test_areas_grow_with_scores():
    scores = PageRank().fit(EDGES).scores_
    ax = plot_graph(EDGES, scores)
    (dots,) = ax.collections
    areas = dots.get_sizes() - 120
    assert np.allclose(areas / areas.max(), scores / scores.max())
    assert len(ax.lines) == 1  # the self-loop
    assert len([text for text in ax.texts if not text.get_text()]) == 4  # arrows
    assert ax.get_title(loc="left") == "3 nodes, 5 edges"
    assert to_svg(ax).startswith("<svg")


def test_of_many_nodes_the_first_are_drawn():
    ring = [(k, (k + 1) % 50) for k in range(50)]
    ax = plot_graph(ring, np.arange(50.0), most=10)
    assert sorted(int(text.get_text()) for text in ax.texts if text.get_text()) == list(range(40, 50))
    assert ax.get_title(loc="left") == "10 of 50 nodes, 50 edges"
    with pytest.raises(ValueError, match="a number for each of 50 nodes"):
        plot_graph(ring, [1.0])


def test_pictures_of_a_fit():
    model = PageRank().fit(EDGES)
    ax = plot_model(model)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [name for name, _ in model.ranking()]
    assert plot_history(model, "change").get_ylabel() == "change"
    slow = PageRank(algorithm="iteration").fit(EDGES)
    ax = plot_convergence(model, slow)
    assert ax.get_yscale() == "log"
    assert np.array_equal(ax.lines[1].get_ydata(), slow.history_["change"])
    assert len(ax.lines[0].get_ydata()) == model.n_iter_
    with pytest.raises(ValueError, match="fitted models with 'change'"):
        plot_convergence(PageRank())
