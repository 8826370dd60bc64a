from tercet.theory.finite_class_bound import (
    finite_class_bound,
    finite_class_confidence,
    finite_class_sample_size,
)
from tercet.theory.hoeffding import hoeffding_bound
from tercet.theory.risk import (
    RiskMinimum,
    empirical_risk,
    empirical_risk_minimization,
    expected_risk,
    structural_risk,
    structural_risk_minimization,
)
from tercet.theory.shattering import dichotomies, linear_dichotomies, shatters, vc_dimension
from tercet.theory.support_vector_bound import support_vector_bound
from tercet.theory.vc_bound import vc_bound, vc_confidence

__all__ = [
    "RiskMinimum",
    "dichotomies",
    "empirical_risk",
    "empirical_risk_minimization",
    "expected_risk",
    "finite_class_bound",
    "finite_class_confidence",
    "finite_class_sample_size",
    "hoeffding_bound",
    "linear_dichotomies",
    "shatters",
    "structural_risk",
    "structural_risk_minimization",
    "support_vector_bound",
    "vc_bound",
    "vc_confidence",
    "vc_dimension",
]
