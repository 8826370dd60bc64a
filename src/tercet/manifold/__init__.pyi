from tercet.manifold.classical_mds import ClassicalMDS, double_centering
from tercet.manifold.guttman_transform import guttman_transform
from tercet.manifold.isomap import Isomap
from tercet.manifold.isotonic import isotonic_values
from tercet.manifold.locally_linear_embedding import (
    LocallyLinearEmbedding,
    barycenter_weights,
    locally_linear_embedding,
)
from tercet.manifold.mds import MDS, smacof
from tercet.manifold.neighbor_graph import geodesic_distances
from tercet.manifold.spectral_embedding import SpectralEmbedding, spectral_embedding
from tercet.manifold.tsne import TSNE
from tercet.metrics.embedding import trustworthiness

__all__ = [
    "MDS",
    "TSNE",
    "ClassicalMDS",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "barycenter_weights",
    "double_centering",
    "geodesic_distances",
    "guttman_transform",
    "isotonic_values",
    "locally_linear_embedding",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]
