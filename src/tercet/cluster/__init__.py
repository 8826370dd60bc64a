"""Clustering."""

from tercet.cluster.agglomerative import AgglomerativeClustering
from tercet.cluster.kmeans import KMeans
from tercet.cluster.seeding import hierarchical_centers, kmeans_plusplus

__all__ = ["AgglomerativeClustering", "KMeans", "hierarchical_centers", "kmeans_plusplus"]
