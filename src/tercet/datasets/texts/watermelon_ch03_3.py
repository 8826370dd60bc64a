"""Watermelon notes, chapter 3, sections 3.2 to 3.4: networks and back-propagation (误差逆传播)."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
