"""The watermelons as relations: which of two is darker, has the more curled root, is better."""

from tercet.rules.logic import Literal, comparison_facts

COLUMNS = ("色泽", "根蒂", "敲声", "纹理", "脐部", "触感")
ORDERS = {
    "色泽": ["浅白", "青绿", "乌黑"],
    "根蒂": ["硬挺", "稍蜷", "蜷缩"],
    "敲声": ["清脆", "浊响", "沉闷"],
    "纹理": ["模糊", "稍糊", "清晰"],
    "脐部": ["平坦", "稍凹", "凹陷"],
    "触感": ["软粘", "硬滑"],
}
NAMES = dict(zip(COLUMNS, ("色泽更深", "根蒂更蜷", "敲声更沉", "纹理更清", "脐部更凹", "触感更硬")))
MELONS = {
    1: ("青绿", "蜷缩", "浊响", "清晰", "凹陷", "硬滑"),
    2: ("乌黑", "蜷缩", "沉闷", "清晰", "凹陷", "硬滑"),
    3: ("乌黑", "蜷缩", "浊响", "清晰", "凹陷", "硬滑"),
    6: ("青绿", "稍蜷", "浊响", "清晰", "稍凹", "软粘"),
    7: ("乌黑", "稍蜷", "浊响", "稍糊", "稍凹", "软粘"),
    10: ("青绿", "硬挺", "清脆", "清晰", "平坦", "软粘"),
    14: ("浅白", "稍蜷", "沉闷", "稍糊", "凹陷", "硬滑"),
    15: ("乌黑", "稍蜷", "浊响", "清晰", "稍凹", "软粘"),
    16: ("浅白", "蜷缩", "浊响", "模糊", "平坦", "硬滑"),
    17: ("青绿", "蜷缩", "沉闷", "稍糊", "稍凹", "硬滑"),
}
GOOD = (1, 2, 3, 6, 7)


def relations():
    frame = {"编号": list(MELONS), **{c: [row[k] for row in MELONS.values()] for k, c in enumerate(COLUMNS)}}
    return comparison_facts(frame, ORDERS, key="编号", names=NAMES)


def better():
    """Positive and negative examples: a good melon is better than a bad one, and not the reverse."""
    bad = [number for number in MELONS if number not in GOOD]
    return (
        [Literal("更好", [g, b]) for g in GOOD for b in bad],
        [Literal("更好", [b, g]) for g in GOOD for b in bad],
    )
