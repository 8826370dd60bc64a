"""Search in two languages with one index: English words are stemmed, Chinese is cut into pairs of characters.

The same is done to the query in the browser (`SPLITTER`), so that what was indexed is found.
"""

from __future__ import annotations

import re
from functools import cache

from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.en import SearchEnglish

NAME = "en-zh"
WORD = re.compile(r"[\u3400-\u9fff]+|(?:(?![\u3400-\u9fff])\w)+")
SPLITTER = r"""
var splitQuery = (query) => {
  const words = query.match(/[\u3400-\u9fff]+|[^\u3400-\u9fff\p{P}\p{S}\p{Z}\s]+|_+/gu) || [];
  return words.flatMap((word) => {
    if (!/[\u3400-\u9fff]/.test(word) || word.length === 1) return [word];
    return Array.from({ length: word.length - 1 }, (_, k) => word.slice(k, k + 2));
  });
};
"""


class SearchBoth(SearchEnglish):
    """English words and Chinese pairs of characters."""

    lang = NAME
    js_splitter_code = SPLITTER

    def split(self, text: str) -> list[str]:
        """The words of a text; of Chinese every character and every pair of neighbours.

        Examples
        --------
        >>> SearchBoth({}).split("the 感知机 of Li")
        ['the', '感', '知', '机', '感知', '知机', 'of', 'Li']
        """
        words: list[str] = []
        for word in WORD.findall(text):
            if "\u3400" <= word[0] <= "\u9fff":
                words += [*word, *(word[k : k + 2] for k in range(len(word) - 1))]
            else:
                words.append(word)
        return words

    def word_filter(self, word: str) -> bool:
        return "\u3400" <= word[0] <= "\u9fff" or super().word_filter(word)

    def stem(self, word: str) -> str:
        return word if "\u3400" <= word[0] <= "\u9fff" else stem(word)


@cache
def english() -> SearchEnglish:
    return SearchEnglish({})


@cache
def stem(word: str) -> str:
    """The stem of an English word: the same words occur on all pages."""
    return english().stem(word)


def setup(app: Sphinx) -> None:
    languages[NAME] = SearchBoth
