"""The browser that other tests look at pages with: a good page passes, and every single fault is found and named."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import browser as module
import pytest
from browser import NARROW, TALLEST, WIDE, Browser, check_page

GOOD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A good page</title>
<style>
:root { color-scheme: light dark; --ink: #222; --page: #fff; --quiet: #767676; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --page: #111; --quiet: #999; } }
body { color: var(--ink); background: var(--page); margin: 1rem; max-width: 60rem; }
.quiet { color: var(--quiet); }
.wide { overflow-x: auto; }
.wide div { width: 2000px; }
.big { font-size: 24px; color: #949494; background: #fff; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); color: #fff; background: #fff; }
svg text { font-size: 12px; }
@media print { .screen { display: none; } }
</style>
</head>
<body>
<h1>One study</h1>
<p>Text, and <a href="#end">a link</a>, and <span class="quiet">quieter text</span>,
<span class="hidden">for readers only</span></p>
<h2>Controls</h2>
<label for="group">Group</label> <select id="group"><option>all</option><option>some</option></select>
<input type="search" aria-label="Find a prompt">
<label><input type="radio" name="side" checked> one</label> <label><input type="radio" name="side"> other</label>
<button id="copy" class="screen">Copy</button> <button disabled style="color: #ddd">Not now</button>
<details><summary>More</summary><button id="inner">Inside</button></details>
<h3>Charts</h3>
<div role="img" aria-label="Scores rise, then fall">
<svg width="300" height="100"><rect width="300" height="100" fill="#eee"/><path d="M0 0H150V100H0Z" fill="#024"/>
<text x="20" y="50" fill="#fff">on dark</text><text x="200" y="50" fill="#444">on light</text></svg>
</div>
<svg style="position: absolute; left: -9000px"><path d="M0 0Z"/></svg>
<figure><svg width="20" height="20"><circle r="9" cx="10" cy="10"/></svg><figcaption>A dot</figcaption></figure>
<img alt="A pixel" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
<div class="wide" tabindex="0" role="region" aria-label="A wide table"><div>wide, in a box that scrolls</div></div>
<p class="big">Large text may be paler</p>
<h2 id="end">The end</h2>
<table><tr><th>score</th></tr><tr><td>.5</td></tr></table>
<script>document.getElementById("copy").onclick = () => navigator.clipboard.writeText("weights: [0.4, 0.6]\\nü");</script>
</body>
</html>
"""

