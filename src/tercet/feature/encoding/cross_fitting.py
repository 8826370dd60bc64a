"""Folds of cross fitting: every row is encoded by what the other folds tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from tercet.core.folds import Folds, checked_folds


def cross_fitting_folds(
    owner: Any, y: Any, *, classifier: bool, shuffle: bool = True, random_state: Any = None, **split: Any
) -> Folds:
    """The folds of `owner.cv`, in which each row is tested once; the options are for a number of folds."""
    cv = check_cv(owner.cv, y, classifier=classifier, shuffle=shuffle, random_state=random_state)
    folds = checked_folds(owner, np.empty((len(y), 1)), y, cv=cv, **split)
    seen = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y))
    if (seen != 1).any():
        raise ValueError(
            "Validation indices from `cv` must cover each sample index exactly once with no overlap. Pass a "
            "splitter with non-overlapping validation folds as `cv` or refer to the docs for other options."
        )
    return folds
