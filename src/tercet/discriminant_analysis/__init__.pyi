from tercet.discriminant_analysis.discriminant_directions import (
    fisher_directions,
    rayleigh_quotient,
    trace_ratio,
)
from tercet.discriminant_analysis.linear_discriminant_analysis import LinearDiscriminantAnalysis
from tercet.discriminant_analysis.one_class_quadratic_discriminant import OneClassQuadraticDiscriminant
from tercet.discriminant_analysis.piecewise_linear_discriminant import PiecewiseLinearDiscriminant
from tercet.discriminant_analysis.piecewise_linear_distance import PiecewiseLinearDistance
from tercet.discriminant_analysis.piecewise_linear_tree import PiecewiseLinearTree
from tercet.discriminant_analysis.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis
from tercet.discriminant_analysis.quadratic_form import QuadraticForm
from tercet.discriminant_analysis.scatter import Scatter, scatter_matrices
from tercet.discriminant_analysis.subclasses import divide_into_subclasses

__all__ = [
    "LinearDiscriminantAnalysis",
    "OneClassQuadraticDiscriminant",
    "PiecewiseLinearDiscriminant",
    "PiecewiseLinearDistance",
    "PiecewiseLinearTree",
    "QuadraticDiscriminantAnalysis",
    "QuadraticForm",
    "Scatter",
    "divide_into_subclasses",
    "fisher_directions",
    "rayleigh_quotient",
    "scatter_matrices",
    "trace_ratio",
]
