"""Matrix completion: missing entries of matrices of low rank, and recommendation from ratings."""
