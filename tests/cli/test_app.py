"""The command line itself: help, version, languages, completion, errors and exit codes."""

import errno
import functools
import io
import os
import re
import shlex
import subprocess
import sys

import pytest

from tercet import __version__
from tercet.cli import parser_translation, translation
from tercet.cli.exit_handling import WindowsOutput
from tests.systems import posix

from .running import NO_READER, refused, tercet, usual

COMMANDS = ("compare", "fit", "predict", "evaluate", "list", "info", "book", "warm", "doctor", "bench")


def python(code, *arguments, **environment):
    """Run the command inside a small program."""
    begin = f"import sys; sys.argv = ['tercet', *{arguments!r}]\n"
    return subprocess.run(
        [sys.executable, "-c", begin + code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**usual(), **environment},
    )


def test_alone_it_shows_what_it_can_do():
    answer = tercet()
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert [name for name in COMMANDS if f" {name} " not in answer.stdout] == []
    assert "Usage: tercet " in answer.stdout


def test_version():
    assert tercet("--version").stdout == f"tercet {__version__}\n"


@functools.cache
def help_pages(*language):
    """The help of `tercet` and of each command: the exit code, the heavy packages that are loaded, the text."""
    code = f"""if True:
        from tercet.cli.app import main
        heavy = ("numpy", "scipy", "sklearn", "numba", "polars", "pyarrow", "matplotlib", "skops")
        for command in {("", *COMMANDS)!r}:
            sys.argv[1:] = [*command.split(), "--help", *{language!r}]
            try:
                main()
            except SystemExit as end:
                print("ENDED", end.code, [name for name in heavy if name in sys.modules])
    """
    pages = re.findall(r"(.*?)ENDED (\S+) (.*?)\n", python(code, *language).stdout, flags=re.DOTALL)
    return {name: (code, loaded, text) for name, (text, code, loaded) in zip(("", *COMMANDS), pages)}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_light_and_in_both_languages(command):
    code, loaded, english = help_pages()[command]
    assert (code, loaded) == ("0", "[]")
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in english)
    code, _, chinese = help_pages("--lang", "zh")[command]
    assert code == "0"
    assert "选项" in chinese
    options = [line for line in chinese.splitlines() if "│" in line and " --" in line]
    assert [line for line in options if not any("\u4e00" <= x <= "\u9fff" for x in line)] == []
    assert f"用法：{' '.join(['tercet', *command.split()])} [选项]" in chinese
    assert "显示本说明。" in chinese


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lst"], ["'lst'", "'list'"]),
        (["list", "--tsk", "x"], ["--tsk", "--task"]),
        (["info"], ["'METHOD'", "tercet info --help"]),
        (["compare", "--cv", "many"], ["--cv", "integer"]),
        (["list", "--lang", "fr"], ["--lang", "'fr'", "en, zh"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_wrong_line_is_one_line(arguments, says):
    line = refused(tercet(*arguments), 2)
    assert [word for word in says if word not in line] == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lst"], "没有命令 'lst'；是否想写 'list'？ (参见 tercet --help)"),
        (["list", "--tsk", "x"], "没有选项 --tsk（是否想写 --task） (参见 tercet list --help)"),
        (["info"], "缺少参数 'METHOD' (参见 tercet info --help)"),
        (["info", "a", "b"], "多余的参数（b） (参见 tercet info --help)"),
        (["compare", "--cv", "1"], "'--cv' 的值无效：应不小于 2 (参见 tercet compare --help)"),
        (["compare", "--cv", "many"], "'--cv' 的值无效：应为整数 (参见 tercet compare --help)"),
        (["list", "--lang", "fr"], "'--lang' 的值无效：'fr'; 可取值: en, zh (参见 tercet list --help)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_parser_complains_in_chinese(arguments, line):
    assert refused(tercet(*arguments, LC_ALL="zh_CN.UTF-8"), 2) == f"tercet: 错误: {line}"


def test_every_complaint_has_its_chinese():
    known = {*parser_translation.ERROR_PATTERNS, *parser_translation.USAGE}
    assert known - set(translation.chinese()) == set()


def test_language_of_the_locale():
    line = refused(tercet("lst", LC_ALL="zh_CN.UTF-8", alone=True), 2)
    assert line == "tercet: 错误: 没有命令 'lst'；是否想写 'list'？ (参见 tercet --help)"
    line = refused(tercet("info", "zzz", LC_ALL="zh_CN.UTF-8"), 2)
    assert line == "tercet: 错误: 没有方法 'zzz'；`tercet list` 列出全部方法"
    assert "there is no method" in refused(tercet("info", "zzz", "--lang", "en", LC_ALL="zh_CN.UTF-8"), 2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell):
    script = tercet(_TERCET_COMPLETE=f"source_{shell}")
    assert script.returncode == 0
    assert f"_TERCET_COMPLETE=complete_{shell}" in script.stdout
    assert "python" not in script.stdout


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "tercet info Logist",
            {"LogisticRegression", "LogisticRegressionCV", "Logistic", "LogisticDistribution"},
        ),
        ("tercet fit Logist", {"LogisticRegression", "LogisticRegressionCV"}),
        ("tercet ev", {"evaluate"}),
    ],
)
def test_completion(line, found):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert set(tercet(_TERCET_COMPLETE="complete_bash", **words).stdout.split()) == found
    fish = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    names = tercet(_TERCET_COMPLETE="complete_fish", **fish).stdout.splitlines()
    assert {name.split("\t")[0] for name in names} == found
    zsh = tercet(_TERCET_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line).stdout
    assert [name for name in found if f'"{name}"' not in zsh] == []


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["list", "--json"], ["book", "2"], ["--help"], ["info", "Lasso"], ["bench", "--list"]],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_error(arguments):
    alone = arguments == ["list"]  # as an interpreter ends, it flushes once more
    answer = tercet(*arguments, stdout=NO_READER, alone=alone)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize(("code", "says"), [(errno.EINVAL, errno.EPIPE), (errno.ENOSPC, errno.ENOSPC)])
