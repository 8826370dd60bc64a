from sklearn.neural_network import (
    BernoulliRBM,
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
from tercet.neural_network.multilayer_perceptron import MLPClassifier, MLPRegressor

__all__ = [
    "BackPropagation",
    "BernoulliRBM",
    "MLPClassifier",
    "MLPRegressor",
    "activate",
    "activation_slope",
    "back_propagate",
    "forward_pass",
    "gradient_check",
    "momentum_step",
    "parameter_count",
    "regularised_error",
]
