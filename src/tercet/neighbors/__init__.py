"""Neighbours: search, classification and regression by what is near."""

from tercet.neighbors.balanced import BalancedKDTree
from tercet.neighbors.cells import cell_labels, cells
from tercet.neighbors.choice import KNeighborsClassifierCV, KNeighborsRegressorCV
from tercet.neighbors.classification import KNeighborsClassifier, RadiusNeighborsClassifier
from tercet.neighbors.kd_tree import KDTree
from tercet.neighbors.nearest import NearestNeighbors
from tercet.neighbors.regression import KNeighborsRegressor, RadiusNeighborsRegressor
from tercet.neighbors.voting import vote

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
    "cell_labels",
    "cells",
    "vote",
]
