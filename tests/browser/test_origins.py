"""A page of another origin sends reports: in ten lines, once, and only where the study names it."""

from __future__ import annotations

from typing import Any

from tests.browser._collecting import Relay
from warner.collector.submissions import SubmissionFormat

STUDY = """
[attributes.theme]
values = ["light", "dark"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
access = "open"
origins = ["ORIGIN"]
"""
PAGE = """<!doctype html>
<title>An app</title>
<p id="said">...</p>
<script type="module">
  import { send } from "SURVEYsend.js";
  document.getElementById("said").textContent = await send({ theme: "dark" });
</script>
"""
FRAME = '<!doctype html><title>An app</title><iframe src="SURVEY" title="survey"></iframe>'


def _said(page: Any, text: str) -> None:
    page.locator("#said", has_text=text).wait_for()


def test_a_page_of_a_named_origin_sends_once_whatever_happens(
    people: Any, serve: Any, other_site: Any
) -> None:
    """Rejects a module that randomises the answer again at the next visit, or loses it offline."""
    served = serve(STUDY.replace("ORIGIN", other_site.origin))
    relay = Relay(served.url)
    other_site.page = PAGE.replace("SURVEY", relay.url)
    person = people.person()
    page = person.new_page()
    relay.lost_replies = 1
    page.goto(other_site.origin)
    _said(page, "sent")  # the second try has sent the same bytes
    for _ in range(2):
        page.reload()
        _said(page, "already")  # so that nobody takes new answers for sent
    bodies = {sent.body for sent in relay.posts}
    assert len(bodies) == 1
    headers = {name.lower() for sent in relay.posts for name, _ in sent.headers}
    assert "cookie" not in headers and "referer" not in headers
    relay.stop()
    assert served.people() == 1


def test_a_page_reports_on_one_setting_in_all_rounds(
    people: Any, serve: Any, other_site: Any
) -> None:
    """Rejects a module that draws another setting in a later round, and spends epsilon on that too."""
    names = [f"s{n}" for n in range(6)]
    settings = "".join(f'[attributes.{name}]\nvalues = ["off", "on"]\n' for name in names)
    text = (
        "[repeat]\nrounds = 4\nround = 1\nforever = 2.0\n"
        f'[ask]\neach = "one"\nepsilon = 1.0\n{settings}[collect]\naccess = "open"\n'
        f'origins = ["{other_site.origin}"]\n'
    )
    rounds = [serve(text.replace("round = 1", f"round = {number}")) for number in (1, 2, 3)]
    relay = Relay(rounds[0].url)
    answers = ", ".join(f'{name}: "on"' for name in names)
    other_site.page = PAGE.replace("SURVEY", relay.url).replace('theme: "dark"', answers)
    page = people.person().new_page()
    blocks = set()
    for served in rounds:
        relay.target = served.url
        page.goto(other_site.origin)
        _said(page, "sent")
        batch = SubmissionFormat(served.study).parse(relay.posts[-1].body)
        blocks.add(int(batch.reports["questions"].columns["block"][0]))
        assert served.people() == 1
    assert len(blocks) == 1 and len(relay.posts) == 3
    relay.stop()


def test_no_other_origin_sends_or_frames(people: Any, serve: Any, other_site: Any) -> None:
    """Rejects a collector that answers every origin, and frames that anybody can lay over."""
    stranger = serve(STUDY.replace("ORIGIN", "https://app.example.org"))
    other_site.page = PAGE.replace("SURVEY", stranger.url)
    person = people.person()
    refused: list[str] = []
    page = person.new_page()
    page.on("console", lambda said: refused.append(said.text))
    page.goto(other_site.origin)
    page.wait_for_timeout(500)
    assert page.inner_text("#said") == "..." and any("CORS" in text for text in refused)
    other_site.page = FRAME.replace("SURVEY", stranger.url)
    framed = person.new_page()
    framed.goto(other_site.origin)
    assert framed.frame_locator("iframe").locator("#continue").count() == 0
    people.problems.clear()  # the browser says that it has refused both
    friend = serve(STUDY.replace("ORIGIN", other_site.origin))
    other_site.page = FRAME.replace("SURVEY", friend.url)
    framed.goto(other_site.origin)
    framed.frame_locator("iframe").locator("#continue:not([disabled])").wait_for()