def test_what_windows_says_of_a_reader_that_has_left(code, says):
    class Failing(io.FileIO):
        def write(self, data):
            raise OSError(code, os.strerror(code))

    class Output(WindowsOutput, Failing):
        pass

    with Output(os.devnull, "w") as output, pytest.raises(OSError, match=os.strerror(says)) as caught:
        output.write(b"x")
    assert isinstance(caught.value, BrokenPipeError) == (says == errno.EPIPE)


@posix
@pytest.mark.parametrize("arguments", ["list", "list --json", "book 14", "--help", "info Lasso"])
def test_an_output_that_takes_nothing_is_one_line(arguments):
    answer = tercet(*arguments.split(), stdout="/dev/full", alone=arguments == "list")
    assert refused(answer, 3) == "tercet: error: the output cannot be written: No space left on device"


@posix
def test_a_closed_output_is_one_line():
    """Before the command is looked at."""
    closed = subprocess.run(
        ["bash", "-c", f"{shlex.quote(sys.executable)} -m tercet list >&-"],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert refused(closed, 3) == "tercet: error: the output cannot be written: Bad file descriptor"


def test_an_unexpected_fault_is_one_line():
    code = """if True:
        from tercet.cli import catalogue
        from tercet.cli.app import main
        def fault(*given, **named):
            raise RuntimeError("something\\nbroke")
        catalogue.info = fault
        main()
    """
    line = refused(python(code, "info", "Lasso"), 70)
    assert "RuntimeError: something broke" in line
    assert "TERCET_DEBUG=1" in line
    shown = python(code, "info", "Lasso", TERCET_DEBUG="1")
    assert "Traceback" in shown.stderr


def test_a_terminal_without_chinese_gets_question_marks():
    answer = tercet("list", "--family", "linear_model", PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr
    (line,) = [line for line in answer.stdout.splitlines() if line.startswith("Perceptron ")]
    assert line.split()[1] == "???"
