# Written by `make names`.
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)

__all__ = [
    "AdditiveChi2Sampler",
    "Nystroem",
    "PolynomialCountSketch",
    "RBFSampler",
    "SkewedChi2Sampler",
]
