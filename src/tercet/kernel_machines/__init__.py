"""Kernel machines (核函数机器): linear methods in the space of a kernel.

A method that uses its rows in inner products only takes any kernel in their place (003 ch. 5, 5.6.1); by the
representer theorem (002 ch. 4, eq. 4.45) what it learns is f(x) = Σ_j a_j K(x, x_j) + b.
"""

from tercet.kernel_machines.kernel_fisher_discriminant import KernelFisherDiscriminant, scatter_in_kernel
from tercet.kernel_machines.kernel_logistic_regression import KernelLogisticRegression
from tercet.kernel_machines.kernel_mse import kernel_mse
from tercet.kernel_machines.kernel_perceptron import KernelPerceptron
from tercet.kernel_machines.kernel_ridge import KernelRidge
from tercet.kernel_machines.lssvc import LSSVC
from tercet.kernel_machines.lssvr import LSSVR

__all__ = [
    "LSSVC",
    "LSSVR",
    "KernelFisherDiscriminant",
    "KernelLogisticRegression",
    "KernelPerceptron",
    "KernelRidge",
    "kernel_mse",
    "scatter_in_kernel",
]
