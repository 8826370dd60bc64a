from tercet.graph.directed_graph import DirectedGraph
from tercet.graph.page_rank import PageRank
from tercet.graph.pagerank_algorithms import (
    PageRankResult,
    google_matrix,
    pagerank_algebraic,
    pagerank_iteration,
    pagerank_power,
)
from tercet.graph.power_method import PowerMethodResult, power_method
from tercet.graph.random_walk import random_walk, transition_matrix, walk_distributions

__all__ = [
    "DirectedGraph",
    "PageRank",
    "PageRankResult",
    "PowerMethodResult",
    "google_matrix",
    "pagerank_algebraic",
    "pagerank_iteration",
    "pagerank_power",
    "power_method",
    "random_walk",
    "transition_matrix",
    "walk_distributions",
]
