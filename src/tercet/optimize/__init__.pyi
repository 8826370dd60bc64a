from tercet.optimize.conjugate_gradient import CGIterate, conjugate_gradient, conjugate_gradient_iterates
from tercet.optimize.convex_programming import solve_convex
from tercet.optimize.coordinate_ascent import coordinate_ascent
from tercet.optimize.coordinate_descent import coordinate_descent
from tercet.optimize.elastic_net_duality_gap import elastic_net_duality_gap
from tercet.optimize.em import EMResult, LatentModel, check_ascent, em, em_restarts
from tercet.optimize.em_functions import (
    f_function,
    h_function,
    latent_posterior,
    log_likelihood,
    lower_bound,
    q_function,
)
from tercet.optimize.enumerable_model import EnumerableModel
from tercet.optimize.ewma import ewma, ewma_weights
from tercet.optimize.global_search import genetic_algorithm, noisy_descent, simulated_annealing
from tercet.optimize.gradient_descent import gradient_descent
from tercet.optimize.iterative_scaling import (
    ScalingTerms,
    iterative_scaling,
    logistic_iis,
    scaling_bounds,
    scaling_step,
)
from tercet.optimize.lagrangian import KKT, DualityGap, Lagrangian, slater
from tercet.optimize.lbfgs import lbfgs
from tercet.optimize.least_squares import LeastSquares
from tercet.optimize.line_search import Armijo, Exact, Fixed, Ray, RayPoint, Wolfe, line_search
from tercet.optimize.matching_pursuit import Pursuit, matching_pursuit
from tercet.optimize.minimize import METHODS, minimize
from tercet.optimize.multi_start import multi_start
from tercet.optimize.newton import newton, newton_cg
from tercet.optimize.objective import Objective
from tercet.optimize.online_em import RunningStatistics, online_em, online_em_step
from tercet.optimize.owlqn import owlqn
from tercet.optimize.proximal_gradient import fista, ista, proximal_gradient
from tercet.optimize.quadratic import Quadratic
from tercet.optimize.quadratic_programming import solve_qp
from tercet.optimize.quasi_newton import bfgs, bfgs_update, broyden, broyden_update, dfp, dfp_update
from tercet.optimize.quasi_newton_conditions import QuasiNewtonConditions, quasi_newton_conditions
from tercet.optimize.sherman_morrison import sherman_morrison
from tercet.optimize.stochastic_gradient import stochastic_gradient
from tercet.optimize.update_rules import RULES, SGD, AdaGrad, Adam, Momentum, Nesterov, RMSProp

__all__ = [
    "KKT",
    "METHODS",
    "RULES",
    "SGD",
    "AdaGrad",
    "Adam",
    "Armijo",
    "CGIterate",
    "DualityGap",
    "EMResult",
    "EnumerableModel",
    "Exact",
    "Fixed",
    "Lagrangian",
    "LatentModel",
    "LeastSquares",
    "Momentum",
    "Nesterov",
    "Objective",
    "Pursuit",
    "Quadratic",
    "QuasiNewtonConditions",
    "RMSProp",
    "Ray",
    "RayPoint",
    "RunningStatistics",
    "ScalingTerms",
    "Wolfe",
    "bfgs",
    "bfgs_update",
    "broyden",
    "broyden_update",
    "check_ascent",
    "conjugate_gradient",
    "conjugate_gradient_iterates",
    "coordinate_ascent",
    "coordinate_descent",
    "dfp",
    "dfp_update",
    "elastic_net_duality_gap",
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
    "matching_pursuit",
    "minimize",
    "multi_start",
    "newton",
    "newton_cg",
    "noisy_descent",
    "online_em",
    "online_em_step",
    "owlqn",
    "proximal_gradient",
    "q_function",
    "quasi_newton_conditions",
    "scaling_bounds",
    "scaling_step",
    "sherman_morrison",
    "simulated_annealing",
    "slater",
    "solve_convex",
    "solve_qp",
    "stochastic_gradient",
]
