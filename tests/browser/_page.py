"""What a person does on the survey page, and what a test reads from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = """
async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.target).join(", ")}`);
}
"""
STORED = """
async () => {
  const open = indexedDB.open("warner", 1);
  open.onupgradeneeded = () => open.result.createObjectStore("outbox", { keyPath: "key" });
  const db = await new Promise((resolve, reject) => {
    open.onsuccess = () => resolve(open.result);
    open.onerror = () => reject(open.error);
  });
  const all = db.transaction("outbox").objectStore("outbox").getAll();
  const found = await new Promise((resolve) => { all.onsuccess = () => resolve(all.result); });
  db.close();
  return found.map((sealed) => ({
    ...sealed, body: sealed.body && Array.from(sealed.body, (b) => b.toString(16).padStart(2, "0")).join(""),
  }));
}
"""

KEPT = """
async () => {
  const cache = await caches.open("warner-survey");
  const files = [location.href, "survey.css", "survey.js", "steps.js", "outbox.js", "warner.js", "study.json"];
  const found = await Promise.all(files.map((file) => cache.match(file)));
  return found.every((reply) => reply !== undefined);
}
"""


def opened(context: BrowserContext, address: str) -> Page:
    """The survey page, when it can be answered."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#continue:not([disabled])")
    return page


def kept(page: Page) -> None:
    """Wait until the page has kept all its files for times without a connection."""
    for _ in range(1500):  # wait_for_function would not wait for a promise
        if page.evaluate(KEPT):
            return
        page.wait_for_timeout(20)
    raise AssertionError("the page does not keep its files")


def choose(page: Page, question: str, index: int | str) -> None:
    """Choose an answer by its place."""
    page.check(f'input[name="{question}"][value="{index}"]')


def review(page: Page) -> None:
    """Go on to the list that a person checks."""
    page.click("#continue")
    page.wait_for_selector("#review:not([hidden])")


def answer(page: Page, index: int) -> None:
    """Answer the small study, and go on to the list."""
    choose(page, "q0", index)
    review(page)


def send(page: Page, state: str = "sent") -> None:
    """Press Send, and wait for a panel."""
    page.click("#send")
    shown(page, state)


def shown(page: Page, state: str) -> None:
    """Wait for a panel."""
    page.wait_for_selector(f"#state-{state}:not([hidden])")


def press(page: Page, state: str, action: str) -> None:
    """Press a button of a panel."""
    page.locator(f'[data-state="{state}"] [data-action="{action}"]').click()


def waits(page: Page, state: str, reason: str) -> None:
    """Wait until a panel says why nothing is sent yet."""
    page.wait_for_selector(f'[data-state="{state}"] [data-reason="{reason}"]:not([hidden])')


def answered(context: BrowserContext, address: str, index: int = 1) -> Page:
    """The page of the small study, answered, with the list that a person checks."""
    page = opened(context, address)
    answer(page, index)
    return page


def stored(page: Page) -> list[dict[str, Any]]:
    """The records of the outbox, with bytes as hexadecimal digits."""
    found: list[dict[str, Any]] = page.evaluate(STORED)
    return found


def shown_bytes(page: Page) -> bytes:
    """The bytes that the page says it has sent."""
    rooms = page.locator("[data-bytes]").all_text_contents()
    return bytes.fromhex("".join(rooms).replace(" ", ""))


def draws(page: Page) -> int:
    """How often the page has drawn random numbers since it was opened."""
    found: int = page.evaluate("globalThis.draws")
    return found


def held_requests(page: Page, pattern: str) -> Callable[[], Route]:
    """Hold back what the page asks for; returns a function that waits for the next request."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))

    def next_one() -> Route:
        # Playwright tells of a request before it calls the route's handler.
        for _ in range(500):
            if held:
                return held.pop(0)
            page.wait_for_timeout(20)
        raise AssertionError(f"the page asked for no {pattern} in 10 seconds")

    return next_one


def violations(page: Any) -> list[str]:
    """What is not accessible on the page, by the rules of axe-core."""
    assert AXE.is_file(), "axe-core is not installed: make test-browser"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(VIOLATIONS)
    return found
