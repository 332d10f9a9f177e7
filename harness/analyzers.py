"""Analyzers: how documents and prompts become tokens, by name. Home of Snowball's stemmers.

A language's analyzer has four steps: the text's *normal form* (NFKC, case folding, and what its letters need), words, stop
words out, stems. Stop words are brought into the same normal form, so they are met however a text writes them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from harness.stopwords import STOP_WORDS

Analyze = Callable[[str], list[str]]
Letters = dict[int, str | None]  # as str.translate takes it

# Lucene's default English stop words, the list behind Elasticsearch's and OpenSearch's `english` analyzer.
ENGLISH_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
    ]
)
RULES = 1  # of every analyzer but simple, english and cjk: raise it when one gives other tokens
# Ideographs, kana and hangul: scripts that are written without spaces, or whose words are best matched by parts.
CJK = "\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
WORD = re.compile(r"\w+")
CJK_OR_WORD = re.compile(rf"([{CJK}]+)|([^\W{CJK}]+)")
# Marks that stand inside words and are no \w: accents without a composed letter, vowel signs of Hebrew, Devanagari and Tamil.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0b82\u0bbe-\u0bcd\u0bd7"
)
LETTER = rf"[\w{MARKS}]"
WHOLE_WORD = re.compile(rf"\w{LETTER}*")
APOSTROPHES: Letters = dict.fromkeys(map(ord, "’‘ʼ′"), "'")
WITH_APOSTROPHE = re.compile(rf"\w{LETTER}*(?:'{LETTER}+)*")
BEFORE_APOSTROPHE = re.compile(rf"(\w{LETTER}*)(?:'{LETTER}+)*")
WITH_DOT = re.compile(rf"\w{LETTER}*(?:['·]{LETTER}+)*")
NAME = re.compile(rf"{LETTER}+(?:(?:[.-]|::){LETTER}+)*")
# Soft hyphen, joiners, byte-order mark: nothing to read. Digits of other scripts become those of ASCII.
INVISIBLE: Letters = dict.fromkeys((0xAD, 0x200C, 0x200D, 0x2060, 0xFEFF))
FOLDED = INVISIBLE | {zero + n: str(n) for zero in (0x660, 0x6F0, 0x966, 0xBE6) for n in range(10)}


# Normal forms


def fold(text: str, letters: Letters | None = None) -> str:
    """NFKC, case folding, invisible characters out, digits as in ASCII: every language's normal form begins with it.

    `letters` says which letters the language writes otherwise, and which it leaves out.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(FOLDED)
    return unicodedata.normalize("NFKC", folded.translate(letters) if letters else folded)


