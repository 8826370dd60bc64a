"""Watermelon notes, chapter 3, section 3.5: Hopfield networks and Boltzmann machines."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
