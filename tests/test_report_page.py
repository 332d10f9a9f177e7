"""The report in a browser: drawn without a network, usable by keyboard, on a phone and on paper, and deaf to hostile texts."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import HEIGHT, NARROW, WIDE, Browser, check_page
from conftest import ROOT
from test_report import HOSTILE, LIMIT, Page, tune, write_hostile

import harness
from harness.commands.report import find
from harness.findings import Findings
from harness.prepare import Prepared

COLUMNS = ["text", "group", "relevant", "kept", "pick", "difference"]
PAGE_STEP = 100  # rows of the table of prompts at first


@dataclass(frozen=True)
class Shown:
    """A page, what it embeds, and the study that it shows."""

    path: Path
    study: Path
    data: Any
    figures: Any
    findings: Findings
    prepared: Prepared

    @property
    def prompts(self) -> list[dict[str, Any]]:
        return self.data["prompts"]  # type: ignore[no-any-return]


def shown(path: Path, study: Path) -> Shown:
    page = Page(path)
    _, findings, prepared = find(study)
    return Shown(path, study, page.data, page.figures, findings, prepared)


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The report of the committed study over the handbook: 168 prompts with their texts."""
    path = tmp_path_factory.mktemp("handbook") / "report.html"
    with contextlib.chdir(ROOT):
        harness.report("reference", out=path)
        return shown(path, Path("studies/reference"))


@pytest.fixture(scope="module")
def big(big_study: Path) -> Shown:
    return shown(big_study / "report.html", big_study)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Shown:
    """A study whose every text tries to become something else."""
    place = tmp_path_factory.mktemp("hostile")
    with contextlib.chdir(place):
        folder = tune(LIMIT, write_hostile(place / "data", HOSTILE), cache).folder.absolute()
    return shown(folder / "report.html", folder)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Path:
    place = tmp_path_factory.mktemp("comparison")
    with contextlib.chdir(place):
        for name, analyzer in (("first", "simple"), ("second", "english")):
            tune(name, garden, cache, keyword={"analyzer": analyzer})
        harness.report("first", "second")
    return place / "comparison.html"


