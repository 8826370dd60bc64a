"""`tercet book`."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from tercet.cli import book
from tercet.cli.errors import Refusal
from tercet.core.catalog import text_of
from tercet.datasets.texts import Example, chapters, examples
from tests.systems import posix

from .running import refused, tercet


def test_the_examples_of_a_text_agree():
    """Every example is a test of its own in `tests/texts`; here, that the command shows them."""
    answer = tercet("book", "depth")
    assert answer.returncode == 0, answer.stdout[-2000:]
    shown = [example for _, example in book.choose("depth")]
    n, values = len(shown), sum(len(example.expected) for example in shown)
    assert n > 10
    assert answer.stdout.splitlines()[-1] == f"{n} of {n} examples, {values} of {values} values agree"
    assert answer.stdout.count("✓") == values
    assert "✗" not in answer.stdout
    for example in shown:
        assert f"{example.place}  {example.title} · {example.zh}" in answer.stdout
        assert example.note in answer.stdout


def test_one_chapter_in_chinese():
    answer = tercet("book", "2", "--lang", "zh")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    assert "李航《机器学习方法》第 2 章：感知机  ch02" in lines
    assert any(line.split() == ["✓", "w", "[1", "1]", "[1", "1]"] for line in lines)
    assert "注: 表 2.1 的最后一行没有误分类点，不是一次更新" in lines
    assert lines[-1] == "4 道例题中 4 道一致，21 个数值中 21 个一致"


def test_warnings_are_sentences_of_the_answer_and_not_lines_of_python():
    """The book learns a hidden Markov model from three observations, of which the method warns."""
    answer = tercet("book", "Alg 10.4")
    said = "CategoricalHMM: a model with 11 free parameters is fitted to only 3 data points, and the solution will"
    assert f"warning: {said} be degenerate. Use fewer states, or more data." in answer.stdout.splitlines()
    assert answer.stderr == ""
    answer = tercet("book", "Alg 10.4", "--lang", "zh", "--json")
    warned = json.loads(answer.stdout)["examples"][0]["warnings"]
    assert warned == [
        "CategoricalHMM：有 11 个自由参数的模型只用 3 个数据点来拟合，解会退化。请减少状态数，或增加数据。"
    ]
    assert answer.stderr == ""


def test_names_of_values_mean_what_they_name():
    """`clusters` is the cluster of each sample here, and how many there are in `tercet fit`."""
    lines = tercet("book", "Ex 14.2", "--lang", "zh").stdout.splitlines()
    assert ["✓", "所属的类", "[1", "2", "2", "2", "1]", "[1", "2", "2", "2", "1]"] in map(str.split, lines)
    assert not any("簇数" in line for line in lines)


def test_json():
    known = json.loads(tercet("book", "Ex 6.1", "--json").stdout)
    assert [entry["place"] for entry in known["examples"]] == ["Li Ex 6.1"] * 3
    assert known["right"] == known["asked"] == 3
    assert known["values"] == known["values_right"] == sum(len(e["values"]) for e in known["examples"])
    value = known["examples"][0]["values"][0]
    assert set(value) == {"name", "book", "ours", "agrees", "derived"}
    assert np.allclose(value["book"], value["ours"])
    assert known["interrupted"] is False


def test_numbers_that_the_text_does_not_print_are_called_derived():
    whole = tercet("book", "watermelon/1").stdout.splitlines()
    heads = [line for line in whole if line.split()[:1] == ["value"]]
    assert heads
    assert all("derived" in line and "the book" not in line for line in heads)
    printed = tercet("book", "Ex 4.1").stdout
    assert "the book" in printed
    assert "derived" not in printed
    part = tercet("book", "Ex 14.2", "--lang", "zh").stdout.splitlines()  # W is not printed, the centres are
    assert any(line.split()[:3] == ["✓", "W", "推导所得:"] for line in part)
    assert not any("推导所得" in line for line in part if "所属的类" in line)
    known = json.loads(tercet("book", "Ex 10.3", "--json").stdout)
    derived = {value["name"]: value["derived"] for value in known["examples"][0]["values"]}
    assert derived["P(path | O)"]
    assert not derived["P*"]


def test_derived_values_are_values_of_the_example():
    for example in examples():
        names = example.derived if isinstance(example.derived, tuple) else ()
        assert set(names) <= set(example.expected), example.title
    places = {text_of(e.place).key for e in examples() if any(map(e.is_derived, e.expected))}
    assert places >= {"li", "depth", "watermelon", "pattern", "studies"}
    assert not any(e.is_derived(name) for e in examples("ch02")[:1] for name in e.expected)


def test_an_unknown_chapter_is_refused_by_name():
    line = refused(tercet("book", "chapter twelve"), 2)
    assert "'chapter twelve'" in line
    assert ", ".join(chapters()) in line


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ("6", {"ch06"}),
        ("ch06", {"ch06"}),
        ("ch. 6", {"ch06"}),
        ("第 6 章", {"ch06"}),
        ("li/6", {"ch06"}),
        ("Li ch. 6", {"ch06"}),
        ("watermelon/1", {"watermelon_ch01"}),
        ("Watermelon / 1", {"watermelon_ch01"}),
        ("watermelon_ch01", {"watermelon_ch01"}),
        ("watermelon notes ch. 1", {"watermelon_ch01"}),
        (
            "pattern/5",
            {f"pattern_ch05_{part}" for part in ("2", "3", "4", "4_rbf", "4_units", "5", "6", "7")},
        ),
        ("app_c", {"appc"}),
        ("appc", {"appc"}),
        ("C", {"appc"}),
        ("Li app. C", {"appc"}),
        ("studies", {"studies_ch02", "studies_ch03", "studies_ch05"}),
        (None, set(chapters())),
    ],
)
def test_names_of_chapters(which, names):
    chosen = book.choose(which)
    assert {chapter for chapter, _ in chosen} == names
    assert [e for _, e in chosen] == [e for name in chapters() if name in names for e in examples(name)]


@pytest.mark.parametrize(
    ("which", "places"),
    [
        ("Ex 2.1", {"Li Ex 2.1"}),
        ("li ex 2.1", {"Li Ex 2.1"}),
        ("Alg B.2", {"Li Alg B.2"}),
        ("eq. E.7", {"Li Eq E.6, E.7"}),
        ("Eq. 1.10", {"watermelon notes Eq 1.10"}),
        ("Machine Learning in Depth ch. 1, sec. 1.4.1", {"Machine Learning in Depth ch. 1, sec. 1.4.1"}),
    ],
)
def test_names_of_examples(which, places):
    assert {example.place for _, example in book.choose(which)} == places


@pytest.mark.parametrize(
    "which", ["", "99", "watermelon/77", "Ex 2.99", "Machine Learning in Depth Ex 2.1", "Ex", "app. Z"]
)
def test_names_of_nothing(which):
    with pytest.raises(Refusal) as refusal:
        book.choose(which)
    assert refusal.value.code == 2


def example(**changes):
    given = {"place": "Li Ex 0.0", "title": "a title", "zh": "题", "given": {}}
    return Example(**{**given, "call": lambda: {"x": 0.1 + 1e-9}, "expected": {"x": 0.1}, **changes})


def test_what_differs_is_shown_whole(capsys, monkeypatch):
    """A wrong digit far behind, a missing value, a call that falls over: crosses, and exit code 1."""

    def fails():
        raise ZeroDivisionError("by zero")

    wrong = example(expected={"x": 0.1, "y": [1, 2]}, rtol=1e-12, atol=0)
    entries = [("ch02", wrong), ("ch02", example()), ("ch06", example(call=fails))]
    monkeypatch.setattr(book, "choose", lambda which: entries)
    assert book.run(None, json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert ["✗", "x", "0.1", "0.100000001"] in [line.split() for line in lines]
    assert ["✗", "y", "[1", "2]", "-"] in [line.split() for line in lines]
    assert ["✓", "x", "0.1", "0.1"] in [line.split() for line in lines]
    assert "ZeroDivisionError: by zero" in lines
    assert lines[-1] == "1 of 3 examples, 1 of 4 values agree"


def test_differences_and_values_say_the_same():
    two = example(expected={"x": 0.1, "y": 3})
    assert [(v.name, v.same) for v in two.values()] == [("x", True), ("y", False)]
    assert two.differences() == {"y": (3, None)}
    assert example(call=lambda: {"x": 1}, expected={"x": {"a": 1}}).differences() == {"x": ({"a": 1}, 1)}


def test_uses():
    (dual,) = [e for e in examples("ch02") if "dual" in e.title]
    assert dual.uses("tercet.linear_model", "Perceptron")
    assert not dual.uses("tercet.losses", "Perceptron")
    assert not dual.uses("tercet.linear_model", "Lasso")


@posix
def test_ctrl_c_keeps_the_count_so_far():
    """Each example is on the screen when it is done; after Ctrl-C comes the count."""
    code = """if True:
        import sys, time
        from tercet.datasets import texts
        from tercet.cli import book
        real = book.choose("2")
        def slow():
            print("begun", file=sys.stderr, flush=True)
            time.sleep(600)
        late = texts.Example("Li Ex 9", "late", "晚", {}, slow, {"x": 1})
        book.choose = lambda which: [*real, ("ch02", late)]
        sys.argv = ["tercet", "book", "2"]
        from tercet.cli.app import main
        main()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    seen = ""
    while "Thm 2.1" not in seen:  # the last example before the late one
        line = process.stdout.readline()
        assert line, "ended early"
        seen += line
    assert process.stderr.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    rest, complaint = process.communicate(timeout=600)
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "4 of 4 examples, 21 of 21 values agree"
    assert complaint == "interrupted: 1 examples were not run\n"
