"""Preprocessing under the path that scikit-learn has it; it lives in `tercet.feature`."""

from tercet.feature import KBinsDiscretizer, OrdinalEncoder, TargetEncoder

__all__ = ["KBinsDiscretizer", "OrdinalEncoder", "TargetEncoder"]
