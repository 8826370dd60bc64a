"""Watermelon notes, chapter 9: learning theory (计算学习理论)."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
