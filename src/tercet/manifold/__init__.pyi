from tercet.manifold.classical_mds import ClassicalMDS, double_centering
from tercet.manifold.guttman_transform import guttman_transform
from tercet.manifold.isotonic import isotonic_values
from tercet.manifold.mds import MDS, smacof

__all__ = [
    "MDS",
    "ClassicalMDS",
    "double_centering",
    "guttman_transform",
    "isotonic_values",
    "smacof",
]
