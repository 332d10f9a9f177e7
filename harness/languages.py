"""Which language texts are in, as far as scripts and stop words tell, and whether an analyzer plainly does not fit them. Pure.

Both answer with nothing where the texts are few or two languages are close: a wrong word here costs more than a missing one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from harness.analyzers import CJK, LANGUAGES, SERBIAN, WHOLE_WORD, fold
from harness.stopwords import STOP_WORDS

SAMPLE = 1000  # texts that are looked at
READ = 2000  # characters of each
LETTERS = re.compile(r"[^\W\d_]")
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # CJK without hangul, which has spaces
RANGES = {
    "latin": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "cyrillic": "\u0400-\u052f",
    "armenian": "\u0530-\u058f",
    "hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "devanagari": "\u0900-\u097f",
    "tamil": "\u0b80-\u0bff",
    "cjk": CJK,
    "unspaced": UNSPACED,
}
SCRIPTS = {name: re.compile(rf"(?=[^\W\d_])[{characters}]") for name, characters in RANGES.items()}
SCRIPT_NAMES = {name: name.title() for name in RANGES if name not in ("cjk", "unspaced")} | {"cjk": "Chinese, Japanese or Korean"}
CJK_SHARE = 0.2  # of the letters: from there on, words are not parted by spaces
# Shares of stop words among words: 20 to 50 % in a text's own language, below 20 % in most others.
ENOUGH = 0.2
ENOUGH_ALONE = 0.12  # for a script that one analyzer has to itself
CLEAR = 1.5  # of the words that are stop words in one of the two best languages only, the best has this many times more
TELLING = {"russian": "ы", "serbian": "ćћ"}  # letters that every longer text has, and relatives without an analyzer lack
TELLING_SHARE = 0.001  # of the letters
UNFIT = 2.0  # an analyzer's own language has less than one in UNFIT of the best one's share
FEW = 200  # letters or words: below, no analyzer is called unfit
MOST_FOREIGN = 0.2  # of the letters are in the analyzer's scripts: below, its script is plainly another


@dataclass(frozen=True)
class Looks:
    """What a sample of texts looks like: letters, words, and shares of scripts (of letters) and stop words (of words).

    `language` is the analyzer where it is clear: cjk by script, a language by its stop words.
    """

    letters: int
    words: int
    scripts: dict[str, float]
    stop_words: dict[str, float]
    language: str | None


def sample_texts(texts: Sequence[str]) -> Sequence[str]:
    """At most about SAMPLE texts, spread evenly."""
    return texts[:: max(1, len(texts) // SAMPLE)]


def split_plainly(text: str) -> list[str]:
    """Words in the normal form that all languages share."""
    return WHOLE_WORD.findall(fold(text.replace("\u200c", " ")))


@cache
def plain_stop_words(language: str) -> frozenset[str]:
    """The language's stop words as `split_plainly` gives them; Serbian ones in both scripts."""
    words = split_plainly(STOP_WORDS[language])
    return frozenset([*words, *(_to_cyrillic(word) for word in words)] if language == "serbian" else words)


def _to_cyrillic(word: str) -> str:
    for two, one in (("lj", "љ"), ("nj", "њ"), ("dž", "џ")):
        word = word.replace(two, one)
    return word.translate({ord(latin): chr(cyrillic) for cyrillic, latin in SERBIAN.items() if latin and len(latin) == 1})


def look_at(texts: Sequence[str]) -> Looks:
    """Shares of scripts and stop words in a sample of these texts, and the language where these tell it."""
    cut = [text[:READ] for text in sample_texts(texts)]
    joined = "\n".join(cut)
    letters = max(1, len(LETTERS.findall(joined)))
    scripts = {name: len(pattern.findall(joined)) / letters for name, pattern in SCRIPTS.items()}
    counts = Counter(word for text in cut for word in split_plainly(text))
    used = [name for name in STOP_WORDS if any(scripts[script] >= MOST_FOREIGN for script in scripts_of(name))]
    shares = {name: _share(plain_stop_words(name), counts) for name in used}
    language = "cjk" if scripts["cjk"] >= CJK_SHARE else find_language(shares, counts)
    if language in TELLING and sum(map(joined.lower().count, TELLING[language])) < TELLING_SHARE * letters:
        language = None
    return Looks(letters, counts.total(), scripts, shares, language)


def scripts_of(analyzer: str) -> tuple[str, ...]:
    """The scripts that a language's analyzer is for."""
    return ("latin",) if analyzer == "english" else LANGUAGES[analyzer].scripts


def _share(words: frozenset[str], counts: Counter[str]) -> float:
    return sum(counts[word] for word in words) / max(1, counts.total())


def find_language(shares: Mapping[str, float], counts: Counter[str]) -> str | None:
    """The language with the largest share of stop words, if that is large and clearly larger than the next one's."""
    if not shares:
        return None
    best, *others = sorted(shares, key=lambda name: -shares[name])
    if shares[best] < (ENOUGH if others else ENOUGH_ALONE):
        return None
    if not others:
        return best
    mine, theirs = plain_stop_words(best), plain_stop_words(others[0])
    return best if _share(mine - theirs, counts) > CLEAR * _share(theirs - mine, counts) else None


def say_unfit(texts: Sequence[str], analyzer: str) -> str | None:
    """What makes this analyzer plainly unfit for these texts, and which one to try; None where nothing does.

    `simple`, `whitespace` and `code` are unfit only for texts that are written without spaces.
    """
    looks = look_at(texts)
    if looks.letters < FEW:
        return None
    unspaced = looks.scripts["unspaced"]
    if analyzer != "cjk" and unspaced >= CJK_SHARE:
        return _say(analyzer, f"{unspaced:.0%} of the letters are Chinese or Japanese, which are written without spaces", "cjk")
    if analyzer in ("simple", "whitespace", "code"):
        return None
    other, script = looks.language, max(SCRIPT_NAMES, key=lambda name: looks.scripts[name])
    if analyzer == "cjk":
        if looks.scripts["cjk"] >= CJK_SHARE / 20 or other is None or looks.words < FEW:
            return None
        return _say(analyzer, f"{looks.scripts['cjk']:.0%} of the letters are {SCRIPT_NAMES['cjk']}", other)
    if sum(looks.scripts[name] for name in scripts_of(analyzer)) < MOST_FOREIGN and looks.scripts[script] > 0.5:
        return _say(analyzer, f"{looks.scripts[script]:.0%} of the letters are {SCRIPT_NAMES[script]}", other or "simple")
    own = looks.stop_words.get(analyzer, 0.0)
    if other is None or other == "cjk" or looks.words < FEW or looks.stop_words[other] < UNFIT * own:
        return None
    shares = f"{own:.0%} of the words are stop words of {analyzer.title()} and {looks.stop_words[other]:.0%} of {other.title()}"
    return _say(analyzer, shares, other)


def _say(analyzer: str, seen: str, other: str) -> str:
    return f"keyword.analyzer is {analyzer}, and in the documents {seen}: {other} looks like the better choice"
