"""Analyzers: what becomes a token, by language and name; and the warning where an analyzer does not fit the texts.

Real collections are read from the folder that HARNESS_COLLECTIONS names, in BEIR layout; without it those tests skip.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.analyzers import (
    ANALYZERS,
    CODES,
    LANGUAGES,
    Analyze,
    analyze_code,
    analyze_simple,
    drop_accents,
    library_version,
    make_analyzer,
    split_words,
    stop_words,
)
from harness.blocks import Keyword
from harness.config import parse_config
from harness.errors import HarnessError
from harness.files import read_corpus
from harness.keyword import index_key
from harness.languages import CJK_SHARE, ENOUGH, FEW, SAMPLE, UNFIT, look_at, say_unfit
from harness.stopwords import STOP_WORDS

ROOT = Path(__file__).parents[1]
MADE: dict[str, Analyze] = {name: make_analyzer(name) for name in ANALYZERS}


def tokens(name: str, text: str) -> list[str]:
    return MADE[name](text)


# ---- names ----------------------------------------------------------------------------------------------------------


def test_every_language_of_snowball_has_an_analyzer_and_stop_words() -> None:
    """Of Snowball's names only older algorithms for two of the languages are left out."""
    assert set(LANGUAGES) == set(Stemmer.algorithms()) - {"english", "porter", "dutch_porter"}
    assert set(STOP_WORDS) == {*LANGUAGES, "english"}
    assert len(CODES) == len(LANGUAGES) + 4


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("frensh", "nearest: french"),
        ("Persian", "nearest: persian"),
        ("fa", "nearest: persian"),
        ("pt-BR", "nearest: portuguese"),
        ("zh_CN", "nearest: cjk"),
        ("klingon", "known: simple, english, cjk, whitespace, code, arabic, armenian"),
        (3, "known: simple"),
    ],
)
def test_an_unknown_analyzer_is_refused_with_the_nearest(name: object, advice: str) -> None:
    with pytest.raises(HarnessError, match=r"keyword\.analyzer: must be the name of an analyzer, got") as caught:
        parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "keyword": {"analyzer": name}})
    assert advice in str(caught.value)


# ---- words and stems of the languages -------------------------------------------------------------------------------

# From the vocabularies that the Snowball project publishes with its algorithms, accents dropped where the analyzer does.
VOCABULARY = {
    "danish": "indtage indtag · indtagelse indtag · undersøgelser undersøg · undersøgte undersøg · undersøiske undersøisk",
    "dutch": "opglimpende opglimp · huizen huis · lichaam lichaam",
    "finnish": "edeltäneiden edeltän · innostuneisuuden innostuneisuud · edustaa edust",
    "french": "continua continu · continuait continu · continuation continu · majestueusement majestu · mangeaient mang",
    "german": "aufeinanderfolgen aufeinanderfolg · kategorischen kategor · bücher buch · blüten blut · brüderlich brud",
    "greek": "θάλασσας θαλασσ · μητέρα μητερ · μητέρες μητερ · λόγος λογ",
    "hungarian": "babaháznak babaház · babakocsi babakocs · születik szület",
    "italian": "abbandonata abbandon · abbandonerò abbandon · pronuncerà pronunc · pronunciamento pronunc · propongono propong",
    "norwegian": "havnedistriktene havnedistrikt · havneeffekter havneeffekt · opninga opning",
    "persian": "کتابها کتاب · بزرگترین بزرگ",
    "polish": "książkami książk · domami dom",
    "portuguese": "quilométricas quilometr · químicos quimic · quietos quiet · bobo bob",
    "romanian": "abruptă abrupt · absurdități absurd · ocolea ocol",
    "russian": "важная важн · важнейшие важн · падали пада · падающего пада",
    "spanish": "chicas chic · chicharrones chicharron · torneado torn · torear tor",
    "swedish": "jaktkarlarne jaktkarl · klostergården klostergård · kloster klost",
    "turkish": "kitapları kitap · evlerinden ev",
}


