"""Models of trees in files that need nothing of this library: JSON, a Python module with NumPy, ONNX."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
