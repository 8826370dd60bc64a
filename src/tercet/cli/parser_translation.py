"""Translation of the parser's own texts: usage, `--help`, and usage errors.

Typer has no setting for them: help is translated in subclasses of its commands, an error message by its pattern.
A message that matches no pattern (of a new Typer) stays in English.
"""

from __future__ import annotations

import os
import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from tercet.cli.errors import INTERRUPTED, Refusal
from tercet.cli.translation import language, tr

ERROR_PATTERNS = (
    "No such option: {name} (Possible options: {near})",
    "No such option: {name}",
    "No such command {name}. Did you mean {near}?",
    "No such command {name}.",
    "Missing command.",
    "Missing argument {name}.",
    "Missing option {name}.",
    "Got unexpected extra argument(s) ({names})",
    "Option {name} requires an argument.",
    "Option {name} does not take a value.",
    "Invalid value for {name}: {why}",
    "Input should be a valid integer, unable to parse string as an integer",
    "Input should be a valid number, unable to parse string as a number",
    "Input should be greater than or equal to {least}",
    "Input should be greater than {least}",
    "Input should be less than or equal to {most}",
    "Input should be less than {most}",
    "{value} is not in the range {limits}.",
    "{value} is not a valid {kind}.",
    "{value} is not one of {names}.",
)
USAGE = ("Usage: ", "[OPTIONS]", "COMMAND [ARGS]...")


class _Translated:
    """Mixin: parser texts in the language in use."""

    def get_params(self, context: Any) -> list[Any]:
        params = super().get_params(context)  # type: ignore[misc]
        for param in params:
            if getattr(param, "help", None):
                param.help = tr(param.help)
        return params

    def get_usage(self, context: Any) -> str:
        line = super().get_usage(context)  # type: ignore[misc]
        for word in USAGE:
            line = line.replace(word, tr(word), 1)
        return line


class TranslatedCommand(_Translated, TyperCommand):
    """One command."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # Typer would leave without a word
            raise Refusal(tr("interrupted"), INTERRUPTED) from None


class TranslatedGroup(_Translated, TyperGroup):
    """The command with the subcommands."""


def translate_help_titles() -> None:
    """Set the panel titles of help pages in the language in use."""
    if language() == "en" or "_TERCET_COMPLETE" in os.environ:
        return
    from typer import rich_utils

    rich_utils.ARGUMENTS_PANEL_TITLE = tr("Arguments")
    rich_utils.OPTIONS_PANEL_TITLE = tr("Options")
    rich_utils.COMMANDS_PANEL_TITLE = tr("Commands")
    rich_utils.DEFAULT_STRING = tr("[default: {}]")
    rich_utils.REQUIRED_LONG_STRING = tr("[required]")


def translated_error(message: str) -> str:
    """A usage error of the parser in the language in use.

    Examples
    --------
    >>> translated_error("Missing argument 'DATA'.")
    "Missing argument 'DATA'."
    """
    if language() == "en":
        return message
    for template in ERROR_PATTERNS:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
        found = re.fullmatch(pattern, message)
        if found:
            return tr(template, **{name: translated_error(text) for name, text in found.groupdict().items()})
    return message
