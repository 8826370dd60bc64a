# Written by `make names`.
from tercet.kernel_machines import (
    KernelRidge,
)

__all__ = [
    "KernelRidge",
]
