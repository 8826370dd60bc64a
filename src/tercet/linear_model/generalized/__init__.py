"""Generalised linear models (广义线性模型): a linear predictor, a link and an exponential family."""
