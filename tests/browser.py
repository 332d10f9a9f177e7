"""A headless Chromium for the tests of pages: what the page logs, asks the network for, shows, and is for a keyboard.

The fixture `browser` (tests/conftest.py) gives one `Browser` a session. It is Debian's chromium with its chromedriver,
driven by selenium; nothing is downloaded and no name is resolved. Where one of the three is missing the tests skip and
say what, and fail under CI. Checks give a list of problems in words, so that a test reads `assert check(...) == []`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WIDE, NARROW = 1400, 390  # px of a desk and of a phone
HEIGHT = 900
PHONE = 600  # px; a narrower window is laid out as phones do, by the page's viewport line
TALLEST = 16_000  # px; Chromium draws no taller picture
CHECKS = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # containers give 64 MB
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a page that asks the network gets nothing
)
MARKER = "nothing was copied"
KEYS = {  # name of a key: its code, the text that it types, the bits of modifiers (Ctrl 2, Shift 8)
    "Tab": ("Tab", 9, "", 0),
    "Enter": ("Enter", 13, "\r", 0),
    "Space": (" ", 32, " ", 0),
    "Escape": ("Escape", 27, "", 0),
    "ArrowLeft": ("ArrowLeft", 37, "", 0),
    "ArrowUp": ("ArrowUp", 38, "", 0),
    "ArrowRight": ("ArrowRight", 39, "", 0),
    "ArrowDown": ("ArrowDown", 40, "", 0),
    "Shift+Tab": ("Tab", 9, "", 8),
}


def what_is_missing() -> str:
    """Why there is no browser; empty where there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} must be installed (Debian: chromium, chromium-driver)" if missing else ""


