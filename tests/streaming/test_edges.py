"""PageRank of a source of edges."""

import numpy as np
import pytest

import tercet
from tercet.core import chunks
from tercet.datasets import Source
from tercet.graph import PageRank


@pytest.fixture
def edges(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 15)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 900, (9000, 2)) * rng.integers(0, 2, (9000, 2))
    return np.column_stack([ends, rng.random(9000) + 0.1])


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("algorithm", ["iteration", "power"])
def test_edges_of_a_source_give_the_scores_of_memory(algorithm, width, edges):
    model = PageRank(algorithm=algorithm, dangling="uniform", tol=1e-13)
    source = Source(edges[:, :width])
    whole = model.fit(source).scores_
    with tercet.engine("stream"):
        streamed = PageRank(**vars_of(model)).fit(source)
    np.testing.assert_allclose(streamed.scores_, whole, rtol=1e-10)
    best = PageRank(dangling="uniform").fit(source)  # by extrapolation
    np.testing.assert_allclose(streamed.scores_, best.scores_, rtol=1e-6)


def vars_of(model):
    names = ("damping", "algorithm", "personalization", "dangling", "weighted", "tol", "max_iter", "n_jobs")
    return {name: getattr(model, name) for name in names}


def test_what_needs_all_edges_says_so(edges):
    with tercet.engine("stream"):
        with pytest.raises(TypeError, match=r"algorithm='extrapolation', which needs all edges.*'iteration'"):
            PageRank().fit(Source(edges))
        with pytest.raises(ValueError, match="whole numbers from 0 on"):
            PageRank(algorithm="iteration").fit(Source(edges + 0.5))
    with pytest.raises(ValueError, match="columns from, to"):
        PageRank().fit(Source(edges[:, :1]))
