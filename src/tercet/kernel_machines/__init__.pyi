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
