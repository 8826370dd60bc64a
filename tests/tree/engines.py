"""The engines of growth, as functions that return a `Tree`."""

from dataclasses import dataclass

from tercet.tree import Tree, _engine
from tercet.tree._engine import general, histogram


def grow(*data, **options):
    return Tree.from_arrays(_engine.grow(*data, **options))


def grow_general(*data, **options):
    return Tree.from_arrays(general.grow_general(*data, **options))


def grow_binned(*data, **options):
    return Tree.from_arrays(histogram.grow_binned(*data, **options))


@dataclass(frozen=True)
class HistogramTree(histogram.HistogramTree):
    def grow(self, *data, **options):
        return Tree.from_arrays(super().grow(*data, **options))

    def grow_with_leaves(self, *data, **options):
        tree, leaves = super().grow_with_leaves(*data, **options)
        return Tree.from_arrays(tree), leaves
