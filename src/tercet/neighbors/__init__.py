"""Neighbours: search, classification and regression by what is near."""

from tercet.neighbors.balanced_kd_tree import BalancedKDTree
from tercet.neighbors.k_neighbors_classifier import KNeighborsClassifier
from tercet.neighbors.k_neighbors_classifier_cv import KNeighborsClassifierCV
from tercet.neighbors.k_neighbors_regressor import KNeighborsRegressor
from tercet.neighbors.k_neighbors_regressor_cv import KNeighborsRegressorCV
from tercet.neighbors.kd_tree import KDTree
from tercet.neighbors.majority_vote import vote
from tercet.neighbors.nearest_neighbors import NearestNeighbors
from tercet.neighbors.radius_neighbors_classifier import RadiusNeighborsClassifier
from tercet.neighbors.radius_neighbors_regressor import RadiusNeighborsRegressor
from tercet.neighbors.voronoi import voronoi_cells, voronoi_labels

__all__ = [
    "BalancedKDTree",
    "KDTree",
    "KNeighborsClassifier",
    "KNeighborsClassifierCV",
    "KNeighborsRegressor",
    "KNeighborsRegressorCV",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "voronoi_cells",
    "voronoi_labels",
    "vote",
]
