from sklearn.neighbors import (
    LocalOutlierFactor,
)

from tercet.metric_learning import NeighborhoodComponentsAnalysis
from tercet.neighbors.balanced_kd_tree import BalancedKDTree
from tercet.neighbors.ball_tree import BallTree
from tercet.neighbors.graph import kneighbors_graph, radius_neighbors_graph, sort_graph_by_row_values
from tercet.neighbors.k_neighbors_classifier import KNeighborsClassifier
from tercet.neighbors.k_neighbors_classifier_cv import KNeighborsClassifierCV
from tercet.neighbors.k_neighbors_regressor import KNeighborsRegressor
from tercet.neighbors.k_neighbors_regressor_cv import KNeighborsRegressorCV
from tercet.neighbors.k_neighbors_transformer import KNeighborsTransformer
from tercet.neighbors.kd_tree import KDTree
from tercet.neighbors.kernel_density import KernelDensity
from tercet.neighbors.lvq import LVQ, lvq_update
from tercet.neighbors.majority_vote import vote
from tercet.neighbors.nearest_centroid import NearestCentroid
from tercet.neighbors.nearest_neighbors import NearestNeighbors
from tercet.neighbors.radius_neighbors_classifier import RadiusNeighborsClassifier
from tercet.neighbors.radius_neighbors_regressor import RadiusNeighborsRegressor
from tercet.neighbors.radius_neighbors_transformer import RadiusNeighborsTransformer
from tercet.neighbors.valid_metrics import VALID_METRICS, VALID_METRICS_SPARSE
from tercet.neighbors.voronoi import voronoi_cells, voronoi_labels

__all__ = [
    "LVQ",
    "VALID_METRICS",
    "VALID_METRICS_SPARSE",
    "BalancedKDTree",
    "BallTree",
    "KDTree",
    "KNeighborsClassifier",
    "KNeighborsClassifierCV",
    "KNeighborsRegressor",
    "KNeighborsRegressorCV",
    "KNeighborsTransformer",
    "KernelDensity",
    "LocalOutlierFactor",
    "NearestCentroid",
    "NearestNeighbors",
    "NeighborhoodComponentsAnalysis",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "kneighbors_graph",
    "lvq_update",
    "radius_neighbors_graph",
    "sort_graph_by_row_values",
    "voronoi_cells",
    "voronoi_labels",
    "vote",
]
