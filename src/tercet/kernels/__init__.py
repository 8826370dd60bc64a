"""Kernels: inner products of mapped points, and the base of machines that use them.

`KernelMachine` is the base class of estimators with a kernel, and `centring_offset`, `subtract_offset`,
`primal_weights` and `intercept_shift` centre rows for them to avoid cancellation.
"""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
