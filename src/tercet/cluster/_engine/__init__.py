"""Engines of the clustering methods: the search for the nearest centre, and trees of merges."""
