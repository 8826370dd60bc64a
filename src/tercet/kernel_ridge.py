"""Kernel ridge regression under the path that scikit-learn has it; it lives in `tercet.kernel_machines`."""

from tercet.kernel_machines import KernelRidge

__all__ = ["KernelRidge"]
