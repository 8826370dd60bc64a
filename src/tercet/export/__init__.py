"""Models of trees in files that need nothing of this library: JSON, a Python module with NumPy, ONNX."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
