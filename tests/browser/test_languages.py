"""The survey page in every language that it speaks, on a phone."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser._collecting import Served
from tests.browser._page import opened
from tests.browser.conftest import People
from warner.collector.pages.wording import LANGUAGES, Words

STUDY = f"""
languages = {list(LANGUAGES)}
[collect]
access = "open"
[attributes.smokes]
values = ["0", "1"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 60]
missing = "answer"
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.place]
grid = {{ rows = 3, columns = 4 }}
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.month]
values = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"]
mechanism = "HadamardResponse"
epsilon = 1.0
[public.visit]
dates = "month"
"""
WIDE = """() => {
  const edge = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= edge) return [];
  return [...document.querySelectorAll("body *")].filter((e) => {
    const { left, right, width } = e.getBoundingClientRect();
    return width > 0 && (right > edge + 1 || left < -1);
  }).map((e) => `${e.tagName} ${e.textContent.slice(0, 60)}`);
}"""
SHOW_ALL = "document.querySelectorAll('[hidden], details').forEach((e) => { e.hidden = false; e.open = true; })"


def test_every_language_fits_a_phone(people: People, serve: Callable[..., Served]) -> None:
    """Rejects: a long word or a button that makes the page scroll sideways, in any state."""
    served = serve(STUDY)
    person = people.person(viewport={"width": 360, "height": 740})
    for language in LANGUAGES:
        page = opened(person, f"{served.url}?lang={language}")
        words = Words(language)
        root = page.locator("html")
        assert root.get_attribute("lang") == language
        assert page.evaluate("getComputedStyle(document.body).direction") == words.direction
        assert page.evaluate(WIDE) == [], language
        page.click("#continue")  # the errors
        assert page.evaluate(WIDE) == [], language
        page.check("[name=q0]")
        page.fill("[name=q1]", "7")
        page.select_option("[name=q2-row]", "1")
        page.select_option("[name=q2-column]", "1")
        page.select_option("[name=q3]", "1")
        page.fill("[name=p0]", "2026-05-01")
        page.click("#continue")
        page.wait_for_selector("#send")
        assert page.inner_text("#send").strip() == words.plain("send")
        page.locator("#send").scroll_into_view_if_needed()  # it stands below all that is said
        box = page.locator("#send").bounding_box()
        assert box is not None and box["y"] + box["height"] <= 740, language
        assert page.evaluate(WIDE) == [], language
        page.evaluate(SHOW_ALL)  # every sentence that the page can say
        assert page.evaluate(WIDE) == [], language
        page.close()