def under_ci() -> bool:
    """Whether a missing browser is a failure."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


class Browser:
    """One window. `open` starts afresh: logs are emptied, width, colours and media are set."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        self.width = WIDE
        self._console: list[tuple[str, str]] = []
        self._asked: list[str] = []

    # --- the page ---

    def open(
        self,
        page: Path | str,
        *,
        width: int = WIDE,
        height: int = HEIGHT,
        scheme: Literal["light", "dark"] = "light",
        media: Literal["screen", "print"] = "screen",
    ) -> None:
        """Load a file or an address and wait until it is laid out."""
        self.driver.get("about:blank")
        self.resize(width, height)
        self.emulate(scheme=scheme, media=media)
        self._drain()
        self._console.clear()
        self._asked.clear()
        self.driver.get(page.resolve().as_uri() if isinstance(page, Path) else page)
        self.wait("document.readyState === 'complete'")
        self.settle()

    def resize(self, width: int, height: int = HEIGHT) -> None:
        """The size of the window; below 600 px that of a phone."""
        self.width = width
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def emulate(self, *, scheme: Literal["light", "dark"] = "light", media: Literal["screen", "print"] = "screen") -> None:
        """What `prefers-color-scheme` and `@media` answer from now on."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def settle(self) -> None:
        """Wait for two frames: what scripts have changed is laid out."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")

    def scroll_through(self) -> None:
        """Down the whole page and back: what is drawn only when it comes into sight is drawn then."""
        place = 0
        while place < self.run("return document.documentElement.scrollHeight"):
            self.run("window.scrollTo({top: arguments[0], behavior: 'instant'})", place)
            self.settle()
            place += HEIGHT // 2
        self.run("window.scrollTo({top: 0, behavior: 'instant'})")
        self.settle()

    def unfold(self) -> None:
        """Open every `details`."""
        self.run("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
        self.settle()

    def run(self, script: str, *arguments: Any) -> Any:
        """What the JavaScript function body returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, expression: str, seconds: float = 20.0) -> Any:
        """The first truthy value of a JavaScript expression; AssertionError where none comes in time."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(f"return {expression}")
            if value or time.monotonic() > end:
                assert value, f"{expression} is not so after {seconds} s; the console says {self.console()}"
                return value
            time.sleep(0.02)

    def text(self, selector: str = "body") -> str:
        """The text that one sees of the first such element."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def click(self, selector: str) -> None:
        """A click as people click: scrolled into view, and only where nothing lies over it."""
        self.driver.find_element("css selector", selector).click()

    def press(self, key: str) -> None:
        """One key of KEYS, as from a keyboard."""
        name, code, text, modifiers = KEYS[key]
        event = {"key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {**event, **down})
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {**event, "type": "keyUp"})

    # --- what happened since `open` ---

    def console(self) -> list[tuple[str, str]]:
        """Every line of the console as (level, message)."""
        self._drain()
        return list(self._console)

    def errors(self) -> list[str]:
        """The errors among them: thrown, refused, not found, or logged as errors."""
        return [message for level, message in self.console() if level == "SEVERE"]

    def requests(self) -> list[str]:
        """Every address that was asked for, the page's own first; `data:` and `blob:` are no requests."""
        self._drain()
        return [url for url in self._asked if not url.startswith(("data:", "blob:", "about:"))]

    def foreign_requests(self) -> list[str]:
        """The addresses on a network (http, https, ws, wss): a page that holds all it needs asks for none."""
        return [url for url in self.requests() if url.split(":", 1)[0] in ("http", "https", "ws", "wss")]

    def _drain(self) -> None:
        self._console += [(line["level"], line["message"]) for line in self.driver.get_log("browser")]
        for line in self.driver.get_log("performance"):
            event = json.loads(line["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self._asked.append(event["params"]["request"]["url"])
            elif event["method"] == "Network.webSocketCreated":
                self._asked.append(event["params"]["url"])

    def paints(self) -> dict[str, float]:
        """`first-paint` and `first-contentful-paint` in milliseconds since the page was asked for."""
        self.wait("performance.getEntriesByType('paint').length > 1")
        return dict(self.run("return performance.getEntriesByType('paint').map((e) => [e.name, e.startTime])"))

    # --- what it looks like ---

    def screenshot(self, file: Path, of: str | None = None) -> tuple[int, int]:
        """The whole page, or the first element of a selector, as a PNG; its width and height. Beyond 16,000 px drawn smaller."""
        if of is None:
            box = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        else:
            box = self.run(
                "const {x, y, width, height} = document.querySelector(arguments[0]).getBoundingClientRect();"
                "return {x: x + window.scrollX, y: y + window.scrollY, width, height}",
                of,
            )
        clip = {**box, "scale": min(1, TALLEST / box["height"])}
        asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        data = base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", asked)["data"])
        file.write_bytes(data)
        width, height = struct.unpack(">II", data[16:24])
        return width, height

    def copied_by(self, selector: str, seconds: float = 2.0) -> str | None:
        """What a click on this element puts into the clipboard, read back by pasting it; None where it is not touched.

        No permission is granted: a page from a file gets what it would get from a reader's browser.
        """
        self._type_into_box(MARKER, "a", "c")
        self.click(selector)
        end = time.monotonic() + seconds
        while (found := self._type_into_box("", "v")) == MARKER and time.monotonic() < end:
            time.sleep(0.05)
        return None if found == MARKER else found

    def _type_into_box(self, content: str, *shortcuts: str) -> str:
        """Ctrl with each letter, typed in a text box that is there for that long; what the box then holds."""
        from selenium.webdriver.common.keys import Keys

        box = self.run(
            "const before = document.activeElement, box = document.createElement('textarea'); box.before = before;"
            "box.value = arguments[0]; document.body.append(box); box.focus({preventScroll: true}); return box",
            content,
        )
        for letter in shortcuts:
            box.send_keys(Keys.CONTROL, letter)
        return str(self.run("const [box] = arguments, {value, before} = box; box.remove(); before?.focus(); return value", box))

    # --- checks: problems in words ---

    def check(self, name: str, *arguments: Any) -> list[str]:
        """One function of page_checks.js."""
        if not self.run("return Boolean(window.pageChecks)"):
            self.run(CHECKS)
        function = f"window.pageChecks.{name}"
        return list(self.run(f"return [{function}(...arguments)].flat()", *arguments))

    def accessibility(self) -> list[str]:
        """Language, title, headings, ids; labels and names; text alternatives; contrast of what is shown now."""
        return [problem for name in ("structure", "names", "alternatives", "contrast") for problem in self.check(name)]

    def keyboard(self) -> list[str]:
        """Whether Tab reaches every control and link that is shown now, leaves it again, and shows where it is."""
        count = int(self.check("keyboard.begin")[0])
        reached: list[int] = []
        unseen: list[int] = []
        outside = 0  # stops that are no controls, as boxes that scroll
        for _ in range(2 * count + 50):
            self.press("Tab")
            at, focused, shown = self.check("keyboard.now")
            if not focused or at in reached[:1]:  # through the page, or at its beginning again
                break
            if reached and at >= 0 and at == reached[-1]:
                return [f"Tab does not leave control {at + 1} of {count}"]
            outside += at < 0
            reached += [at] if at >= 0 else []
            unseen += [at] if at >= 0 and not shown else []
        return self.check("keyboard.end", reached, unseen)

    def overflow(self) -> list[str]:
        """Whether the page itself scrolls sideways at the present width, and what makes it."""
        return self.check("overflow", self.width)


def check_page(
    browser: Browser,
    page: Path | str,
    widths: tuple[int, ...] = (WIDE, NARROW),
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark"),
) -> list[str]:
    """Everything at once, the page unfolded and seen to its end: see the methods of Browser. The keyboard once a width."""
    problems = []
    for width in widths:
        for scheme in schemes:
            browser.open(page, width=width, scheme=scheme)
            browser.unfold()
            browser.scroll_through()
            found = browser.accessibility() + browser.overflow()
            if scheme == schemes[0]:
                found += browser.keyboard()
            found += [f"console: {message}" for message in browser.errors()]
            found += [f"asks the network for {url}" for url in browser.foreign_requests()]
            problems += [f"{width} px, {scheme}: {problem}" for problem in found]
    return problems


@contextlib.contextmanager
def start_browser() -> Iterator[Browser]:
    """A Chromium with a profile of its own, ended and swept at the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDE},{HEIGHT}"):
            options.add_argument(flag)
        # with both paths given, selenium looks for no driver and downloads none
        driver = webdriver.Chrome(options=options, service=Service(executable_path=shutil.which("chromedriver")))
        try:
            driver.set_script_timeout(60)
            yield Browser(driver)
        finally:
            driver.quit()
