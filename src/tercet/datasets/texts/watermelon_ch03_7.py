"""Watermelon notes, chapter 3, section 3.5: competitive learning, SOM and ART."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
