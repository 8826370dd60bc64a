"""Kernels: inner products of mapped points."""

from tercet.kernels.base import Kernel
from tercet.kernels.compound import Conformal, Power, Product, Scaled, Sum
from tercet.kernels.edit import DNA, Edit, edit_distance
from tercet.kernels.feature_map import FeatureMap
from tercet.kernels.function import FromFunction
from tercet.kernels.gaussian import Gaussian
from tercet.kernels.gaussian_series import GaussianSeries
from tercet.kernels.gram import PSDReport, center, is_psd
from tercet.kernels.laplacian import Laplacian
from tercet.kernels.linear import Linear
from tercet.kernels.monomials import count_monomials
from tercet.kernels.names import as_kernel
from tercet.kernels.polynomial import Homogeneous, Polynomial
from tercet.kernels.precomputed import Precomputed
from tercet.kernels.rkhs import RKHSFunction
from tercet.kernels.sigmoid import Sigmoid
from tercet.kernels.strings import Subsequence, subsequence_feature

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
    "count_monomials",
    "edit_distance",
    "is_psd",
    "subsequence_feature",
]
