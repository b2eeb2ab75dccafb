"""Measures the Studio in a browser: until it is usable, single answers, and a machine learned from scratch.

    make studio
    .venv-studio/bin/python benchmarks/studio.py build/studio

Times are wall clock, in milliseconds, on the machine as it is; the browser's cache is warm from the second page on.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

PAGES = 4
ASK = """async () => {
  const { openEngine } = await import("./engine.js");
  const engine = await openEngine(() => {});
  const { shelves } = await engine.ask("examples");
  const cake = shelves.flatMap(({ examples }) => examples).find(({ name }) => name === "cake").text;
  const times = { draw: [], step: [] };
  for (let i = 0; i < 20; i += 1) {
    const source = { text: cake + " ".repeat(i) };
    for (const [action, rest] of [["draw", { source }], ["step", { source, trace: "wheat chicken" }]]) {
      const begun = performance.now();
      await engine.ask(action, rest);
      times[action].push(performance.now() - begun);
    }
  }
  return times;
}"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def served(folder: str) -> Iterator[str]:
    """The address of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def measured(context: Any, address: str) -> dict[str, Any]:
    """All times; the first page warms the cache."""
    usable = []
    for _ in range(PAGES):
        page = context.new_page()
        begun = time.perf_counter()
        page.goto(address)
        page.locator("#see-drawing svg").first.wait_for()
        usable.append(_since(begun))
    page.locator("#status", has_text="Ready").wait_for()
    answers = page.evaluate(ASK)
    page.fill("#text", "sugarcane ; workbench")
    page.click("#tab-learn")
    page.locator("#learn-labels button", has_text="sugarcane").wait_for()
    begun = time.perf_counter()
    page.click("#until-right")
    page.locator("#learn-log", has_text="Nothing refutes it").wait_for()
    return {
        "usable": usable,
        "draw": {"first": round(answers["draw"][0], 1), "slowest": round(max(answers["draw"]), 1)},
        "step": {"first": round(answers["step"][0], 1), "slowest": round(max(answers["step"]), 1)},
        "learned paper": _since(begun),
    }


def _since(begun: float) -> int:
    return round(1_000 * (time.perf_counter() - begun))


def main() -> None:
    browser_path = os.environ.get("BROWSER") or shutil.which("chromium")
    if browser_path is None:
        sys.exit("there is no browser: apt-get install chromium, as root, or its path in BROWSER")
    with served(sys.argv[1]) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        context = browser.new_context()
        context.set_default_timeout(120_000)
        print(json.dumps(measured(context, address) | {"load average": os.getloadavg()[0]}, indent=2))
        browser.close()


if __name__ == "__main__":
    main()
