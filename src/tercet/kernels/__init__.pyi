from tercet.kernels._engine.prepared_rows import common_float
from tercet.kernels.base import Kernel
from tercet.kernels.compound import Conformal, Power, Product, Scaled, Sum
from tercet.kernels.dna import DNA
from tercet.kernels.edit import Edit, edit_distance
from tercet.kernels.feature_map import FeatureMap
from tercet.kernels.from_function import FromFunction
from tercet.kernels.gaussian import Gaussian
from tercet.kernels.gaussian_series import GaussianSeries
from tercet.kernels.gram_matrix import PSDReport, center, is_psd
from tercet.kernels.homogeneous import Homogeneous
from tercet.kernels.kernel_machine import (
    KernelMachine,
    as_kernel,
    centring_offset,
    intercept_shift,
    primal_weights,
    subtract_offset,
)
from tercet.kernels.laplacian import Laplacian
from tercet.kernels.linear import Linear
from tercet.kernels.monomials import count_monomials
from tercet.kernels.polynomial import Polynomial
from tercet.kernels.precomputed import Precomputed
from tercet.kernels.rkhs_function import RKHSFunction
from tercet.kernels.sigmoid import Sigmoid
from tercet.kernels.subsequence import Subsequence, subsequence_feature

__all__ = [
    "DNA",
    "Conformal",
    "Edit",
    "FeatureMap",
    "FromFunction",
    "Gaussian",
    "GaussianSeries",
    "Homogeneous",
    "Kernel",
    "KernelMachine",
    "Laplacian",
    "Linear",
    "PSDReport",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RKHSFunction",
    "Scaled",
    "Sigmoid",
    "Subsequence",
    "Sum",
    "as_kernel",
    "center",
    "centring_offset",
    "common_float",
    "count_monomials",
    "edit_distance",
    "intercept_shift",
    "is_psd",
    "primal_weights",
    "subsequence_feature",
    "subtract_offset",
]
