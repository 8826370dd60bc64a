from tercet.graphical.markov_property import factorise, independent, markov_property
from tercet.graphical.markov_random_field import MarkovRandomField, exponential_potential
from tercet.graphical.mean_field import MeanFieldPosterior, evidence_lower_bound, mean_field
from tercet.graphical.undirected import (
    is_clique,
    markov_blanket,
    markov_statements,
    maximal_cliques,
    separates,
    undirected,
)

__all__ = [
    "MarkovRandomField",
    "MeanFieldPosterior",
    "evidence_lower_bound",
    "exponential_potential",
    "factorise",
    "independent",
    "is_clique",
    "markov_blanket",
    "markov_property",
    "markov_statements",
    "maximal_cliques",
    "mean_field",
    "separates",
    "undirected",
]
