"""Watermelon notes, chapter 3, section 3.5: RBF, cascade-correlation and Elman networks."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
