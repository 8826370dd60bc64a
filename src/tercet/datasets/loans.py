"""The loan applications (贷款申请样本) of Li, Table 5.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

NAMES = ("age", "job", "house", "credit")
ZH = ("年龄", "有工作", "有自己的房子", "信贷情况")

# Age, whether there is work, whether there is a house of one's own, credit; and whether the loan was granted.
LOANS = """
youth  no  no  fair      no
youth  no  no  good      no
youth  yes no  good      yes
youth  yes yes fair      yes
youth  no  no  fair      no
middle no  no  fair      no
middle no  no  good      no
middle yes yes good      yes
middle no  yes excellent yes
middle no  yes excellent yes
old    no  yes excellent yes
old    no  yes good      yes
old    yes no  good      yes
old    yes no  excellent yes
old    no  no  fair      no
"""


def load_loans(*, return_X_y: bool = False) -> Any:
    """Fifteen applications for a loan, in words: who was granted one?

    Parameters
    ----------
    return_X_y : bool, default=False
        Return (data, target) only.

    Returns
    -------
    Bunch
        `data`, `target` ("yes" or "no"), `feature_names`, `feature_names_zh`, `target_names`.

    Examples
    --------
    >>> loans = load_loans()
    >>> loans.data[2], str(loans.target[2])
    (array(['youth', 'yes', 'no', 'good'], dtype=object), 'yes')
    """
    table = np.array([line.split() for line in LOANS.split("\n") if line], dtype=object)
    data, target = table[:, :4], table[:, 4].astype(str)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(NAMES),
        feature_names_zh=list(ZH),
        target_names=np.array(["no", "yes"]),
    )
