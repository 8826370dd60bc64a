"""Engine of sparse coding: codes of many signals over one Gram matrix, and updates of the atoms."""
