"""Embedded data, generators and readers."""

from tercet.datasets.generators import two_moons

__all__ = ["two_moons"]
