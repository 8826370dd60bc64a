"""Directed graphs, random walks and PageRank."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
