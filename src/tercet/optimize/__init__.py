"""Algorithms that minimise a function: gradient descent, Newton, the quasi-Newton family and their kin."""

from tercet.optimize.coordinate import LeastSquares, coordinate_descent
from tercet.optimize.duality import KKT, DualityGap, Lagrangian, slater
from tercet.optimize.global_search import genetic_algorithm, multi_start, noisy_descent, simulated_annealing
from tercet.optimize.gradient_descent import gradient_descent
from tercet.optimize.iterative_scaling import iterative_scaling, logistic_iis, scaling_bounds
from tercet.optimize.lbfgs import lbfgs
from tercet.optimize.line_search import line_search
from tercet.optimize.linear_algebra import sherman_morrison
from tercet.optimize.minimize import METHODS, minimize
from tercet.optimize.newton import newton, newton_cg
from tercet.optimize.objective import Objective, Quadratic
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
    "DualityGap",
    "Lagrangian",
    "LeastSquares",
    "Momentum",
    "Nesterov",
    "Objective",
    "Quadratic",
    "RMSProp",
    "bfgs",
    "broyden",
    "coordinate_descent",
    "dfp",
    "ewma",
    "ewma_weights",
    "fista",
    "genetic_algorithm",
    "gradient_descent",
    "ista",
    "iterative_scaling",
    "lbfgs",
    "line_search",
    "logistic_iis",
    "minimize",
    "multi_start",
    "newton",
    "newton_cg",
    "noisy_descent",
    "owlqn",
    "proximal_gradient",
    "scaling_bounds",
    "sherman_morrison",
    "simulated_annealing",
    "slater",
    "solve_qp",
    "stochastic_gradient",
]
