"""What the name of a column says about its values."""

from __future__ import annotations

import re

_ROW = re.compile(
    r"(?<![a-z0-9])(ids?|uid|uuid|guid|rowid|key|serial)[\W_]*$|^id[\W_]|^$|^unnamed(: *\d+)?$|^(index|idx)$"
    r"|(编号|序号|学号|工号|证号|号码|代号|账号|帐号|客户号|会员号|订单号|单号|卡号|流水号)$",
    re.ASCII,
)
_ENTRY = re.compile(r"(?<![a-z0-9])(no|nr)[\W_]*$", re.ASCII)
_NUMBER = re.compile(r"(?<![a-z0-9])(number|num|code|index|idx)[\W_]*$|(?<![信符型])号$", re.ASCII)
_MEASURED = re.compile(
    r"[txyz]\d*|"
    r"time|times|date|step|steps|epoch|iter|iteration|tick|lag|period|year|years|month|months|week|weeks|"
    r"day|days|quarter|season|hour|hours|minute|minutes|min|second|seconds|sec|ms|age|duration|elapsed|"
    r"position|pos|rank|level|distance|depth|height|width|length|size|weight|speed|temperature|temp|"
    r"pressure|voltage|current|power|energy|dose|concentration|price|cost|amount|income|salary|revenue|"
    r"count|total|sum|score|angle|degree|degrees|lat|lon|latitude|longitude|altitude|area|volume|mass|"
    r"frequency"
)
_MEASURED_ZH = re.compile(r"[年月日天周时分秒步龄长宽高深距速温压价额量数率度]|星期|季")


def name_meaning(name: str) -> str:
    """What a column of that name holds: "row" (names of rows), "number" (perhaps), "quantity", or "" (who knows).

    Examples
    --------
    >>> [name_meaning(name) for name in ("PassengerId", "编号", "customer_number", "no_of_rooms", "humid")]
    ['row', 'row', 'number', '', '']
    >>> [name_meaning(name) for name in ("time", "day_no", "年份", "x1", "order no", "dateKey")]
    ['quantity', 'quantity', 'quantity', 'quantity', 'row', 'row']
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip()).lower()
    if _ROW.search(parts):
        return "row"
    words = re.findall(r"[a-z]+\d*", parts)
    if _MEASURED_ZH.search(parts) or any(map(_MEASURED.fullmatch, words)):
        return "quantity"
    if _ENTRY.search(parts):
        return "row"
    return "number" if _NUMBER.search(parts) else ""