FAULTS = {  # name: (what is replaced, by what, the problem that must be found)
    "no language": (' lang="en"', "", "html has no lang"),
    "no title": ("<title>A good page</title>", "", "the page has no title"),
    "no h1": ("<h1>One study</h1>", "<h2>One study</h2>", "0 headings of level 1"),
    "two h1": ('<h2 id="end">The end</h2>', "<h1>The end</h1>", "2 headings of level 1"),
    "a level left out": ("<h3>Charts</h3>", "<h4>Charts</h4>", "“Charts” of level 4 follows level 2"),
    "an id twice": ('<h2 id="end">', '<p id="copy"></p><h2 id="end">', "id copy is there twice"),
    "a select without a label": ('<label for="group">', "<label>", "<select#group> “allsome” has no label"),
    "an input without a label": (' aria-label="Find a prompt"', ' placeholder="Find"', "<input> has no label"),
    "a label that names nothing": ('aria-label="Find a prompt"', 'aria-labelledby="nobody"', "<input> has no label"),
    "a button without a name": (">Copy<", "><svg aria-hidden='true'></svg><", "<button#copy> has no label"),
    "a link without a name": (">a link</a>", "></a>", "<a> has no name"),
    "a chart without words": ('role="img" aria-label="Scores rise, then fall"', "", "has no text alternative"),
    "a figure without a caption": ("<figcaption>A dot</figcaption>", "", "<svg> has no text alternative"),
    "an image without alt": ('alt="A pixel"', "", "<img> has no text alternative"),
    "a table without headers": ("<th>score</th>", "<td>score</td>", "has no header cell"),
    "grey on white": ("--quiet: #767676", "--quiet: #777", "“quieter text” has contrast 4.478, must be 4.5"),
    "grey on black": ("--quiet: #999", "--quiet: #666", "dark: <span> “quieter text” has contrast 3.28"),
    "large text too pale": ("color: #949494", "color: #959595", "has contrast 2.995, must be 3"),
    "not large after all": ("font-size: 24px", "font-size: 23px", "has contrast 3.033, must be 4.5"),
    "see-through text": (".quiet { ", ".quiet { opacity: .8; ", "“quieter text” has contrast"),
    "see-through ink": ("--ink: #222", "--ink: #2228", "“A dot” has contrast"),
    "modern colour": ("--quiet: #767676", "--quiet: oklch(0.8 0 0)", "“quieter text” has contrast"),
    "text on a gradient": (".quiet { ", ".quiet { background: linear-gradient(red, blue); ", "its contrast cannot be told"),
    "SVG text on a dark shape": ('fill="#fff">on dark', 'fill="#444">on dark', "“on dark” has contrast 1."),
    "SVG text on a light shape": ('fill="#444">on light', 'fill="#999">on light', "“on light” has contrast 2."),
    "SVG text by its opacity": ('fill="#444">on light', 'fill="#444" opacity=".4">on light', "“on light” has contrast"),
    "pale input": ('type="search"', 'type="search" style="color: #ccc; background: #fff"', "“Find a prompt” has contrast 1.6"),
    "a link that Tab passes by": ('<a href="#end">', '<a tabindex="-1" href="#end">', "“a link” is not reached by Tab"),
    "a focus that nobody sees": (".quiet {", "a:focus { outline: none } .quiet {", "“a link” does not show the focus"),
    "a transparent focus": (".quiet {", "a:focus { outline-color: #0000 } .quiet {", "“a link” does not show the focus"),
    "a trap": ('id="copy"', 'id="copy" onkeydown="event.preventDefault()"', "Tab does not leave control"),
    "a clickable span": ('<span class="quiet"', '<span onclick="x()" class="quiet"', "“quieter text” is not reached by Tab"),
    "too wide for a phone": (".wide { overflow-x: auto; }", "", "390 px, light: the page is 20"),
    "no viewport line": ('name="viewport"', 'name="view"', "390 px, light: the page is 980 px"),
    "an exception": ("<script>", "<script>setTimeout(() => nobody());", "console: "),
    "a logged error": ("<script>", "<script>console.error('a complaint');", "a complaint"),
    "a rejected promise": ("<script>", "<script>Promise.reject(new Error('not kept'));", "not kept"),
    "a remote script": ("<script>", "<script src='https://cdn.invalid/p.js'></script><script>", "asks the network for https://cdn.invalid/p.js"),
    "a remote font": (".quiet {", "@font-face { font-family: f; src: url(http://f.invalid/f.woff) } .quiet { font-family: f;", "http://f.invalid/f.woff"),
    "a beacon": ("<script>", "<script>navigator.sendBeacon('https://b.invalid/b');", "asks the network for https://b.invalid/b"),
    "a socket": ("<script>", "<script>new WebSocket('wss://w.invalid/w');", "asks the network for wss://w.invalid/w"),
}  # fmt: skip


def write(folder: Path, text: str) -> Path:
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_good_page_passes(browser: Browser, tmp_path: Path) -> None:
    assert check_page(browser, write(tmp_path, GOOD)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, browser: Browser, tmp_path: Path) -> None:
    old, new, problem = FAULTS[fault]
    assert GOOD.count(old) == 1
    page, scheme = write(tmp_path, GOOD.replace(old, new)), "dark" if "dark: " in problem else "light"
    problems = check_page(browser, page, widths=(NARROW,), schemes=(scheme,))
    assert any(problem in found for found in problems), problems


def test_a_change_of_look_is_a_focus_that_one_sees(browser: Browser, tmp_path: Path) -> None:
    changed = GOOD.replace(".quiet {", "a:focus { outline: none; box-shadow: 0 0 0 2px #05c } .quiet {")
    browser.open(write(tmp_path, changed))
    assert browser.keyboard() == []


