from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.solver import solve_dual
from tercet.svm.central_svc import CentralSVC
from tercet.svm.coordinate_ascent import coordinate_ascent
from tercet.svm.hinge_svc import HingeSVC
from tercet.svm.kkt import KKTReport, kkt_conditions, kkt_report, maximal_violating_pair
from tercet.svm.l1_min_c import l1_min_c
from tercet.svm.linear_svc import LinearSVC
from tercet.svm.linear_svr import LinearSVR
from tercet.svm.margins import (
    geometric_margin,
    margin_slack,
    margin_width,
    slack_distance,
    support_categories,
)
from tercet.svm.maximum_margin import MaximumMargin, svm_dual, svm_primal
from tercet.svm.multicategory_svc import MulticategorySVC, multicategory_loss
from tercet.svm.nu_svc import NuSVC
from tercet.svm.nu_svr import NuSVR
from tercet.svm.one_class_svm import OneClassSVM
from tercet.svm.penalty_method import solve_penalty
from tercet.svm.smo import (
    SMOStep,
    second_order_pair,
    smo,
    smo_bounds,
    smo_errors,
    smo_first,
    smo_second,
    smo_step,
    smo_threshold,
)
from tercet.svm.svc import SVC
from tercet.svm.svc_cv import SVCCV
from tercet.svm.svr import SVR

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "CentralSVC",
    "DualProblem",
    "DualSolution",
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
    "coordinate_ascent",
    "geometric_margin",
    "kkt_conditions",
    "kkt_report",
    "l1_min_c",
    "margin_slack",
    "margin_width",
    "maximal_violating_pair",
    "multicategory_loss",
    "second_order_pair",
    "slack_distance",
    "smo",
    "smo_bounds",
    "smo_errors",
    "smo_first",
    "smo_second",
    "smo_step",
    "smo_threshold",
    "solve_dual",
    "solve_penalty",
    "support_categories",
    "svm_dual",
    "svm_primal",
]