@pytest.mark.parametrize("language", VOCABULARY)
def test_words_of_the_published_vocabularies(language: str) -> None:
    for pair in VOCABULARY[language].split(" · "):
        word, stem = pair.split()
        upper = word.upper() if language != "turkish" else word.replace("i", "İ").upper()
        assert tokens(language, word) == tokens(language, upper) == [stem]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("french", "L’employeur, l'accès et jusqu'à l’eau", "employeur acces eau"),  # both apostrophes
        ("french", "aujourd'hui quelqu’un d'aujourd’hui", "aujourd'hui quelqu'un aujourd'hui"),  # part of the word
        ("french", "Qu'est-ce que c'est ?", ""),
        ("italian", "dell'acqua, un’altra; c'è L'AMICO", "acqua altra amic"),
        ("catalan", "l'estimació d’avui col·lecció COĿLECCIÓ", "estim avu col.lec col.lec"),
        ("irish", "an tAthair, n-athair d'fhear", "athair athair fear"),
        ("turkish", "İSTANBUL'da IŞIK ışık İzmir’in izmir", "istanbul ışık ışık izmir izmir"),
        ("turkish", "I\u0307zmir i\u0307zmir", "izmir izmir"),  # a dot of its own
        ("german", "Straße STRASSE Fuß FUSS Häuser Haeuser", "strass strass fuss fuss haus haus"),
        ("greek", "ΣΟΦΌΣ σοφός ΣΟΦΟΣ σοφοσ", "σοφ σοφ σοφ σοφ"),  # accents and the final sigma
        ("russian", "Ёлка елка", "елк елк"),
        ("romanian", "ştiinţă știință", "științ științ"),  # cedilla and comma
        ("serbian", "Љубав ljubav Кућа kuća", "ljubav ljubav kuć kuć"),
        ("spanish", "año ano", "año ano"),  # ñ is a letter
        ("hindi", "हिन्दी लड़कियाँ लडकियां १२", "हिन्द लडक लडक 12"),  # vowel signs inside words; nukta, chandrabindu
        ("tamil", "மரங்கள்", "மரங்"),
        ("persian", "كتابي کتابی", "کتابی کتابی"),  # yeh and kaf
        ("persian", "کتاب‌ها می‌خوانم", "کتاب خوانم"),  # half-spaces part words
        ("persian", "آبِ خانـــه خانۀ خانة", "اب خانه خانه خانه"),
        ("persian", "۱۲۳ ٤٥٦ 789", "123 456 789"),
        ("arabic", "مُدَرِّس مدرس", "مدرس مدرس"),
        ("arabic", "إسلام أسلام اسلام الإسلام", "اسلام اسلام اسلام اسلام"),
        ("arabic", "المدرسة مدرسة مدرسه", "مدرس مدرس مدرس"),
        ("arabic", "مستشفى مستشفي ١٢", "مستشف مستشف 12"),
        ("yiddish", "ייִדישע ייִדיש", "ייד ייד"),
        ("nepali", "घरहरु घर", "घर घर"),
        ("polish", "żółw", "żółw"),  # its letters stay
    ],
)
def test_what_a_language_needs(language: str, text: str, expected: str) -> None:
    assert tokens(language, text) == expected.split()


@pytest.mark.parametrize("language", LANGUAGES)
def test_stop_words_leave_however_they_are_written(language: str) -> None:
    words = STOP_WORDS[language].split()
    upper = str.upper if language != "turkish" else lambda word: word.replace("i", "İ").upper()
    assert tokens(language, " ".join(words)) == []
    assert tokens(language, " ".join(map(upper, words))) == []
    assert tokens(language, unicodedata.normalize("NFD", " ".join(words))) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_stop_words_are_single_words_in_normal_form(language: str) -> None:
    rules = LANGUAGES[language]
    for word in stop_words(language):
        assert word == rules.fold(word)
        assert re.fullmatch(r"\S+", word)


@pytest.mark.parametrize("language", [name for name in LANGUAGES if LANGUAGES[name].finish is drop_accents])
def test_accents_make_no_difference_between_prompt_and_document(language: str) -> None:
    """Where accents are dropped, a stem without accents is met by the stem with them; the stemmer has seen them."""
    assert all(token == drop_accents(token) for word in STOP_WORDS[language].split() for token in MADE[language](f"x{word}"))
    assert tokens("french", "réseau") == tokens("french", "reseau") == ["reseau"]
    assert tokens("french", "sécurité") != tokens("french", "securite")  # a suffix has to have its accent


