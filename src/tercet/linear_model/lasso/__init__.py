"""The lasso, the elastic net and their regularisation paths."""
