"""Lines no wider than the terminal: paragraphs between words, commands with backslashes."""

import io
import shlex

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tercet.cli import printing, translation
from tercet.cli.compare import terminal, terminal_advice
from tercet.cli.line_folding import CLOSE, OPEN, break_points, fold_command

COMMAND = shlex.join(
    ["tercet", "fit", "VotingClassifier", "my data.csv", "--target", "it's", "--set", "estimators=A, B",
     *(word for k in range(6) for word in ("--set", f"histgradientboostingclassifier{k}__max_leaf_nodes=8")),
     "--output", "model.skops"]
)  # fmt: skip
CHINESE = (
    "组合是“极端树”、LogisticRegression（参数 C=0.1）和支持向量机的加权平均；成员和权重在每个训练集内定，"
)


def console(width: int, terminal: bool = True) -> Console:
    made = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, highlight=False, color_system=None
    )
    made.soft_wrap = not made.is_terminal
    return made


def lines_of(made: Console) -> list[str]:
    return made.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [30, 64, 126])
def test_a_command_is_folded_and_still_the_same_command(width):
    lines = fold_command(COMMAND, width)
    assert len(lines) > 1
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(COMMAND)
    longest = max(cell_len(shlex.quote(word)) for word in shlex.split(COMMAND))
    assert all(cell_len(line) <= max(width, longest + len("    --set  \\")) for line in lines)


@pytest.mark.parametrize("width", [12, 20, 37])
def test_chinese_is_folded_between_characters_and_not_before_a_comma(width):
    lines = [line.plain for line in Text(CHINESE).divide(break_points(CHINESE, width))]
    assert "".join(lines) == CHINESE
    words = ("LogisticRegression",)
    assert all(cell_len(line.rstrip()) <= max(width, cell_len(words[0]) + 2) for line in lines)
    assert not any(line[0] in CLOSE or line[-1] in OPEN for line in lines)
    assert sum(words[0] in line for line in lines) == 1
    if width > cell_len(words[0]):  # lines are well filled
        assert sum(cell_len(line) > width - 8 for line in lines) >= len(lines) - 2


def test_paragraphs_are_folded_on_a_terminal_and_nowhere_else(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    made = console(40)
    printing.print_text("! " + "word " * 30, made, indent="  ")
    assert all(len(line) <= 40 for line in lines_of(made))
    assert all(line.startswith("  word") for line in lines_of(made)[1:])
    made = console(40, terminal=False)
    printing.print_text("word " * 30, made)
    printing.print_command(COMMAND, made)
    assert lines_of(made) == [("word " * 30).rstrip(), f"  {COMMAND}"]


def test_the_recommendation_is_no_wider_than_the_terminal(monkeypatch):
    translation.set_language("en")
    made = console(100)
    monkeypatch.setattr(printing, "stdout", lambda: made)
    take = {
        "command": COMMAND,
        "caution": "A constant answer. " * 8,
        "simplest": None,
        "expected": None,
    }
    result = {"take": take, "alerts": [
        {"severity": "note", "title": "title " * 30, "evidence": "", "advice": "advice " * 30}
    ]}  # fmt: skip
    terminal_advice.alerts(result)
    terminal_advice.recommendation(result)
    assert len(lines_of(made)) > 12
    assert all(len(line) <= 100 for line in lines_of(made))


def test_of_many_methods_left_out_the_first_are_named_and_the_others_counted():
    translation.set_language("en")
    names = [f"M{k}" for k in range(60)]
    assert terminal._some(names[:12]) == ", ".join(names[:12])
    assert terminal._some(names) == ", ".join(names[:11]) + " and 49 others"
