"""Engine: solvers of the penalised regressor and classifier."""
