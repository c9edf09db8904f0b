"""The recipe for pages of other survey tools, as it is written, in a real browser."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser

from tests.spec.app._command import run
from warner.reports.tally import load_tallies

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "hidden_field.md"


def _block(kind: str) -> str:
    """The one block of the recipe that is of a kind."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", RECIPE.read_text(), re.DOTALL)
    return str(found)


class _Tool(SimpleHTTPRequestHandler):
    """A survey tool: it serves a folder, and keeps what forms send."""

    sent: list[bytes]

    def do_POST(self) -> None:
        self.sent.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[bytes]]]:
    monkeypatch.chdir(tmp_path)
    study = re.search(r"%%writefile study.toml\n(.*?)```", RECIPE.read_text(), re.DOTALL)
    assert study is not None
    Path("study.toml").write_text(study[1])
    told = run("study", "embed", "study.toml", "-o", "page").stderr
    stated = {
        "INTEGRITY": re.search(r'integrity="(sha256-\S+)"', told),
        "FINGERPRINT": re.search(r'readSurvey\(served, "([0-9a-f]{64})"\)', told),
    }
    for kind, name in (("html", "index.html"), ("js", "embedded.js")):
        text = _block(kind)
        for room, printed in stated.items():
            assert printed is not None
            text = text.replace(room, printed[1])
        Path("page", name).write_text(text)
    sent: list[bytes] = []
    handler = type("Tool", (_Tool,), {"sent": sent})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory="page"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", sent
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_page_sends_a_report_once_drawn_and_never_the_answer(
    browser: Browser, tool: tuple[str, list[bytes]]
) -> None:
    address, sent = tool
    chosen = ["never", "sometimes", "daily"] * 2
    page = browser.new_page()
    for answer in chosen:
        page.goto(address)
        page.wait_for_selector("button:not([disabled])")
        page.fill("input[name=q6_age]", "44")
        page.select_option("#smokes", label=answer)
        with page.expect_response("**/answers"):
            page.click("button")
    forms = [parse_qs(body.decode()) for body in sent]
    assert [set(form) for form in forms] == [{"q6_age", "q7_report"}] * len(chosen)
    Path("export.csv").write_text(
        "\n".join(["q6_age,q7_report", *(f"44,{form['q7_report'][0]}" for form in forms), ""])
    )
    column = ["--study", "study.toml", "--column", "smokes=q7_report"]
    done = run("tally", "export.csv", *column, "-o", "t.json")
    assert "Every report belongs to this study" in done.stderr
    tally = load_tallies("t.json")["smokes"]
    told = Counter(form["q7_report"][0][-2:] for form in forms)
    assert tally.counts.tolist() == [told["00"], told["01"], told["02"]]


def test_a_second_attempt_sends_the_same_report(
    browser: Browser, tool: tuple[str, list[bytes]]
) -> None:
    address, sent = tool
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("button:not([disabled])")
    page.select_option("#smokes", label="daily")
    for _ in range(8):
        with page.expect_response("**/answers"):
            page.click("button")
    assert len(sent) == 8 and len(set(sent)) == 1
    assert page.evaluate("document.querySelector('#smokes').value") == ""


@pytest.mark.parametrize("name", ["study.json", "warner.js"])
def test_a_file_that_was_replaced_gets_no_answer(
    browser: Browser, tool: tuple[str, list[bytes]], name: str
) -> None:
    """Rejects: a page that runs with any study and with any program."""
    address, sent = tool
    path = Path("page", name)
    replaced = path.read_text().replace("Do you smoke?", "Do you smoke now?")
    path.write_text(replaced if name == "study.json" else f"globalThis.replaced = 1;\n{replaced}")
    page = browser.new_page()
    page.goto(address)
    page.wait_for_timeout(1000)
    assert page.evaluate("globalThis.replaced") is None
    assert page.is_disabled("button") and sent == []


def test_without_script_nothing_is_sent(browser: Browser, tool: tuple[str, list[bytes]]) -> None:
    address, sent = tool
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    assert page.is_disabled("button") and sent == []
