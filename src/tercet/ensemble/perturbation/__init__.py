"""Members that differ by perturbed outputs, or by a penalty on their correlation."""
