"""Kernel machines (核函数机器): linear methods in the space of a kernel.

A method that uses its rows in inner products only takes any kernel in their place (Pattern Recognition ch.
5, 5.6.1); by the
representer theorem (watermelon notes ch. 4, eq. 4.45) what it learns is f(x) = Σ_j a_j K(x, x_j) + b.
"""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