# Person, name, value, first, new, good; then words that mean something besides what makes them look like stop words.
WITH_CONTENT = {
    "arabic": "شخص اسم قيمة أول جديد جيد أم إمام آية نحو مثل نفس وهم",
    "armenian": "մարդ անուն արժեք առաջին նոր լավ մեկ",
    "basque": "pertsona izen balio lehen berri on hiri zuri arte hari",
    "catalan": "persona nom valor primer nou bo estat poder cap mes món seu te vers",
    "czech": "osoba jméno hodnota první nový dobrý místo",
    "danish": "person navn værdi første ny god have vært",
    "dutch": "persoon naam waarde eerste nieuw goed weer",
    "english": "person name value first new good",
    "esperanto": "persono nomo valoro unua nova bona",
    "estonian": "isik nimi väärtus esimene uus hea või meil",
    "finnish": "henkilö nimi arvo ensimmäinen uusi hyvä voi kuusi teillä",
    "french": "personne nom valeur premier nouveau bon été sommes avions pouvoir",
    "german": "person name wert erste neu gut",
    "greek": "πρόσωπο όνομα αξία πρώτος νέος καλός μέσα δίκη",
    "hindi": "व्यक्ति नाम मूल्य पहला नया अच्छा कर मत पास",
    "hungarian": "személy név érték első új jó fog bár",
    "indonesian": "orang nama nilai pertama baru baik agar guna",
    "irish": "duine ainm luach céad nua maith óir trí",
    "italian": "persona nome valore primo nuovo buono stato sei potere",
    "lithuanian": "asmuo vardas vertė pirmas naujas geras",
    "nepali": "व्यक्ति नाम मूल्य पहिलो नयाँ राम्रो",
    "norwegian": "person navn verdi første ny god vert",
    "persian": "شخص نام ارزش اول جدید خوب کرد توان تنها روی آش",
    "polish": "osoba nazwa wartość pierwszy nowy dobry",
    "portuguese": "pessoa nome valor primeiro novo bom estado poder",
    "romanian": "persoană nume valoare primul nou bun mai noi nouă",
    "russian": "человек имя значение первый новый хороший",
    "serbian": "osoba ime vrednost prvi nov dobar oko kod pod mora",
    "sesotho": "motho lebitso boleng pele ncha molemo bona",
    "spanish": "persona nombre valor primero nuevo bueno estado poder bajo",
    "swedish": "person namn värde första ny god man vara",
    "tamil": "நபர் பெயர் மதிப்பு முதல் புதிய நல்ல",
    "turkish": "kişi ad değer ilk yeni iyi zaman",
    "yiddish": "מענטש נאָמען ווערט ערשט נײַ גוט לעבן זײַט",
}


@pytest.mark.parametrize("language", STOP_WORDS)
def test_words_with_a_meaning_are_no_stop_words(language: str) -> None:
    """A search for them has to work."""
    words = WITH_CONTENT[language].split()
    assert not set(words) & set(STOP_WORDS[language].split())
    assert all(tokens(language, word) for word in words)


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_stand_once_and_in_order(language: str) -> None:
    words = STOP_WORDS[language].split()
    assert words == sorted(set(words))
    assert all(word == unicodedata.normalize("NFC", word) == word.lower() for word in words)


def stem_in_python(language: str) -> Callable[[list[str]], list[str]]:
    module = importlib.import_module(f"snowballstemmer.{language}_stemmer")
    stem: Callable[[list[str]], list[str]] = getattr(module, f"{language.title()}Stemmer")().stemWords
    return stem


def read_texts(name: str) -> list[str]:
    root = os.environ.get("HARNESS_COLLECTIONS")
    if root is None:
        pytest.skip("HARNESS_COLLECTIONS names no folder of real collections")
    return list(read_corpus(Path(root) / name / "corpus.jsonl")[1])


@pytest.mark.parametrize("language", [*LANGUAGES, "english"])
def test_snowballs_other_implementation_gives_the_same_stems(language: str) -> None:
    words = sorted({form for word in STOP_WORDS[language].split() for form in (word, f"{word}{word}")})
    assert Stemmer.Stemmer(language).stemWords(words) == stem_in_python(language)(words)


@pytest.mark.parametrize(("collection", "language"), [("faq_fr", "french"), ("reading_fa", "persian"), ("cacm", "english")])
def test_snowballs_other_implementation_gives_the_same_stems_of_a_corpus(collection: str, language: str) -> None:
    texts = read_texts(collection)
    if language in LANGUAGES:
        words = sorted({word for text in texts for word in split_words(text, LANGUAGES[language])})
    else:
        words = sorted({word for text in texts for word in analyze_simple(text)})
    assert len(words) > 5000
    assert Stemmer.Stemmer(language).stemWords(words) == stem_in_python(language)(words)


