"""Chromium, collectors and relays for the tests in a browser."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.browser._collecting import Relay, Served

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WATCH = """
globalThis.violations = [];
addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.effectiveDirective} ${event.blockedURI}`);
});
// How often the page draws random numbers: a submission is randomised once.
globalThis.draws = 0;
const draw = crypto.getRandomValues.bind(crypto);
Object.defineProperty(crypto, "getRandomValues", { value: (into) => {
  globalThis.draws += 1;
  return draw(into);
} });
"""


def chromium() -> str:
    """The path of Chromium; the tests fail without it where services are required."""
    found = os.environ.get("WARNER_CHROMIUM") or shutil.which("chromium")
    if found is None:
        remedy = "Chromium is not installed. Debian: apt-get install chromium"
        if os.environ.get("WARNER_REQUIRE_SERVICES") == "1":
            pytest.fail(remedy, pytrace=False)
        pytest.skip(remedy)
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start collectors, which end with the test."""
    started: list[Served] = []

    def start(text: str, codes: int = 0) -> Served:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Served(folder, text, codes))
        return started[-1]

    yield start
    for served in started:
        served.stop()


@pytest.fixture
def other_site() -> Iterator[Callable[[], Any]]:
    """A site of another origin, whose page, and files, are set later."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            files: dict[str, bytes] = self.server.files  # type: ignore[attr-defined]
            body = files.get(path, self.server.page.encode())  # type: ignore[attr-defined]
            self.send_response(200)
            kind = "text/javascript" if path.endswith(".js") else "text/html"
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.daemon_threads = True
    server.files, server.page = {}, ""  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    server.origin = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def relayed(serve: Callable[..., Served]) -> Iterator[Callable[..., tuple[Relay, Served]]]:
    """Start a collector behind a relay."""
    relays: list[Relay] = []

    def start(text: str, codes: int = 0) -> tuple[Relay, Served]:
        served = serve(text, codes)
        relays.append(Relay(served.url))
        return relays[-1], served

    yield start
    for relay in relays:
        relay.stop()


class People:
    """Browsers of people, each with a storage of its own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []

    def person(self, **settings: Any) -> BrowserContext:
        """A browser that was never used."""
        context = self._browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **settings}
        )
        context.set_default_timeout(15_000)
        context.add_init_script(WATCH)
        context.on("page", self._watch)
        self._contexts.append(context)
        return context

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, said: ConsoleMessage) -> None:
        # A browser says of itself that a connection failed, which tests bring about.
        expected = ("Failed to load resource", "Service Worker registration blocked")
        if said.type in ("error", "warning") and not any(own in said.text for own in expected):
            self.problems.append(said.text)

    def check(self) -> None:
        """No script has failed, and nothing was asked for that the policy of the page forbids."""
        violations = [
            violation
            for context in self._contexts
            for page in context.pages
            for violation in page.evaluate("globalThis.violations ?? []")
        ]
        assert violations == []
        assert self.problems == []

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def people(browser: Browser) -> Iterator[People]:
    everybody = People(browser)
    yield everybody
    try:
        everybody.check()
    finally:
        everybody.close()