def test_what_opens_on_demand_is_checked_once_it_is_open(browser: Browser, tmp_path: Path) -> None:
    page = GOOD.replace('id="inner"', 'id="inner" tabindex="-1" style="color: #aaa; background: #fff"')
    browser.open(write(tmp_path, page))
    assert browser.accessibility() + browser.keyboard() == []
    browser.unfold()
    assert "“Inside” has contrast 2.3" in " ".join(browser.accessibility())
    assert "“Inside” is not reached" in " ".join(browser.keyboard())


def test_a_long_page_is_walked_through_in_order(browser: Browser, tmp_path: Path) -> None:
    links = "".join(f'<a href="#end">row {i}</a> ' for i in range(120))
    page = write(tmp_path, GOOD.replace('<h2 id="end">', f'{links}<h2 id="end">'))
    browser.open(page)
    assert browser.keyboard() == []
    browser.open(write(tmp_path, page.read_text().replace('<a href="#end">row 100', '<a href="#end" tabindex="-1">row 100')))
    assert browser.keyboard() == ["<a> “row 100” is not reached by Tab"]


def test_each_page_starts_with_empty_logs(browser: Browser, tmp_path: Path) -> None:
    old, new, _ = FAULTS["a remote script"]
    page = write(tmp_path, GOOD.replace(old, new + "console.warn('mind');console.log('said');"))
    browser.open(page)
    assert browser.requests() == [page.as_uri(), "https://cdn.invalid/p.js"]
    assert browser.foreign_requests() == ["https://cdn.invalid/p.js"]
    assert len(browser.errors()) == 1
    assert {level for level, _ in browser.console()} == {"SEVERE", "WARNING", "INFO"}
    assert len(browser.errors()) == 1  # asking does not forget
    browser.open(write(tmp_path, GOOD))
    assert (browser.console(), browser.requests()) == ([], [page.as_uri()])


def test_a_file_beside_the_page_is_a_request_too(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "beside.js").write_text("")
    page = write(tmp_path, GOOD.replace("<script>", "<script src='beside.js'></script><script>"))
    browser.open(page)
    assert browser.requests() == [page.as_uri(), (tmp_path / "beside.js").as_uri()]
    assert browser.foreign_requests() == []


def test_first_paint_waits_for_what_blocks_it(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, GOOD))
    quick = browser.paints()
    assert set(quick) == {"first-paint", "first-contentful-paint"}
    slow = "<script>const end = performance.now() + 400; while (performance.now() < end);</script><h1>"
    browser.open(write(tmp_path, GOOD.replace("<h1>", slow)))
    assert browser.paints()["first-contentful-paint"] > 400
    assert 0 < quick["first-paint"] <= quick["first-contentful-paint"] < 5000


def read_png(file: Path) -> list[list[tuple[int, ...]]]:
    """The pixels of an 8-bit PNG without interlacing, row by row; undoes the five filters of the format."""
    data, at, packed = file.read_bytes(), 8, b""
    width, _, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    size = {2: 3, 6: 4}[kind]
    raw, stride, rows = zlib.decompress(packed), width * size, []
    above = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        how, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride):
            left, up, corner = (line[i - size] if i >= size else 0), above[i], (above[i - size] if i >= size else 0)
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda value: abs(guess - value))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[how]) % 256
        rows.append([tuple(line[i : i + 3]) for i in range(0, stride, size)])
        above = line
    return rows


