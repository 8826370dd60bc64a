"""Algorithms that minimise a function: gradient descent, Newton, the quasi-Newton family and their kin."""

from tercet.optimize.conjugate_gradient import CGIterate, conjugate_gradient, conjugate_gradient_iterates
from tercet.optimize.coordinate import LeastSquares, coordinate_descent
from tercet.optimize.duality import KKT, DualityGap, Lagrangian, slater
from tercet.optimize.em import Climb, LatentModel, em, em_restarts
from tercet.optimize.em_views import (
    EnumerableModel,
    f_function,
    h_function,
    latent_posterior,
    log_likelihood,
    lower_bound,
    q_function,
)
from tercet.optimize.global_search import genetic_algorithm, multi_start, noisy_descent, simulated_annealing
from tercet.optimize.gradient_descent import gradient_descent
from tercet.optimize.iterative_scaling import iterative_scaling, logistic_iis, scaling_bounds
from tercet.optimize.lbfgs import lbfgs
from tercet.optimize.line_search import line_search
from tercet.optimize.linear_algebra import sherman_morrison
from tercet.optimize.minimize import METHODS, minimize
from tercet.optimize.newton import newton, newton_cg
from tercet.optimize.objective import Objective, Quadratic
from tercet.optimize.online_em import Memory, online_em, stepwise
from tercet.optimize.owlqn import owlqn
from tercet.optimize.proximal import fista, ista, proximal_gradient
from tercet.optimize.quadratic import solve_qp
from tercet.optimize.quasi_newton import bfgs, broyden, dfp
from tercet.optimize.stochastic import ewma, ewma_weights, stochastic_gradient
from tercet.optimize.update_rules import RULES, SGD, AdaGrad, Adam, Momentum, Nesterov, RMSProp

__all__ = [
    "KKT",
    "METHODS",
    "RULES",
    "SGD",
    "AdaGrad",
    "Adam",
    "CGIterate",
    "Climb",
    "DualityGap",
    "EnumerableModel",
    "Lagrangian",
    "LatentModel",
    "LeastSquares",
    "Memory",
    "Momentum",
    "Nesterov",
    "Objective",
    "Quadratic",
    "RMSProp",
    "bfgs",
    "broyden",
    "conjugate_gradient",
    "conjugate_gradient_iterates",
    "coordinate_descent",
    "dfp",
    "em",
    "em_restarts",
    "ewma",
    "ewma_weights",
    "f_function",
    "fista",
    "genetic_algorithm",
    "gradient_descent",
    "h_function",
    "ista",
    "iterative_scaling",
    "latent_posterior",
    "lbfgs",
    "line_search",
    "log_likelihood",
    "logistic_iis",
    "lower_bound",
    "minimize",
    "multi_start",
    "newton",
    "newton_cg",
    "noisy_descent",
    "online_em",
    "owlqn",
    "proximal_gradient",
    "q_function",
    "scaling_bounds",
    "sherman_morrison",
    "simulated_annealing",
    "slater",
    "solve_qp",
    "stepwise",
    "stochastic_gradient",
]
