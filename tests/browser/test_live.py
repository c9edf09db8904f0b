"""The owner's live page in a real browser, served by the real collector."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.browser._page import violations
from warner.collector.submissions import SubmissionFormat
from warner.studies.study import Study

STUDY = """
title = "Habits & <b>health</b>"
[collect]
access = "open"
people = 1000
step = 100
[public.ward]
values = ["north", "south"]
[attributes.smokes]
label = "Do you <i>smoke</i>?"
values = ["no", "<script>yes</script>"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 40]
mechanism = "UnaryEncoding"
variant = "oue"
epsilon = 2.0
"""


class Owner:
    """A collector, and what its owner and its people do."""

    def __init__(self, served: Any) -> None:
        self.served = served
        self.study, self.url = Study.parse(STUDY), served.url
        self.live, self.token = served.live, served.live.partition("?token=")[2]
        assert self.token, "the token was not printed"
        self._rng = np.random.default_rng(4)

    def send(self, people: int) -> None:
        """People answer."""
        reports = {
            name: mechanism.randomize(
                [mechanism.domain.labels[i] for i in self._rng.integers(2, size=people)]
            )
            for name, mechanism in self.study.mechanisms.items()
        }
        wards = {"ward": self._rng.choice(["north", "south"], size=people).tolist()}
        body = SubmissionFormat(self.study).seal(reports, wards)
        headers = {"content-type": "application/octet-stream"}
        request = urllib.request.Request(f"{self.url}reports", body, headers)
        with urllib.request.urlopen(request, timeout=90) as reply:
            assert reply.status == 202

    @contextmanager
    def again(self) -> Iterator[None]:
        """The collector once more, on the same port and with the same store."""
        process = self.served.again(urlsplit(self.url).port)
        try:
            yield
        finally:
            process.stop()

    def load(self, name: str) -> bytes:
        """A file of the live page, without a browser."""
        address = f"{self.url}live/{name}"
        headers = {"authorization": f"Bearer {self.token}"}
        with urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=90
        ) as reply:
            content: bytes = reply.read()
        return content


@pytest.fixture
def owner(serve: Any) -> Owner:
    return Owner(serve(STUDY))


def _step(page: Any, number: int, n: int) -> None:
    """Wait until a step is shown. The process that estimates it starts at the first one."""
    shown = page.locator("#about-step", has_text=f"Step {number} has {n} reports.")
    shown.wait_for(timeout=90_000)


def _plain(text: str) -> str:
    """HTML without blanks between tags, and without what a person opened."""
    return re.sub(r">\s+<", "><", text).replace(' open=""', "").strip()


def test_a_step_is_drawn_as_the_server_writes_it(people: Any, owner: Owner) -> None:
    page = people.person().new_page()
    page.goto(owner.live)
    assert page.url.endswith("/live")  # the token does not stay in the address
    assert "is published after 100 reports from groups of at least" in page.inner_text("#progress")
    owner.send(130)
    _step(page, 1, 130)
    page.locator("#sections details").evaluate("(folded) => { folded.open = true; }")
    owner.send(99)
    owner.send(1)
    _step(page, 2, 230)
    assert page.locator("#sections details[open]").count() == 1  # nothing is folded again
    assert "230 of 1,000 reports; shares are now uncertain by about" in page.inner_text("#progress")
    drawn, status = page.inner_html("#sections"), page.inner_text("#status")
    page.reload()
    plain = people.person(java_script_enabled=False).new_page()
    plain.goto(owner.live)
    assert _plain(plain.inner_html("#sections")) == _plain(drawn)
    assert plain.inner_text("#status") == status
    assert plain.locator("#sections table caption").count() == 4  # bands, and all rows of numbers
    assert plain.locator("#sections script, #sections i").count() == 0


def test_only_the_number_of_reports_reaches_the_browser_between_two_steps(
    people: Any, owner: Owner
) -> None:
    owner.send(100)
    page = people.person().new_page()
    page.goto(owner.live)
    _step(page, 1, 100)
    files = ("tally.json", "estimates.json", "estimates.csv", "card.json")
    before, shown = [owner.load(name) for name in files], page.inner_html("main")
    owner.send(99)
    page.wait_for_timeout(1500)
    count = page.locator("#about-count")
    count.filter(has_text="199 reports, of which 100 are in this result").wait_for(timeout=9000)
    changed = r'<p id="about-count">.*?</p>|<progress .*?</progress>|<svg.*?</svg>'
    assert re.sub(changed, "", page.inner_html("main")) == re.sub(changed, "", shown)
    assert [owner.load(name) for name in files] == before
    page.reload()
    assert page.inner_html("#sections") and "has 100 reports" in page.inner_text("#about-step")


def test_closing_by_the_button_publishes_the_rest(people: Any, owner: Owner) -> None:
    owner.send(103)
    page = people.person().new_page()
    page.goto(owner.live)
    _step(page, 1, 103)
    owner.send(7)
    page.click("#close button")
    assert page.is_visible("#close button")  # one click alone does not close for good
    page.check("#close input[type=checkbox]")
    page.click("#close button")
    page.locator("#status", has_text="Closed").wait_for()
    _step(page, 2, 110)
    page.locator("#final").wait_for()
    assert not page.is_visible("#close button") and not page.is_visible("#open button")


def test_the_first_step_brings_the_files_without_a_reload(people: Any, owner: Owner) -> None:
    page = people.person().new_page()
    page.goto(owner.live)
    assert page.is_visible("#no-files") and not page.is_visible("#files")
    owner.send(3)
    page.locator("#about-count", has_text="Counted so far: 3 reports").wait_for(timeout=9000)
    assert page.locator("#bar").evaluate("bar => bar.value") == 3
    owner.send(97)
    _step(page, 1, 100)
    assert page.is_visible("#files") and not page.is_visible("#no-files")
    assert page.inner_text("#command").startswith("warner estimate tally.json")


def test_a_lost_connection_is_said_and_made_again_after_a_restart(
    people: Any, owner: Owner
) -> None:
    owner.send(130)
    page = people.person().new_page()
    page.goto(owner.live)
    _step(page, 1, 130)
    owner.served.stop()
    page.locator("#connection", has_text="Trying again").wait_for()
    with owner.again():
        page.locator("#connection").wait_for(state="hidden", timeout=30_000)
        owner.send(90)  # 220, but only 90 more than the step before the restart
        page.wait_for_timeout(1000)
        _step(page, 1, 130)
        owner.send(10)
        _step(page, 2, 230)


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_the_owner_has_a_violation(
    people: Any, owner: Owner, width: int, scheme: str
) -> None:
    page = people.person(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.goto(owner.live)
    found = {}
    for name in ("live", "live", "live?by=ward", "live/card.html"):
        if name in found:
            owner.send(300)
            _step(page, 1, 300)
        page.goto(f"{owner.url}{name}")
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        found[name] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert {name: rules for name, rules in found.items() if rules} == {}