def test_a_picture_holds_the_whole_page_at_the_width_that_was_asked_for(browser: Browser, tmp_path: Path) -> None:
    style = "body { margin: 0; height: 500px; background: #0000ff } @media (max-width: 400px) { body { background: #00ff00 } }"
    style += "@media (prefers-color-scheme: dark) { body { background: #ff0000 } } @media print { body { background: #ffff00 } }"
    page = write(
        tmp_path, f'<!doctype html><meta name="viewport" content="width=device-width"><title>t</title><style>{style}</style>'
    )
    file = tmp_path / "page.png"

    def colour() -> tuple[int, ...]:
        rows = read_png(file)
        assert {pixel for row in rows[::100] for pixel in row} == {rows[-1][-1]}
        return rows[-1][-1]

    browser.open(page, width=NARROW, height=300)
    assert browser.run("return innerWidth") == NARROW
    assert browser.screenshot(file) == (NARROW, 500)
    assert colour() == (0, 255, 0)
    browser.emulate(scheme="dark")
    browser.screenshot(file)
    assert colour() == (255, 0, 0)
    browser.emulate(media="print")
    browser.screenshot(file)
    assert colour() == (255, 255, 0)
    browser.open(page)  # light and on a screen again
    assert browser.run("return innerWidth") == WIDE
    assert browser.screenshot(file) == (WIDE, 900)  # no less than the window
    browser.run(
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"position: absolute; top: 700px; width: 30px; height: 20px\">')"
    )
    assert browser.screenshot(file, of="p") == (30, 20)
    browser.run("document.body.style.height = '20000px'")
    assert browser.screenshot(file) == (WIDE * 4 / 5, TALLEST)


def test_what_is_drawn_when_it_comes_into_sight_is_checked_too(browser: Browser, tmp_path: Path) -> None:
    late = """<div style="height: 5000px"></div><div id="late"></div><script>
    new IntersectionObserver(([{isIntersecting}], watch) => {
      if (!isIntersecting) return;
      late.innerHTML = '<p style="color: #aaa; background: #fff">drawn late</p>';
      watch.disconnect();
    }).observe(late);</script>"""
    page = write(tmp_path, GOOD.replace("<script>", f"{late}<script>"))
    browser.open(page)
    assert browser.accessibility() == []
    assert "“drawn late” has contrast 2.3" in " ".join(check_page(browser, page, widths=(WIDE,)))


def test_print_hides_what_is_for_the_screen(browser: Browser, tmp_path: Path) -> None:
    page = write(tmp_path, GOOD)
    browser.open(page)
    assert "Copy" in browser.text()
    browser.open(page, media="print")
    assert "Copy" not in browser.text()


def test_the_clipboard_is_read_back(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, GOOD))
    assert browser.copied_by("#copy") == "weights: [0.4, 0.6]\nü"
    assert browser.copied_by("summary", seconds=0.3) is None  # what was copied before does not count
    assert browser.errors() == []
    by_command = "const b = document.querySelector('input'); b.value = 'by hand'; b.select(); document.execCommand('copy')"
    browser.open(write(tmp_path, GOOD.replace("navigator.clipboard.writeText", f"{{ {by_command} }}; String")))
    assert browser.copied_by("#copy") == "by hand"


def test_keys_reach_the_page(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, GOOD))
    browser.run("document.querySelector('summary').focus()")
    browser.press("Enter")
    assert browser.run("return document.querySelector('details').open")
    browser.press("Space")
    assert not browser.run("return document.querySelector('details').open")
    browser.press("Shift+Tab")
    assert browser.run("return document.activeElement.id") == "copy"
    browser.run("document.querySelector('select').focus()")
    browser.press("ArrowDown")
    assert browser.run("return document.querySelector('select').value") == "some"


def test_a_page_that_never_comes_to_it_is_said(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, GOOD))
    with pytest.raises(AssertionError, match=r"window\.never is not so after 0\.1 s"):
        browser.wait("window.never", seconds=0.1)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == "chromedriver" else f"/bin/{name}")
    monkeypatch.setitem(sys.modules, "selenium", None)
    assert module.what_is_missing() == "selenium is not installed"
    monkeypatch.setitem(sys.modules, "selenium", module)
    assert module.what_is_missing() == "chromedriver must be installed (Debian: chromium, chromium-driver)"
    for value, fails in {"": False, "0": False, "false": False, "true": True, "1": True}.items():
        monkeypatch.setenv("CI", value)
        assert module.under_ci() is fails


def test_no_driver_is_looked_for(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    from selenium.webdriver.common.selenium_manager import SeleniumManager

    def look(*_: object) -> None:
        raise AssertionError("selenium asked its manager, which downloads")

    monkeypatch.setattr(SeleniumManager, "binary_paths", look)
    with module.start_browser() as another:
        assert another.run("return 1 + 1") == 2
