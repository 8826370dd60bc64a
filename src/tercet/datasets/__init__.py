"""Embedded data, generators and readers."""

from tercet.datasets.generators import two_moons
from tercet.datasets.watermelon import load_watermelon

__all__ = ["load_watermelon", "two_moons"]
