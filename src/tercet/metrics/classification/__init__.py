"""Measures of classifiers: counts, curves over thresholds, costs and calibration (Li ch. 1; Studies ML ch. 2).

What scikit-learn has and this adds nothing to (`f1_score`, `log_loss` ...) comes from `tercet.metrics`, too.
"""
