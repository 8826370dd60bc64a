"""Support vector machines (支持向量机)."""

from tercet.svm.central import CentralSVC
from tercet.svm.hinge_svc import HingeSVC
from tercet.svm.kkt import KKTReport, kkt_conditions, kkt_report
from tercet.svm.linear_svc import LinearSVC
from tercet.svm.linear_svr import LinearSVR
from tercet.svm.margins import (
    geometric_margin,
    margin_slack,
    margin_width,
    slack_distance,
    support_categories,
)
from tercet.svm.multicategory import MulticategorySVC, multicategory_loss
from tercet.svm.nu_svc import NuSVC
from tercet.svm.one_class import OneClassSVM
from tercet.svm.penalty import solve_penalty
from tercet.svm.qp_forms import MaximumMargin, svm_dual, svm_primal
from tercet.svm.search import SVCCV
from tercet.svm.smo import (
    SMOStep,
    smo,
    smo_bounds,
    smo_errors,
    smo_first,
    smo_second,
    smo_step,
    smo_threshold,
)
from tercet.svm.svc import SVC
from tercet.svm.svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "CentralSVC",
    "HingeSVC",
    "KKTReport",
    "LinearSVC",
    "LinearSVR",
    "MaximumMargin",
    "MulticategorySVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "SMOStep",
    "geometric_margin",
    "kkt_conditions",
    "kkt_report",
    "margin_slack",
    "margin_width",
    "multicategory_loss",
    "slack_distance",
    "smo",
    "smo_bounds",
    "smo_errors",
    "smo_first",
    "smo_second",
    "smo_step",
    "smo_threshold",
    "solve_penalty",
    "support_categories",
    "svm_dual",
    "svm_primal",
]