# ---- code, white space ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServerError", "httpservererror http server error"),
        ("getURLFor2Users", "geturlfor2users get url for 2 users"),
        ("snake_case_name", "snake_case_name snake case name"),
        ("my-flag", "my-flag my flag"),
        ("os.path.join(x)", "os.path.join os path join x"),
        ("std::vector<int>", "std::vector std vector int"),
        ("utf8 v2.1", "utf8 utf 8 v2.1 v 2 1"),
        ("__init__", "__init__ init"),
        ("The end.", "the end"),
        ("MAX_VALUE MaxValue", "max_value max value maxvalue max value"),
        ("éÉcole", "éécole é école"),
        ("_ -- ::", ""),
    ],
)
def test_names_of_code_stay_whole_and_come_apart(text: str, expected: str) -> None:
    assert analyze_code(text) == expected.split()


def test_white_space_is_all_that_whitespace_looks_at() -> None:
    assert tokens("whitespace", " SKU-1/a  été\n\tETE ") == ["SKU-1/a", "été", "ETE"]


# ---- invariants -----------------------------------------------------------------------------------------------------

LETTERS = "aAàÉèçñßİIıijŞşţЁёљЉαάΣςאִ֗अं़ँकि்தமيىیكکةۀآأـًچ0۳٤१'’·-._: \n\u200c\u200d\u00ad"
TEXTS = st.one_of(st.text(max_size=30), st.text(alphabet=LETTERS, max_size=30))


@pytest.mark.parametrize("name", ANALYZERS)
@given(text=TEXTS)
def test_tokens_are_neither_empty_nor_hold_white_space(name: str, text: str) -> None:
    """The index keeps its terms separated by newlines."""
    assert all(token and not any(character.isspace() for character in token) for token in MADE[name](text))


@pytest.mark.parametrize("name", sorted(set(ANALYZERS) - {"simple", "whitespace"}))
@given(text=TEXTS)
def test_composed_and_decomposed_texts_give_the_same_tokens(name: str, text: str) -> None:
    """`simple` and `whitespace` promise to change nothing but case."""
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert MADE[name](composed) == MADE[name](decomposed) == MADE[name](text)


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=TEXTS)
def test_the_normal_form_of_a_normal_form_is_itself(language: str, text: str) -> None:
    folded = LANGUAGES[language].fold(text)
    assert LANGUAGES[language].fold(folded) == folded


@given(text=TEXTS)
def test_simple_and_whitespace_leave_their_own_tokens_alone(text: str) -> None:
    for name in ("simple", "whitespace"):
        once = MADE[name](text)
        if name == "whitespace" or text.lower() == text.lower().lower():
            assert MADE[name](" ".join(once)) == once


# ---- the index key --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["simple", "english", "cjk"])
def test_the_keys_of_the_first_analyzers_stay_what_they_were(name: str) -> None:
    stemmer = importlib.metadata.version("PyStemmer") if name == "english" else ""
    parts = ["keyword 2", "corpus", name, stemmer, "okapi", 0.25, importlib.metadata.version("rank-bm25")]
    assert index_key("corpus", Keyword(analyzer=name)) == hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def test_the_key_of_a_language_depends_on_its_library_and_its_stop_words(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: index_key("corpus", Keyword(analyzer=name)) for name in ANALYZERS}
    assert len(set(before.values())) == len(ANALYZERS)
    assert importlib.metadata.version("PyStemmer") in library_version("french")
    assert library_version("code") == library_version("whitespace") != ""
    monkeypatch.setitem(STOP_WORDS, "french", STOP_WORDS["french"] + " bonjour")
    changed = {name for name in ANALYZERS if index_key("corpus", Keyword(analyzer=name)) != before[name]}
    assert changed == {"french"}


# ---- does the analyzer fit? -----------------------------------------------------------------------------------------

