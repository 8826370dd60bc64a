from tercet.discriminant_analysis.discriminant_directions import (
    fisher_directions,
    rayleigh_quotient,
    trace_ratio,
)
from tercet.discriminant_analysis.linear_discriminant_analysis import LinearDiscriminantAnalysis
from tercet.discriminant_analysis.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis
from tercet.discriminant_analysis.quadratic_form import QuadraticForm
from tercet.discriminant_analysis.scatter import Scatter, scatter_matrices

__all__ = [
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "QuadraticForm",
    "Scatter",
    "fisher_directions",
    "rayleigh_quotient",
    "scatter_matrices",
    "trace_ratio",
]