@pytest.fixture(scope="module")
def pareto(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Path:
    place = tmp_path_factory.mktemp("pareto")
    with contextlib.chdir(place):
        search = {"trials": 8, "sampler": "nsgaii", "space": {"semantic_weight": {"low": 0.0, "high": 1.0}}}
        tune("pareto", garden, cache, objective=["MAP@5", "Recall@3"], search=search)
    return place / "studies/pareto/report.html"


def opened(browser: Browser, path: Path, **how: Any) -> Browser:
    browser.open(path, **how)
    browser.wait("document.documentElement.dataset.ready")
    return browser


def draw_all(browser: Browser) -> None:
    """Every chart; from then on nothing on the page moves by itself, and a click finds what it aims at."""
    browser.scroll_through()
    browser.wait("[...document.querySelectorAll('.chart')].every((place) => place.querySelector('svg.main-svg'))")
    browser.settle()


def rows(browser: Browser) -> list[list[str]]:
    """The cells of the prompts that are shown, the first one being the id."""
    found = browser.run(
        "return [...document.querySelectorAll('#prompt-table tbody tr:not(.detail)')].map((line) =>"
        " [...line.children].map((cell, i) => i ? cell.textContent : (cell.querySelector('.id') || cell).textContent))"
    )
    return [list(row) for row in found]


def ids(browser: Browser) -> list[str]:
    return [row[0] for row in rows(browser)]


def choose(browser: Browser, field: str, value: str) -> None:
    """A value for a field, as a person's typing or choosing tells the page."""
    browser.run(
        "const [id, value] = arguments, field = document.getElementById(id); field.value = value;"
        "field.dispatchEvent(new Event(field.id === 'target' ? 'change' : 'input', {bubbles: true}))",
        field,
        value,
    )


# ---- drawn ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["handbook", "big"])
def test_the_page_is_there_at_once_and_asks_nobody(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page: Shown = request.getfixturevalue(name)
    assert page.path.stat().st_size < 10e6
    browser.open(page.path)
    assert browser.paints()["first-contentful-paint"] < 2000  # docs promise that a person never waits for it
    browser.wait("document.documentElement.dataset.ready")
    browser.unfold()
    draw_all(browser)
    charts = set(page.figures)
    drawn = browser.run(
        "return [...document.querySelectorAll('.chart')].filter((c) => c.querySelector('svg.main-svg')).map((c) => c.id)"
    )
    assert set(drawn) == {f"figure-{chart}" for chart in charts} and len(charts) >= 7
    assert browser.errors() == []
    assert browser.requests() == [page.path.resolve().as_uri()]


def test_a_chart_is_drawn_only_when_it_comes_near(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    browser.wait("document.querySelector('#figure-curve svg.main-svg')")
    assert not browser.run("return document.querySelector('#figure-groups svg')")
    browser.run("document.getElementById('figure-groups').scrollIntoView({behavior: 'instant'})")
    browser.wait("document.querySelector('#figure-groups svg.main-svg')")


def test_a_chart_shows_the_numbers(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    draw_all(browser)
    for name, figure in handbook.figures.items():
        got = browser.run(
            "return document.getElementById('figure-' + arguments[0]).data.map((t) => [t.x.length, t.y.length])", name
        )
        assert got == [[len(trace["x"]), len(trace["y"])] for trace in figure["data"]], name
    points = browser.run("return document.querySelectorAll('#figure-trade_off .trace.scatter .points path').length")
    assert points >= len(handbook.findings.trials)
    entries = browser.run(
        "return [...document.querySelectorAll('#curve ul.legend')].map((l) => [...l.children].map((e) => e.textContent))"
    )
    assert [mark["name"] for mark in handbook.figures["curve"]["data"] if mark.get("name")] == entries[0]


def test_two_objectives_in_a_browser(browser: Browser, pareto: Path) -> None:
    opened(browser, pareto)
    draw_all(browser)
    assert browser.run("return Boolean(document.querySelector('#figure-objectives svg'))")
    assert browser.errors() == [] and browser.foreign_requests() == []
    assert len(rows(browser)) == 12


# ---- the table of prompts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["handbook", "big"])
def test_every_column_sorts_both_ways(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page: Shown = request.getfixturevalue(name)
    opened(browser, page.path)
    draw_all(browser)
    by_id = {prompt["id"]: prompt for prompt in page.prompts}
    assert len(by_id) == len(page.prompts) == len(page.prepared.dataset.queries)
    assert (
        browser.run("return document.querySelector('[data-key=difference]').parentElement.getAttribute('aria-sort')")
        == "ascending"
    )
    for key in COLUMNS:
        seen = set()
        for _ in range(2):
            browser.click(f"#prompt-table [data-key={key}]")
            how = browser.run(
                "return [...document.querySelectorAll('#prompt-table th')].map((th) => th.getAttribute('aria-sort'))"
            )
            assert [sort for sort in how if sort != "none"] == [how[COLUMNS.index(key)]]
            seen.add(how[COLUMNS.index(key)])
            values = [by_id[prompt_id][key] for prompt_id in ids(browser)]
            everything = sorted((p[key] for p in page.prompts), reverse=how[COLUMNS.index(key)] == "descending")
            assert values == everything[:PAGE_STEP], (key, how)
        assert seen == {"ascending", "descending"}


def test_a_row_says_what_per_query_csv_says(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    by_id = {prompt["id"]: prompt for prompt in handbook.prompts}
    for prompt_id, group, relevant, kept, pick, difference in rows(browser):
        prompt = by_id[prompt_id]
        assert (group, relevant) == (prompt["group"], str(prompt["relevant"]))
        assert (kept, pick) == (f"{prompt['kept']:.4f}", f"{prompt['pick']:.4f}")
        assert float(difference.replace("−", "-")) == pytest.approx(prompt["difference"], abs=5.1e-5)
        assert difference[0] in ("+" if prompt["difference"] > 5e-5 else "−" if prompt["difference"] < -5e-5 else "0+−")


@pytest.mark.parametrize("name", ["handbook", "big"])
def test_search_and_filters_count_right(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page: Shown = request.getfixturevalue(name)
    opened(browser, page.path)
    total = len(page.prompts)

    def is_shown(wanted: Callable[[dict[str, Any]], bool]) -> None:
        expected = {prompt["id"] for prompt in page.prompts if wanted(prompt)}
        first = f"{min(len(expected), PAGE_STEP)} of {len(expected)} prompts shown"
        assert browser.text("#shown") == first + (f", {total} in all" if len(expected) < total else "")
        got = ids(browser)
        assert len(got) == min(len(expected), PAGE_STEP) and set(got) <= expected

    is_shown(lambda prompt: True)
    word = page.prompts[5]["text"].split()[0]
    choose(browser, "search", f"  {word.upper()} ")
    is_shown(lambda prompt: word.lower() in f"{prompt['id']} {prompt['text']}".lower())
    choose(browser, "search", page.prompts[7]["id"])
    is_shown(lambda prompt: page.prompts[7]["id"] in f"{prompt['id']} {prompt['text']}".lower())
    choose(browser, "search", "no such words anywhere")
    is_shown(lambda prompt: False)
    choose(browser, "search", "")
    group = page.prompts[3]["group"]
    choose(browser, "group", f"g:{group}")
    is_shown(lambda prompt: prompt["group"] == group)
    for outcome, sign in (("win", 1), ("loss", -1), ("tie", 0)):
        choose(browser, "outcome", outcome)
        is_shown(
            lambda prompt, sign=sign: prompt["group"] == group and (prompt["difference"] > 0) - (prompt["difference"] < 0) == sign
        )
    choose(browser, "group", "")
    is_shown(lambda prompt: prompt["difference"] == 0)
    options = browser.run("return [...document.querySelectorAll('#group option')].map((o) => o.textContent)")
    assert options == ["all", *sorted({prompt["group"] for prompt in page.prompts})]


def test_show_more_shows_all_in_the_end(browser: Browser, big: Shown) -> None:
    opened(browser, big.path)
    draw_all(browser)
    for count in (PAGE_STEP, 6 * PAGE_STEP, len(big.prompts)):
        assert len(ids(browser)) == count and browser.text("#shown") == f"{count} of {len(big.prompts)} prompts shown"
        if count < len(big.prompts):
            browser.click("#more")
    assert browser.run("return document.getElementById('more').hidden")
    assert set(ids(browser)) == {prompt["id"] for prompt in big.prompts}
    choose(browser, "outcome", "win")
    assert len(ids(browser)) == min(PAGE_STEP, sum(prompt["difference"] > 0 for prompt in big.prompts))


LISTS = """
const parts = ['.place', '.doc', '.badge', '.ranks'];
const line = arguments[0].closest('tr').nextElementSibling;
if (!line || !line.classList.contains('detail')) return null;
const items = (box) => [...box.querySelectorAll('li')].map((item) => parts.map((s) => item.querySelector(s).textContent));
const missed = line.querySelector('.missed');
return {lists: [...line.querySelectorAll('.lists > div')].map(items), missed: missed ? items(missed) : []};
"""


@pytest.mark.parametrize("name", ["handbook", "big"])
def test_an_open_prompt_shows_both_lists_as_found(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page: Shown = request.getfixturevalue(name)
    opened(browser, page.path)
    draw_all(browser)
    dataset, table = page.prepared.dataset, page.findings.prompts
    order = {query.query_id: q for q, query in enumerate(dataset.queries)}
    missing = next(i for i, missed in enumerate(table.missed) if missed)
    chosen = [*ids(browser)[:2], dataset.queries[missing].query_id]
    for prompt_id in chosen:
        choose(browser, "search", prompt_id)
        q = order[prompt_id]
        (button,) = browser.driver.find_elements("css selector", "#prompt-table .open")
        assert button.get_attribute("aria-expanded") == "false" and browser.run(LISTS, button) is None
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        found = browser.run(LISTS, button)
        rows_of = dataset.qrels.rows[q].tolist()
        grades = {row: int(grade) for row, grade in zip(rows_of, dataset.qrels.grades[q], strict=True) if row >= 0}

        def badge(row: int, grades: dict[int, int] = grades) -> str:
            grade = grades.get(row)
            return (
                "unjudged"
                if grade is None
                else "not relevant"
                if grade < 1
                else "relevant" + (f", grade {grade}" if grade > 1 else "")
            )

        for side, got in zip(("kept", "pick"), found["lists"], strict=True):
            lists = table.lists[side]
            held = [i for i, row in enumerate(lists.rows[q]) if row >= 0]
            assert got == [
                [
                    f"{place}.",
                    dataset.doc_ids[lists.rows[q, i]],
                    badge(int(lists.rows[q, i])),
                    f" keyword {lists.keyword_ranks[q, i] or '–'} · semantic {lists.semantic_ranks[q, i] or '–'}",
                ]
                for place, i in enumerate(held, 1)
            ]
        assert [(document, said) for _, document, said, _ in found["missed"]] == [
            (dataset.doc_ids[m.row], badge(m.row)) for m in table.missed[q]
        ]
        for (*_, ranks), m in zip(found["missed"], table.missed[q], strict=True):
            assert f"keyword {m.keyword_rank or '–'} · semantic {m.semantic_rank or '–'}" in ranks
            assert re.findall(r"(\d+|none)(?=, in|$)", ranks)[-2:] == [str(m.kept_rank or "none"), str(m.pick_rank or "none")]
        button.click()
        assert button.get_attribute("aria-expanded") == "false" and browser.run(LISTS, button) is None
    assert browser.errors() == []


# ---- copy, theme, width, paper ------------------------------------------------------------------------------------------


def test_what_is_copied_is_what_export_prints(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    draw_all(browser)
    targets = browser.run("return [...document.querySelectorAll('#target option')].map((o) => o.value)")
    study = ROOT / handbook.study
    assert browser.run("return document.getElementById('target').value") == "json" and len(targets) >= 2
    assert browser.copied_by("#copy") == harness.export(study, to="json").text
    assert browser.text("#copied") == "Copied"
    for target in targets:
        choose(browser, "target", target)
        visible = browser.run(
            "return [...document.querySelectorAll('pre[data-target]')].filter((p) => !p.hidden).map((p) => p.dataset.target)"
        )
        assert visible == [target] and browser.text("#copied") == ""
    assert browser.copied_by("#copy") == harness.export(study, to=targets[-1]).text
    assert browser.errors() == []


GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(18, 23, 30)"


def test_the_button_goes_through_the_themes(browser: Browser, handbook: Shown) -> None:
    for scheme, auto in (("light", LIGHT), ("dark", DARK)):
        opened(browser, handbook.path, scheme=scheme)  # type: ignore[arg-type]
        browser.wait("document.querySelector('#figure-curve svg.main-svg')")
        for label, ground in (("auto", auto), ("light", LIGHT), ("dark", DARK), ("auto", auto)):
            assert browser.text("#theme") == f"Colours: {label}"
            assert browser.run(f"return {GROUND}") == ground
            ink = browser.run("return getComputedStyle(document.querySelector('#figure-curve .xtitle')).fill")
            assert ink == browser.run("return getComputedStyle(document.body).color")
            browser.click("#theme")
            browser.settle()
        for _ in range(2):
            browser.click("#theme")  # to auto again: the choice is remembered by the browser
    assert browser.errors() == []


def test_the_system_may_change_its_mind(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path, scheme="light")
    browser.wait("document.querySelector('#figure-curve svg.main-svg')")
    assert browser.run(f"return {GROUND}") == LIGHT
    browser.emulate(scheme="dark")
    browser.settle()
    assert browser.run(f"return {GROUND}") == DARK
    browser.wait(
        "getComputedStyle(document.querySelector('#figure-curve .xtitle')).fill === getComputedStyle(document.body).color"
    )


@pytest.mark.parametrize("name", ["handbook", "big", "hostile"])
def test_a_phone_need_not_scroll_sideways(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page: Shown = request.getfixturevalue(name)
    opened(browser, page.path, width=NARROW)
    browser.unfold()
    draw_all(browser)
    browser.click("#prompt-table .open")
    assert browser.overflow() == []
    assert browser.run("return document.documentElement.scrollWidth") <= NARROW
    assert (
        browser.run("const box = document.getElementById('prompt-table').parentElement; return box.scrollWidth - box.clientWidth")
        <= 0
    )
    browser.resize(WIDE, HEIGHT)
    browser.settle()
    assert browser.overflow() == []


def test_paper_holds_the_prompts_and_every_chart(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path, scheme="dark")
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
    assert pdf.startswith(b"%PDF-") and len(pdf) > 50_000
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 4
    # afterwards all charts are there, though nobody scrolled, and the colours are again those of the screen
    assert browser.run("return document.querySelectorAll('.chart svg.main-svg').length") >= len(handbook.figures)
    browser.wait(f"{GROUND} === '{DARK}'")
    browser.emulate(media="print")
    browser.settle()
    text = browser.text()
    for prompt in handbook.prompts[:3]:
        by_id = [row for row in rows(browser) if row[0] == prompt["id"]]
        assert not by_id or prompt["text"][:80] in text
    assert sum(prompt["text"][:60] in text for prompt in handbook.prompts) >= PAGE_STEP * 0.9
    for hidden in ("#theme", "#search", "#copy", "nav", ".skip"):
        assert not browser.run("return document.querySelector(arguments[0]).checkVisibility()", hidden), hidden
    assert browser.errors() == []


def test_paper_says_how_many_prompts_it_holds(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    browser.run(
        "addEventListener('beforeprint', () => { window.rows = document.querySelectorAll('#prompt-table tbody tr').length; })"
    )
    browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    browser.emulate(media="print")
    browser.settle()
    total = len(handbook.prompts)
    assert browser.run("return window.rows") == total or f"{PAGE_STEP} of {total}" in browser.text("#prompts")


# ---- hostile texts ------------------------------------------------------------------------------------------------------


def test_hostile_texts_are_shown_as_they_are(browser: Browser, hostile: Shown) -> None:
    opened(browser, hostile.path)
    before = browser.run("return document.querySelectorAll('script').length")
    browser.unfold()
    draw_all(browser)
    for button in browser.driver.find_elements("css selector", "#prompt-table .open"):
        button.click()
    browser.settle()
    assert browser.run("return window.pwned") is None
    assert browser.errors() == [] and browser.requests() == [hostile.path.resolve().as_uri()]
    injected = "main img, main script, main iframe, main style, main [onerror], main [onload], main [onmouseover], b, i, textarea"
    assert browser.run("return document.querySelectorAll(arguments[0]).length", injected) == 0
    assert browser.run("return document.querySelectorAll('script').length") == before
    texts = set(browser.run("return [...document.querySelectorAll('#prompt-table bdi, #groups bdi')].map((e) => e.textContent)"))
    by_id = {query.query_id: query for query in hostile.prepared.dataset.queries}
    for prompt in hostile.prompts:
        assert prompt["id"] in texts and prompt["id"] in by_id
        assert prompt["text"] in texts or len(prompt["text"]) > 160
    groups = [group.group for group in hostile.findings.groups]
    assert {group if len(group) <= 100 else group[:99] + "…" for group in groups} <= texts
    documents = {document for document, _ in hostile.data["documents"]}
    assert documents <= texts
    for word in HOSTILE.values():
        if len(word) < 100:
            assert any(word in document for document in documents)
    assert browser.text("h1").strip() == LIMIT
    labels = browser.run("return [...document.querySelectorAll('#figure-groups .ytick text')].map((e) => e.textContent)")
    assert any("<" in label for label in labels)  # Plotly shows the tag as text, too


def test_a_text_that_turns_around_turns_only_itself(browser: Browser, hostile: Shown) -> None:
    opened(browser, hostile.path)
    bare = browser.run(
        "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); const found = [];"
        "while (walker.nextNode()) { const at = walker.currentNode.parentElement;"
        " if (/[\\u202e\\u2066]/.test(walker.currentNode.data) && !at.closest('bdi, script, option, [dir=auto]'))"
        " found.push(at.outerHTML.slice(0, 200)); }"
        "return found"
    )
    assert bare == []


# ---- for everyone ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["handbook", "hostile", "comparison", "pareto"])
def test_everyone_can_use_it(name: str, browser: Browser, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name)
    assert check_page(browser, page if isinstance(page, Path) else page.path) == []


def test_an_open_prompt_can_be_read_by_everyone(browser: Browser, handbook: Shown) -> None:
    for scheme in ("light", "dark"):
        opened(browser, handbook.path, scheme=scheme)  # type: ignore[arg-type]
        draw_all(browser)
        browser.click("#prompt-table .open")
        assert browser.accessibility() == []


def test_the_keyboard_alone_does(browser: Browser, handbook: Shown) -> None:
    opened(browser, handbook.path)
    browser.unfold()
    browser.run("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    reached = []
    for _ in range(80):
        browser.press("Tab")
        reached.append(
            browser.run("const e = document.activeElement; return e.id || e.dataset.key || e.className || e.href || e.tagName")
        )
        if reached[-1] == "open":
            break
    assert reached[0] in ("skip", "#main")
    for wanted in ("theme", "target", "copy", "search", "group", "outcome", *COLUMNS, "open"):
        assert wanted in reached, wanted
    browser.press("Enter")
    assert browser.run("return document.activeElement.getAttribute('aria-expanded')") == "true"
    assert browser.run("return document.activeElement.closest('tr').nextElementSibling.classList.contains('detail')")
    browser.press("Enter")
    assert browser.run("return document.activeElement.getAttribute('aria-expanded')") == "false"
    browser.run("document.querySelector('[data-key=group]').focus()")
    browser.press("Space")
    assert browser.run("return document.activeElement.parentElement.getAttribute('aria-sort')") == "ascending"
    browser.run("document.getElementById('theme').focus()")
    browser.press("Enter")
    assert browser.text("#theme") == "Colours: light"
    for _ in range(2):
        browser.press("Enter")


# ---- several studies --------------------------------------------------------------------------------------------------------


def test_the_comparison_in_a_browser(browser: Browser, comparison: Path) -> None:
    opened(browser, comparison)
    browser.scroll_through()
    browser.wait("document.querySelectorAll('.chart svg.main-svg').length >= 2")
    headings = browser.run("return [...document.querySelectorAll('h1, h2')].map((h) => h.textContent)")
    assert headings == [
        "first, second",
        "In short",
        "The studies",
        "The semantic weight in each",
        "Prompt by prompt against first",
    ]
    assert browser.errors() == [] and browser.requests() == [comparison.resolve().as_uri()]
    legend = browser.run("return [...document.querySelectorAll('#curves ul.legend li')].map((e) => e.textContent)")
    assert legend == ["first", "second"]
    ticks = browser.run("return [...document.querySelectorAll('#figure-differences .ytick text')].map((e) => e.textContent)")
    assert ticks == ["second (12)"]
    assert json.loads(Page(comparison).scripts["data"]) == {}