SENTENCES = {
    "arabic": "هذا هو الكتاب الذي قرأته في المدرسة، وقد كان من أفضل الكتب التي رأيتها في ذلك الوقت",
    "armenian": "Սա այն տունն է, որը իմ ծնողները գնել են, երբ ես փոքր էի, և նրանք դեռ ապրում են այնտեղ շան հետ",
    "basque": "Hau da nire gurasoek txikia nintzenean erosi zuten etxea, eta oraindik han bizi dira beren txakurrarekin",
    "catalan": "Aquesta és la casa que els meus pares van comprar quan jo era petit, i encara hi viuen amb el gos",
    "cjk": "这是我去年在北京买的书，现在我每天晚上都看。",
    "czech": "To je dům, který moji rodiče koupili, když jsem byl malý, a ještě v něm bydlí se psem",
    "dutch": "Dit is het huis dat mijn ouders hebben gekocht toen ik klein was, en zij wonen er nog met de hond",
    "english": "This is the house that my parents bought when I was small, and they still live in it with the dog",
    "finnish": "Tämä on se talo, jonka vanhempani ostivat kun olin pieni, ja he ovat siinä koiran kanssa niin kuin minä",
    "french": "C’est la maison que mes parents ont achetée quand j’étais petit, et ils y vivent avec le chien",
    "german": "Das ist das Haus, das meine Eltern gekauft haben, als ich klein war, und sie wohnen noch mit dem Hund darin",
    "greek": "Αυτό είναι το σπίτι που αγόρασαν οι γονείς μου όταν ήμουν μικρός, και μένουν ακόμα εκεί με τον σκύλο",
    "hindi": "यह वह घर है जो मेरे माता पिता ने खरीदा था जब मैं छोटा था और वे अभी भी कुत्ते के साथ रहते हैं",
    "hungarian": "Ez az a ház, amelyet a szüleim vettek, amikor még kicsi voltam, és most is ott laknak a kutyával",
    "italian": "Questa è la casa che i miei genitori hanno comprato quando ero piccolo, e ci vivono ancora con il cane",
    "nepali": "यो त्यो घर हो जुन मेरा आमाबुबाले म सानो हुँदा किनेका थिए र उनीहरू अझै पनि कुकुरसँग त्यहाँ बस्छन्",
    "norwegian": "Dette er huset som foreldrene mine kjøpte da jeg var liten, og de bor der ennå med hunden etter hva jeg vet",
    "persian": "این خانه‌ای است که پدر و مادرم وقتی من کوچک بودم خریدند و هنوز با سگ در آن زندگی می‌کنند",
    "polish": "To jest dom, który moi rodzice kupili, kiedy byłem mały, i jeszcze w nim mieszkają z psem",
    "portuguese": "Esta é a casa que os meus pais compraram quando eu era pequeno, e eles ainda moram nela com o cão",
    "russian": "Это тот дом, который мои родители купили, когда я был маленьким, и они все еще живут в нем с собакой",
    "serbian": "То је кућа коју су моји родитељи купили када сам био мали, и они још увек живе у њој са псом, у граду и ће",
    "sesotho": "Ena ke ntlo eo batswadi ba ka ba e rekileng ha ke ne ke le monyane, mme ba ntse ba dula ho yona le ntja",
    "spanish": "Esta es la casa que mis padres compraron cuando yo era pequeño, y ellos todavía viven en ella con el perro",
    "swedish": "Detta är huset som mina föräldrar köpte när jag var liten, och de bor där ännu med hunden",
    "turkish": "Bu, ben küçük bir çocuk iken onun için çok para veren babamın evi, ve o da daha sonra bize ne var diye sordu",
}
PAIRS = [(text, analyzer) for text in SENTENCES for analyzer in SENTENCES if text != analyzer]


@pytest.mark.parametrize("language", SENTENCES)
def test_scripts_and_stop_words_tell_the_language(language: str) -> None:
    assert look_at([SENTENCES[language]] * 3).language == language
    assert say_unfit([SENTENCES[language]] * 30, language) is None


@pytest.mark.parametrize(("text", "analyzer"), PAIRS)
def test_an_analyzer_for_another_language_is_called_unfit(text: str, analyzer: str) -> None:
    said = say_unfit([SENTENCES[text]] * 30, analyzer)
    assert said is not None and said.startswith(f"keyword.analyzer is {analyzer}, and in the documents ")
    assert said.endswith(f": {text} looks like the better choice")


@pytest.mark.parametrize("analyzer", ["simple", "whitespace", "code"])
@pytest.mark.parametrize("language", SENTENCES)
def test_what_knows_no_language_is_unfit_only_without_spaces(language: str, analyzer: str) -> None:
    assert (say_unfit([SENTENCES[language]] * 30, analyzer) is None) == (language != "cjk")


@pytest.mark.parametrize(
    "text",
    [
        "Ukrainian: це будинок який мої батьки купили коли я був маленьким і вони все ще живуть у ньому з собакою",
        "Това е къщата която моите родители купиха когато бях малък и те все още живеят в нея с кучето",
        "זה הבית שההורים שלי קנו כשהייתי קטן והם עדיין גרים בו עם הכלב",
        "یہ وہ گھر ہے جو میرے والدین نے خریدا تھا جب میں چھوٹا تھا اور وہ اب بھی کتے کے ساتھ رہتے ہیں",
        "SKU-1234 bolt M6x20 A2 DIN933 zinc SKU-1235 nut M6 DIN934",
        "",
    ],
)
def test_a_language_without_an_analyzer_is_taken_for_none(text: str) -> None:
    assert look_at([text] * 3).language is None
    assert say_unfit([text] * 30, "simple") is None


