from tercet.graphical.bayesian_network import BayesianNetwork
from tercet.graphical.bayesian_network_classifier import BayesianNetworkClassifier
from tercet.graphical.bif import read_bif, write_bif
from tercet.graphical.directed import d_separated, directed, moral_graph, topological_order
from tercet.graphical.factor import Factor
from tercet.graphical.graph_crf import GraphCRF
from tercet.graphical.inference.belief_propagation import Beliefs, belief_propagation
from tercet.graphical.inference.enumeration import enumeration
from tercet.graphical.inference.gibbs_inference import gibbs_conditional, gibbs_inference
from tercet.graphical.inference.junction_tree import JunctionTree
from tercet.graphical.inference.likelihood_weighting import likelihood_weighting
from tercet.graphical.inference.variable_elimination import most_probable_explanation, variable_elimination
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
    "BayesianNetwork",
    "BayesianNetworkClassifier",
    "Beliefs",
    "Factor",
    "GraphCRF",
    "JunctionTree",
    "MarkovRandomField",
    "MeanFieldPosterior",
    "belief_propagation",
    "d_separated",
    "directed",
    "enumeration",
    "evidence_lower_bound",
    "exponential_potential",
    "factorise",
    "gibbs_conditional",
    "gibbs_inference",
    "independent",
    "is_clique",
    "likelihood_weighting",
    "markov_blanket",
    "markov_property",
    "markov_statements",
    "maximal_cliques",
    "mean_field",
    "moral_graph",
    "most_probable_explanation",
    "read_bif",
    "separates",
    "topological_order",
    "undirected",
    "variable_elimination",
    "write_bif",
]