def drop_accents(text: str) -> str:
    """The text without marks on its letters; ñ stays, as a letter of its own."""
    parts = unicodedata.normalize("NFD", text.replace("ñ", "\0"))
    plain = "".join(character for character in parts if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", plain).replace("\0", "ñ")


def fold_apostrophes(text: str) -> str:
    """The normal form with one kind of apostrophe."""
    return fold(text, APOSTROPHES)


def fold_turkish(text: str) -> str:
    """İ is the capital of i, and I that of ı."""
    return fold_apostrophes(unicodedata.normalize("NFKC", text).replace("İ", "i").replace("I", "ı").replace("i\u0307", "i"))


def fold_greek(text: str) -> str:
    """Without accents, which capitals lack; case folding makes a final sigma like any other."""
    return drop_accents(fold(text))


def fold_russian(text: str) -> str:
    """ё is mostly written е."""
    return fold(text, {ord("ё"): "е"})


def fold_romanian(text: str) -> str:
    """ş and ţ with a cedilla, from old keyboards, become ș and ț with a comma."""
    return fold(text, {ord("ş"): "ș", ord("ţ"): "ț"})


SERBIAN: Letters = {
    **dict(zip(map(ord, "абвгдђежзијклмнопрстћуфхцчш"), "abvgdđežzijklmnoprstćufhcčš", strict=True)),
    ord("љ"): "lj",
    ord("њ"): "nj",
    ord("џ"): "dž",
}


def fold_serbian(text: str) -> str:
    """Cyrillic in Latin letters: both are in use."""
    return fold(text, SERBIAN)


IRISH_CAPITAL = re.compile(r"\b[nt](?=[AEIOUÁÉÍÓÚ])")
IRISH_PREFIX = re.compile(r"\b[nth]-(?=\w)")


def fold_irish(text: str) -> str:
    """Without the n, t or h before a vowel: nAthair, n-athair and athair are one word."""
    return IRISH_PREFIX.sub("", fold_apostrophes(IRISH_CAPITAL.sub("", unicodedata.normalize("NFKC", text))))


HINDI: Letters = {0x93C: None, 0x901: "\u0902", 0x929: "\u0928", 0x931: "\u0930", 0x934: "\u0933"}  # as Lucene's HindiNormalizer


def fold_hindi(text: str) -> str:
    """Without nukta; chandrabindu becomes anusvara: both are often left out or mixed up."""
    return fold(text, HINDI)


# As Lucene's ArabicNormalizer: forms of alef, final yeh; tatweel and vowel signs out. Teh marbuta waits: the stemmer reads it.
ARABIC: Letters = {
    **dict.fromkeys(map(ord, "آأإٱ"), "ا"),
    ord("ى"): "ي",
    **dict.fromkeys([0x640, 0x670, *range(0x610, 0x61B), *range(0x64B, 0x660)]),
}
# The same in the letters of Persian, with the forms of heh, as Lucene's PersianNormalizer.
PERSIAN = ARABIC | dict.fromkeys(map(ord, "يىے"), "ی") | {ord("ك"): "ک"} | dict.fromkeys(map(ord, "ةۀہۂە"), "ه")


def fold_arabic(text: str) -> str:
    """One form of alef and of yeh; no tatweel, no vowel signs."""
    return fold(text, ARABIC)


def finish_arabic(stem: str) -> str:
    """A teh marbuta that the stemmer left becomes heh."""
    return stem.replace("ة", "ه")


def fold_persian(text: str) -> str:
    """Arabic letters as Persian ones, no tatweel, no vowel signs; a half-space (ZWNJ) parts words."""
    return fold(text.replace("\u200c", " "), PERSIAN)


# Languages


@dataclass(frozen=True)
class Language:
    """What is particular to a language: ISO code, scripts, normal form, words, elided articles, what happens to a stem."""

    code: str
    scripts: tuple[str, ...] = ("latin",)
    fold: Callable[[str], str] = fold
    words: re.Pattern[str] = WHOLE_WORD
    elided: tuple[str, ...] = ()
    finish: Callable[[str], str] | None = None


# Elided words: those of Lucene's French, Italian, Catalan and Irish analyzers.
FRENCH_ELIDED = ("l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu")
ITALIAN_ELIDED = (
    *("c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl"),
    *("un", "m", "t", "s", "v", "d"),
)
LANGUAGES: dict[str, Language] = {
    "arabic": Language("ar", ("arabic",), fold_arabic, finish=finish_arabic),
    "armenian": Language("hy", ("armenian",)),
    "basque": Language("eu"),
    "catalan": Language("ca", fold=fold_apostrophes, words=WITH_DOT, elided=("d", "l", "m", "n", "s", "t"), finish=drop_accents),
    "czech": Language("cs"),
    "danish": Language("da"),
    "dutch": Language("nl"),
    "esperanto": Language("eo"),
    "estonian": Language("et"),
    "finnish": Language("fi"),
    "french": Language("fr", fold=fold_apostrophes, words=WITH_APOSTROPHE, elided=FRENCH_ELIDED, finish=drop_accents),
    "german": Language("de"),
    "greek": Language("el", ("greek",), fold_greek),
    "hindi": Language("hi", ("devanagari",), fold_hindi),
    "hungarian": Language("hu"),
    "indonesian": Language("id"),
    "irish": Language("ga", fold=fold_irish, words=WITH_APOSTROPHE, elided=("d", "m", "b")),
    "italian": Language("it", fold=fold_apostrophes, words=WITH_APOSTROPHE, elided=ITALIAN_ELIDED, finish=drop_accents),
    "lithuanian": Language("lt"),
    "nepali": Language("ne", ("devanagari",)),
    "norwegian": Language("no"),
    "persian": Language("fa", ("arabic",), fold_persian),
    "polish": Language("pl"),
    "portuguese": Language("pt", finish=drop_accents),
    "romanian": Language("ro", fold=fold_romanian),
    "russian": Language("ru", ("cyrillic",), fold_russian),
    "serbian": Language("sr", ("latin", "cyrillic"), fold_serbian),
    "sesotho": Language("st"),
    "spanish": Language("es", finish=drop_accents),
    "swedish": Language("sv"),
    "tamil": Language("ta", ("tamil",)),
    "turkish": Language("tr", fold=fold_turkish, words=BEFORE_APOSTROPHE),
    "yiddish": Language("yi", ("hebrew",)),
}
CODES = {language.code: name for name, language in LANGUAGES.items()} | {"en": "english", "zh": "cjk", "ja": "cjk", "ko": "cjk"}


def split_words(text: str, language: Language) -> Iterator[str]:
    """The words of a text in the language's normal form, without elided articles: `l'eau` gives `eau`."""
    for word in language.words.findall(language.fold(text)):
        while language.elided:
            head, apostrophe, tail = word.partition("'")
            if not apostrophe or head not in language.elided:
                break
            word = tail
        yield word


def stop_words(name: str) -> frozenset[str]:
    """The language's stop words in its normal form, with the articles that it elides."""
    language = LANGUAGES[name]
    return frozenset(word for text in STOP_WORDS[name].split() for word in split_words(text, language)) | set(language.elided)


def make_language(name: str) -> Analyze:
    """The analyzer of a language of Snowball's."""
    import Stemmer

    language, stopped, stemmer = LANGUAGES[name], stop_words(name), Stemmer.Stemmer(name)
    finish = language.finish or str

    def analyze_language(text: str) -> list[str]:
        stems = stemmer.stemWords([word for word in split_words(text, language) if word not in stopped])
        return [token for token in map(finish, stems) if token]

    return analyze_language


# The others


def analyze_simple(text: str) -> list[str]:
    """Lower-cased `\\w+`, nothing else."""
    return WORD.findall(text.lower())


def analyze_whitespace(text: str) -> list[str]:
    """What stands between white space, as it is."""
    return text.split()


def make_english() -> Analyze:
    """NFKC, case folding, `\\w+`, stop words out, Snowball's English stemmer."""
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def analyze_english(text: str) -> list[str]:
        words = WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        return cast("list[str]", stemmer.stemWords([word for word in words if word not in ENGLISH_STOP_WORDS]))

    return analyze_english


def analyze_cjk(text: str) -> list[str]:
    """Bigrams of each run of CJK characters (a run of one stays one), other words whole; NFKC and case folding."""
    tokens: list[str] = []
    for match in CJK_OR_WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run, word = match.groups()
        if word is not None:
            tokens.append(word)
        else:
            tokens.extend([run[i : i + 2] for i in range(len(run) - 1)] or [run])
    return tokens


def analyze_code(text: str) -> list[str]:
    """Names whole and in their parts, in lower case: `HTTPServerError` gives httpservererror, http, server and error.

    A name may have dots, hyphens, underscores and double colons inside.
    """
    tokens: list[str] = []
    for name in NAME.findall(unicodedata.normalize("NFKC", text)):
        parts = [folded for piece in re.split(r"[._:-]+", name) for part in split_case(piece) if (folded := fold(part))]
        whole = fold(name)
        if parts:
            tokens += [whole] if parts == [whole] else [whole, *parts]
    return tokens


def split_case(name: str) -> list[str]:
    """Parts of a name without separators: cut before a capital that follows a small letter or ends a run of capitals, and
    between letters and digits.
    """
    parts, start = [], 0
    for i in range(1, len(name)):
        last, this, following = name[i - 1], name[i], name[i + 1 : i + 2]
        hump = this.isupper() and (last.islower() or (last.isupper() and following.islower()))
        if hump or (last.isdigit() != this.isdigit() and not unicodedata.combining(this)):
            parts.append(name[start:i])
            start = i
    return [part for part in [*parts, name[start:]] if part]


def _made(analyze: Analyze) -> Callable[[], Analyze]:
    return lambda: analyze


def _made_of(name: str) -> Callable[[], Analyze]:
    return lambda: make_language(name)


ANALYZERS: dict[str, Callable[[], Analyze]] = {
    "simple": _made(analyze_simple),
    "english": make_english,
    "cjk": _made(analyze_cjk),
    "whitespace": _made(analyze_whitespace),
    "code": _made(analyze_code),
    **{name: _made_of(name) for name in LANGUAGES},
}


def make_analyzer(name: str) -> Analyze:
    """The one function that turns documents and prompts into tokens; the names are those of ANALYZERS."""
    return ANALYZERS[name]()


def library_version(name: str) -> str:
    """What this analyzer's tokens depend on besides its name: libraries, this module's rules, the stop words."""
    import importlib.metadata

    if name in ("simple", "cjk"):
        return ""
    stemmer = importlib.metadata.version("PyStemmer")
    if name == "english":
        return stemmer
    rules = f"rules {RULES}, unicode {unicodedata.unidata_version}"
    if name not in LANGUAGES:
        return rules
    stopped = hashlib.sha256("\n".join(sorted(stop_words(name))).encode()).hexdigest()
    return f"{rules}, PyStemmer {stemmer}, stop words {stopped}"
