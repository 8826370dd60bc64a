"""Feature extraction under the path that scikit-learn has it; it lives in `tercet.feature`."""

from tercet.feature import FeatureHasher
from tercet.feature_extraction import text

__all__ = ["FeatureHasher", "text"]
