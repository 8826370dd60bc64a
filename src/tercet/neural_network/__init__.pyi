from tercet.neural_network.art1 import (
    ART1,
)
from tercet.neural_network.back_propagation import (
    BackPropagation,
    activate,
    activation_slope,
    back_propagate,
    forward_pass,
    gradient_check,
    momentum_step,
    parameter_count,
    regularised_error,
)
from tercet.neural_network.bernoulli_rbm import (
    BernoulliRBM,
)
from tercet.neural_network.boltzmann_machine import (
    BoltzmannMachine,
)
from tercet.neural_network.cascade_correlation import (
    CascadeCorrelation,
    candidate_correlation,
)
from tercet.neural_network.cascade_correlation_classifier import (
    CascadeCorrelationClassifier,
)
from tercet.neural_network.competitive_learning import (
    CompetitiveLearning,
)
from tercet.neural_network.dbn_classifier import (
    DBNClassifier,
)
from tercet.neural_network.dbn_regressor import (
    DBNRegressor,
)
from tercet.neural_network.deep_belief_network import (
    DeepBeliefNetwork,
)
from tercet.neural_network.elman_network import (
    ElmanNetwork,
    elman_forward,
)
from tercet.neural_network.elman_network_classifier import (
    ElmanNetworkClassifier,
)
from tercet.neural_network.fuzzy_art import (
    FuzzyART,
)
from tercet.neural_network.gaussian_rbm import (
    GaussianRBM,
)
from tercet.neural_network.hidden_size_search import (
    HiddenSizeSearch,
)
from tercet.neural_network.hopfield import (
    Hopfield,
    Recall,
    hopfield_bit_error,
    hopfield_capacity,
)
from tercet.neural_network.layered_perceptron import (
    LayeredPerceptron,
)
from tercet.neural_network.multi_start import (
    MultiStart,
)
from tercet.neural_network.multilayer_perceptron import (
    MLPClassifier,
    MLPRegressor,
)
from tercet.neural_network.rbf_network import (
    RBFNetwork,
)
from tercet.neural_network.rbf_network_classifier import (
    RBFNetworkClassifier,
)
from tercet.neural_network.som import (
    SOM,
)
from tercet.neural_network.threshold_network import (
    ThresholdNetwork,
    neuron,
)

__all__ = [
    "ART1",
    "SOM",
    "BackPropagation",
    "BernoulliRBM",
    "BoltzmannMachine",
    "CascadeCorrelation",
    "CascadeCorrelationClassifier",
    "CompetitiveLearning",
    "DBNClassifier",
    "DBNRegressor",
    "DeepBeliefNetwork",
    "ElmanNetwork",
    "ElmanNetworkClassifier",
    "FuzzyART",
    "GaussianRBM",
    "HiddenSizeSearch",
    "Hopfield",
    "LayeredPerceptron",
    "MLPClassifier",
    "MLPRegressor",
    "MultiStart",
    "RBFNetwork",
    "RBFNetworkClassifier",
    "Recall",
    "ThresholdNetwork",
    "activate",
    "activation_slope",
    "back_propagate",
    "candidate_correlation",
    "elman_forward",
    "forward_pass",
    "gradient_check",
    "hopfield_bit_error",
    "hopfield_capacity",
    "momentum_step",
    "neuron",
    "parameter_count",
    "regularised_error",
]
