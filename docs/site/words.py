"""Words in both languages: of the families, and those of the command line that the library has translated."""

from __future__ import annotations

from tercet.cli.translation import chinese


def zh(text: str) -> str:
    """The Chinese of a text that the library has translated; the text itself if it has not."""
    return chinese().get(text, text)


def family_names(family: str, language: str) -> str:
    """The heading of a family: its folder, with the Chinese name on Chinese pages.

    Examples
    --------
    >>> family_names("naive_bayes", "en"), family_names("naive_bayes", "zh")
    ('Naive bayes', '朴素贝叶斯 naive_bayes')
    """
    if language == "zh" and zh(family) != family:
        return f"{zh(family)} {family}"
    return family.replace("_", " ").capitalize()
