"""The watermelons (西瓜数据集) of the textbook that the watermelon notes is about."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

NAMES = ("colour", "root", "sound", "texture", "navel", "touch", "density", "sugar")
ZH = ("色泽", "根蒂", "敲声", "纹理", "脐部", "触感", "密度", "含糖率")

# Six attributes, density, sugar content; the first eight are good.
MELONS = """
青绿 蜷缩 浊响 清晰 凹陷 硬滑 0.697 0.460
乌黑 蜷缩 沉闷 清晰 凹陷 硬滑 0.774 0.376
乌黑 蜷缩 浊响 清晰 凹陷 硬滑 0.634 0.264
青绿 蜷缩 沉闷 清晰 凹陷 硬滑 0.608 0.318
浅白 蜷缩 浊响 清晰 凹陷 硬滑 0.556 0.215
青绿 稍蜷 浊响 清晰 稍凹 软粘 0.403 0.237
乌黑 稍蜷 浊响 稍糊 稍凹 软粘 0.481 0.149
乌黑 稍蜷 浊响 清晰 稍凹 硬滑 0.437 0.211
乌黑 稍蜷 沉闷 稍糊 稍凹 硬滑 0.666 0.091
青绿 硬挺 清脆 清晰 平坦 软粘 0.243 0.267
浅白 硬挺 清脆 模糊 平坦 硬滑 0.245 0.057
浅白 蜷缩 浊响 模糊 平坦 软粘 0.343 0.099
青绿 稍蜷 浊响 稍糊 凹陷 硬滑 0.639 0.161
浅白 稍蜷 沉闷 稍糊 凹陷 硬滑 0.657 0.198
乌黑 稍蜷 浊响 清晰 稍凹 软粘 0.360 0.370
浅白 蜷缩 浊响 模糊 平坦 硬滑 0.593 0.042
青绿 蜷缩 沉闷 稍糊 稍凹 硬滑 0.719 0.103
"""
# What is not known in 2.0α: melons (from 1) without each attribute.
UNKNOWN = {
    "colour": (1, 5, 13),
    "root": (9, 17),
    "sound": (3, 12),
    "texture": (8, 10),
    "navel": (6, 15),
    "touch": (2, 11),
}
# 4.0 begins with the density and sugar of the seventeen above.
MORE = """
0.359 0.188  0.339 0.241  0.282 0.257  0.748 0.232  0.714 0.346  0.483 0.312  0.478 0.437
0.525 0.369  0.751 0.489  0.532 0.472  0.473 0.376  0.725 0.445  0.446 0.459
"""


def load_watermelon(
    version: Literal["2.0", "2.0alpha", "3.0", "3.0alpha", "4.0"] = "3.0alpha", *, return_X_y: bool = False
) -> Any:
    """Small tables of good and bad watermelons.

    "2.0" has six attributes in words, "2.0alpha" the same with gaps (None), "3.0" adds density and sugar
    content, "3.0alpha" has these two only, and "4.0" has them for 30 melons, without labels, for clustering.

    Parameters
    ----------
    version : str, default="3.0alpha"
        Which table.
    return_X_y : bool, default=False
        Return (data, target) only.

    Returns
    -------
    Bunch
        `data`, `target` (1 is good, 0 is bad; None for "4.0"), `feature_names`, `feature_names_zh`,
        `target_names`.

    Examples
    --------
    >>> melons = load_watermelon("2.0")
    >>> melons.data[0], int(melons.target[0])
    (array(['青绿', '蜷缩', '浊响', '清晰', '凹陷', '硬滑'], dtype=object), 1)
    >>> load_watermelon().data[0]
    array([0.697, 0.46 ])
    """
    versions = ("2.0", "2.0alpha", "3.0", "3.0alpha", "4.0")
    if version not in versions:
        raise ValueError(f"version must be one of {', '.join(map(repr, versions))}; got {version!r}.")
    table = np.array([line.split() for line in MELONS.split("\n") if line], dtype=object)
    table[:, 6:] = table[:, 6:].astype(float)
    columns = {"2": slice(0, 6), "3": slice(0, 8), "4": slice(6, 8)}[version[0]]
    if version == "3.0alpha":
        columns = slice(6, 8)
    data = table[:, columns]
    target: np.ndarray | None = np.repeat([1, 0], [8, 9])
    if version == "2.0alpha":
        for name, melons in UNKNOWN.items():
            data[np.array(melons) - 1, NAMES.index(name)] = None
    if columns == slice(6, 8):
        data = data.astype(float)
    if version == "4.0":
        data = np.vstack([data, np.array(MORE.split(), dtype=float).reshape(-1, 2)])
        target = None
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(NAMES[columns]),
        feature_names_zh=list(ZH[columns]),
        target_names=np.array(["bad", "good"]),
    )
