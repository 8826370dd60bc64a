"""Optimisation: gradient, Newton and quasi-Newton methods, proximal and stochastic methods, quadratic
and convex programming, Lagrangian duality, iterative scaling, global search, and EM."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
