"""What every family stands on."""

from tercet.core.lazy import lazily

__all__ = ["ConstantClassifier"]
__getattr__, __dir__ = lazily(__name__, {"ConstantClassifier": f"{__name__}.meta"})