def test_too_little_text_says_nothing() -> None:
    assert say_unfit([], "german") is None
    few = SENTENCES["english"]
    assert len(few) < FEW and say_unfit([few], "german") is None


def test_a_mixed_corpus_is_judged_by_its_letters() -> None:
    texts = [SENTENCES["cjk"], SENTENCES["english"]] * 30
    assert look_at(texts).scripts["unspaced"] == pytest.approx(20 / (20 + 78), abs=0.05)
    assert "Chinese or Japanese" in (say_unfit([SENTENCES["cjk"] * 2, SENTENCES["english"]] * 30, "english") or "")
    assert say_unfit([SENTENCES["english"]] * 29 + [SENTENCES["cjk"]], "english") is None
    korean = ["이것은 제가 작년에 서울에서 산 책입니다" * 2, SENTENCES["english"]] * 30  # written with spaces
    assert look_at(korean).language == "cjk" and say_unfit(korean, "english") is say_unfit(korean, "simple") is None


def test_the_handbook_and_its_analyzer_fit() -> None:
    texts = read_corpus(ROOT / "corpora/handbook/corpus.jsonl")[1]
    assert look_at(texts).language == "english"
    for analyzer in ("english", "simple", "whitespace", "code"):
        assert say_unfit(texts, analyzer) is None
    assert "english looks like" in (say_unfit(texts, "german") or "")


@pytest.mark.parametrize(
    ("name", "analyzer"),
    [
        *((name, "english") for name in ("rag_docs", "cranfield", "medline", "cacm")),
        ("faq_fr", "french"),
        ("reading_fa", "persian"),
    ],
)
def test_real_collections_and_their_analyzers_fit(name: str, analyzer: str) -> None:
    texts = read_texts(name)
    assert look_at(texts).language == analyzer
    assert say_unfit(texts, analyzer) is None and say_unfit(texts, "simple") is None
    assert f": {analyzer} looks like" in (say_unfit(texts, "german") or "")


def test_a_study_says_that_its_analyzer_does_not_fit(write_config: Callable[..., Path], tmp_path: Path) -> None:
    """The warning reaches the study; with the right analyzer there is none."""
    words = [SENTENCES["german"], "Ich habe keine Zeit für das, was sie mir über den Hund und die Katze erzählt hat"]
    corpus = "".join(json.dumps({"_id": f"d{i:02}", "text": f"{words[i % 2]} {i}"}) + "\n" for i in range(24))
    (tmp_path / "corpus.jsonl").write_text(corpus)
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "Haus 2"}) + "\n")
    (tmp_path / "qrels.tsv").write_text("q\td02\t1\n")
    files = {name: str(tmp_path / file) for name, file in (("corpus", "corpus.jsonl"), ("queries", "queries.jsonl"))}
    said = {}
    for analyzer in ("french", "german"):
        path = write_config(collection={**files, "qrels": str(tmp_path / "qrels.tsv")}, keyword={"analyzer": analyzer})
        said[analyzer] = " ".join(harness.evaluate(path).warnings)
    assert "keyword.analyzer is french" in said["french"] and "german looks like the better choice" in said["french"]
    assert "looks like the better choice" not in said["german"]


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_page_names_every_analyzer_code_and_share() -> None:
    page = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    named = {row[0].strip("`"): row for row in rows}
    assert set(ANALYZERS) <= set(named)
    assert {name: named[name][1] for name in LANGUAGES} == {name: language.code for name, language in LANGUAGES.items()}
    accents = {name for name in LANGUAGES if "accents dropped" in named[name][2]}
    assert accents == {name for name, language in LANGUAGES.items() if language.finish is drop_accents}
    elided = {name for name in LANGUAGES if "elided" in named[name][2]}
    assert elided == {name for name, language in LANGUAGES.items() if language.elided}
    text = " ".join(page.split())
    assert f"about {SAMPLE:,} documents" in text and f"below {FEW} letters" in text
    assert (
        f"at least {CJK_SHARE:.0%}".replace("%", " %") in text
        and f"at least {ENOUGH:.0%} of the words".replace("%", " %") in text
    )
    assert UNFIT == 2 and "twice the share" in text
