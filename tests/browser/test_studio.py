"""The Studio in a real browser, as a folder and behind `hrm studio`: `make test-studio` sets up what this needs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from studio.pieces import PIECES

if "TEST_STUDIO" not in os.environ:
    pytest.skip("only `make test-studio` brings a browser", allow_module_level=True)

from playwright.sync_api import sync_playwright

FOLDER = Path(os.environ["TEST_STUDIO"]).resolve()
BROWSER = os.environ.get("BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser") or ""
PATIENCE = 120_000
"""Milliseconds until what is waited for counts as missing; nothing takes as long."""

BOOK = "tasks:\n  paper: sugarcane ; workbench\n  book: paper ; table\n"
HOSTILE = """\
machines:
  '<img src=x onerror=alert(1)>':
    edges: [{from: u0, to: uA, when: '"<script>alert(2)</script>"'}]
"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not BROWSER:
        pytest.skip("there is no browser: apt-get install chromium, as root, or its path in BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=["folder", "server"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "folder":
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(FOLDER))) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()
        return
    words = [sys.executable, "-m", "rewardmachines", "studio", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as served:
        assert served.stdout is not None
        yield served.stdout.readline().split()[4]
        served.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def shared(browser: Any, address: str) -> Iterator[Any]:
    """A page that is ready, with what went wrong on it and every address that it asked for."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.wrong, page.asked = [], []
    page.on("pageerror", lambda problem: page.wrong.append(str(problem)))
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (page.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.locator("#status", has_text="Ready").wait_for()
    yield page
    assert page.wrong == []
    assert {url for url in page.asked if not url.startswith((address, "blob:"))} == set()
    page.close()


def write(page: Any, text: str) -> None:
    page.fill("#text", text)


@pytest.fixture
def page(shared: Any) -> Any:
    write(shared, BOOK)
    shared.click("#tab-see")
    shared.locator("#see-drawing svg[aria-label='machine book']").wait_for()
    return shared


def test_write_and_see(page: Any) -> None:
    write(page, "a ; $")
    page.locator("#problem mark", has_text="$").wait_for()
    write(page, "a ; (b | c)")
    page.locator("#see-drawing svg[aria-label='machine task']").wait_for()
    assert page.locator("#problem").inner_text() == ""
    assert page.locator("#see-drawing .state").count() == 3


def test_step_to_acceptance(page: Any) -> None:
    page.click("#tab-step")
    page.locator("#step-drawing svg").nth(1).wait_for()
    for number, label in enumerate(["sugarcane", "workbench", "table"], start=1):
        page.click(f"#step-labels button:text-is('{label}')")
        page.locator("#step-trace li").nth(number).wait_for()
        page.locator("#step-trace button[aria-current=step]", has_text=label).wait_for()
    page.locator("#moment .verdict-accept").wait_for()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.locator("#moment", has_text="waits for paper").wait_for()
    assert page.locator("#step-drawing svg.active").get_attribute("aria-label") == "machine paper"
    assert page.locator("#step-drawing .label.waiting").count() == 1


def test_compare_with_a_difference_and_without(page: Any) -> None:
    page.click("#tab-compare")
    page.fill("#other", "sugarcane ; workbench")
    page.click("#compare-now")
    page.locator("#difference", has_text="Different: on sugarcane workbench, the first says neither").wait_for()
    page.locator("#compare-a .present").wait_for()
    page.fill("#other", "sugarcane ; workbench ; table")
    page.click("#compare-now")
    page.locator("#difference", has_text="Equal").wait_for()


def test_a_comparison_stays_until_a_text_is_another(page: Any) -> None:
    page.click("#tab-compare")
    page.fill("#other", "sugarcane ; workbench")
    page.locator("#text").dispatch_event("input")  # the text is parsed a moment later, and is the same
    page.click("#compare-now")
    page.locator("#compare-a .present").wait_for()
    page.wait_for_timeout(1000)
    assert page.locator("#compare-a .present").count() == 1
    write(page, "sugarcane")
    page.locator("#compare-a .present").wait_for(state="detached")


def test_learn_refute_and_learn_again(page: Any) -> None:
    write(page, "sugarcane ; workbench")
    page.locator("#see-drawing svg[aria-label='machine task']").wait_for()
    page.click("#tab-learn")
    page.locator("#learn-labels button", has_text="sugarcane").wait_for()
    page.click("#learn-labels button:text-is('sugarcane')")
    page.click("#learn-labels button:text-is('workbench')")
    page.click("#add")
    page.locator("#traces tr", has_text="goal").wait_for()
    page.click("#until-right")
    page.locator("#learn-log", has_text="Refuted by").wait_for()
    page.locator("#learn-log", has_text="Nothing refutes it").wait_for()
    assert page.locator("#learn-drawing .state").count() == 3


def test_files_are_opened(page: Any, tmp_path: Path) -> None:
    (tmp_path / "chain.txt").write_text("iron ; table")
    with page.expect_file_chooser() as chooser:
        page.click("#open")
    chooser.value.set_files(tmp_path / "chain.txt")
    page.locator("#see-drawing .label", has_text="iron").wait_for()
    page.click("#tab-learn")
    page.locator("#learn-labels button", has_text="iron").wait_for()
    (tmp_path / "traces.jsonl").write_text('{"outcome": "goal", "labels": [["iron"], ["table"]]}\n')
    with page.expect_file_chooser() as chooser:
        page.click("#open-traces")
    chooser.value.set_files(tmp_path / "traces.jsonl")
    page.locator("#traces tr", has_text="iron table").wait_for()


def test_files_are_downloaded(page: Any) -> None:
    for kind, beginning in {
        "svg": b"<svg",
        "png": b"\x89PNG",
        "yaml": b"prop",
        "dot": b"digraph",
        "hoa": b"HOA:",
    }.items():
        with page.expect_download() as download:
            page.click(f"#exports button:text-is('{kind.upper()}')")
        assert download.value.suggested_filename == f"book.{kind}"
        assert Path(download.value.path()).read_bytes().startswith(beginning)


def test_hostile_names_are_text(page: Any) -> None:
    write(page, HOSTILE)
    page.locator("#see-drawing .title", has_text="<img").wait_for()
    assert page.locator("#see-drawing img, #see-drawing script").count() == 0


def test_a_link_brings_the_text(page: Any, browser: Any, address: str) -> None:
    write(page, "wolf ; 'no'")
    page.locator("#problem mark").wait_for()
    link = page.url
    assert link.startswith(f"{address}#text=")
    other = browser.new_page()
    other.goto(link)
    other.locator("#text").wait_for()
    assert other.input_value("#text") == "wolf ; 'no'"
    other.close()


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for tab in ("see", "step", "compare", "learn"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, tab
    page.set_viewport_size({"width": 1400, "height": 900})


def test_a_storm_of_texts_leaves_the_page_alive(page: Any) -> None:
    chance = Random(1)
    for _ in range(100):
        write(page, "".join(chance.choices(PIECES, k=chance.randrange(25))))
    write(page, "iron ; table")
    page.locator("#see-drawing .label", has_text="iron").wait_for()
    page.locator("#text[aria-invalid=false]").wait_for()


def test_tabs_answer_to_the_keyboard(page: Any) -> None:
    page.focus("#tab-see")
    for name in ("step", "compare", "learn", "see"):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("() => document.activeElement.id") == f"tab-{name}"
        assert page.locator(f"#{name}").is_visible()
