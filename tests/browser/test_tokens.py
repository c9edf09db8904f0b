"""Codes that are exchanged for tokens: one report of each, and nobody can tell whose it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser._collecting import Relay, Served, Started
from tests.browser._page import (
    answer,
    answered,
    opened,
    press,
    send,
    shown,
    shown_bytes,
    stored,
    violations,
    waits,
)
from tests.browser._studies import SMALL
from tests.spec.app._command import run
from warner.collector.access import codes_in, invited_id
from warner.collector.submissions import HEAD_BYTES
from warner.collector.tokens import REQUEST_BYTES

DRAWS = """
async () => {
  const open = indexedDB.open("warner", 1);
  const db = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
  const all = db.transaction("draws").objectStore("draws").getAllKeys();
  const found = await new Promise((resolve) => { all.onsuccess = () => resolve(all.result); });
  db.close();
  return found;
}
"""


@dataclass
class Parties:
    """A collector and an issuer, each behind a relay."""

    collector: Relay
    issuer: Relay
    served: Served
    codes: list[str]

    def link(self, person: int) -> str:
        return f"{self.collector.url}#code={self.codes[person]}"

    @property
    def requests(self) -> list[bytes]:
        """What the issuer was asked to sign."""
        return [sent.body for sent in self.issuer.requests if sent.method == "POST"]


@pytest.fixture
def parties(relayed: Any, tmp_path: Path) -> Iterator[Callable[..., Parties]]:
    started: list[Any] = []

    def start(wait: int = 0, codes: int = 2, more: str = "") -> Parties:
        issuer = Relay("")
        started.append(issuer)
        study = tmp_path / "small.toml"
        study.write_text(SMALL, encoding="utf-8")
        made = ["--issuer", issuer.url.rstrip("/"), "-o", str(tmp_path / "issuer.pem")]
        table = run("collect", "keys", str(study), *made).stdout
        text = SMALL.replace('access = "open"', 'access = "tokens"')
        text += f"{more}{table}wait = {wait}\n"
        collector, served = relayed(text)
        store, listed = str(tmp_path / "codes.sqlite"), tmp_path / "codes.csv"
        options = ["-n", str(codes), "-o", str(listed), "--store", store]
        run("collect", "invite", str(served.path), *options)
        where = ["--keys", str(tmp_path / "issuer.pem"), "--port", "0", "--store", store]
        process = Started("collect", "issue", str(served.path), *where)
        started.append(process)
        issuer.target = process.line().split()[1]
        return Parties(collector, issuer, served, codes_in(str(listed)))

    yield start
    for each in started:
        each.stop()


def test_a_code_becomes_a_token_and_neither_party_sees_both(people: Any, parties: Any) -> None:
    all_of = parties()
    page = answered(people.person(), all_of.link(0))
    assert violations(page) == []
    send(page)
    (request,) = all_of.requests
    (report,) = all_of.collector.posts
    assert len(request) == REQUEST_BYTES and request.startswith(b"WRNB")
    plain = all_of.codes[0].replace("-", "")
    assert request[36:52] == plain.encode()
    assert report.body == shown_bytes(page) and report.body.startswith(b"WRNT")
    everything = b"".join(sent.body for sent in all_of.collector.requests)
    assert plain.encode() not in everything
    assert invited_id(all_of.served.study.digest, plain) not in everything
    blinded = request[52:]
    assert not any(blinded[at : at + 16] in report.body for at in range(len(blinded) - 15))
    assert page.evaluate(DRAWS) == [], "what covers the token can connect it with the code"
    assert violations(page) == []
    assert all_of.served.people() == 1


def test_another_device_gets_no_token_and_makes_no_report(people: Any, parties: Any) -> None:
    all_of = parties()
    send(answered(people.person(), all_of.link(0)))
    page = answered(people.person(), all_of.link(0))
    send(page, "spent")
    assert violations(page) == []
    assert page.locator("#questions input:checked").count() == 0 and stored(page) == []
    assert len(all_of.collector.posts) == 1
    other = answered(people.person(), f"{all_of.collector.url}#code=ABCD-EFGH-JKMN-PQRS")
    send(other, "not-invited")
    send(answered(people.person(), all_of.link(1)))
    assert all_of.served.people() == 2


def test_a_lost_answer_of_the_issuer_comes_again_also_after_a_new_start(
    people: Any, parties: Any
) -> None:
    """Rejects a page that draws anew: its code would be spent, and no report be made."""
    all_of, person = parties(), people.person()
    all_of.issuer.lost_replies = 1
    page = answered(person, all_of.link(0))
    page.click("#send")
    shown(page, "waiting")
    waits(page, "waiting", "unavailable")
    assert violations(page) == []
    page.close()
    page = answered(person, all_of.link(0))
    send(page)
    first, second = all_of.requests
    assert first == second
    assert all_of.served.people() == 1


def test_a_report_waits_for_a_while_that_nobody_knows(people: Any, parties: Any) -> None:
    """Rejects a page that sends at once, or that forgets on a new load how long it waits."""
    all_of, person = parties(wait=86_400), people.person()
    page = answered(person, all_of.link(0))
    send(page, "delayed")
    assert violations(page) == []
    assert page.locator('#state-delayed [data-action="try"]').count() == 0
    (sealed,) = stored(page)
    assert not sealed["tried"] and bytes.fromhex(sealed["body"])[HEAD_BYTES:]
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    shown(page, "delayed")
    assert stored(page)[0]["due"] == sealed["due"] and all_of.collector.posts == []
    press(page, "delayed", "stop")
    page.wait_for_selector("#cleared:not([hidden])")
    assert stored(page) == [] and all_of.served.people() == 0


def test_a_short_wait_ends_by_itself(people: Any, parties: Any) -> None:
    all_of = parties(wait=2)
    page = answered(people.person(), all_of.link(0))
    page.click("#send")
    shown(page, "sent")
    assert all_of.served.people() == 1


def test_who_has_no_code_is_told_on_a_phone(people: Any, parties: Any) -> None:
    all_of = parties()
    page = opened(people.person(viewport={"width": 360, "height": 740}), all_of.collector.url)
    page.check('input[name="q0"][value="1"]')
    page.click("#continue")
    page.wait_for_selector("#errors:not([hidden])")
    page.fill("#code-0", all_of.codes[0].lower())
    answer(page, 1)
    assert page.locator(".leaves").inner_text()
    send(page)
    assert all_of.served.people() == 1


PAGE = """<!doctype html>
<title>An app</title>
<p id="said">...</p>
<script type="module">
  import { send } from "SURVEYsend.js";
  const code = "CODE";
  document.getElementById("said").textContent = await send({ pills: "often" }, { code });
</script>
"""


def test_a_page_of_its_own_exchanges_its_code_and_waits(
    people: Any, parties: Any, other_site: Any
) -> None:
    all_of = parties(wait=1, more=f'origins = ["{other_site.origin}"]\n')
    all_of.issuer.lost_replies = 1
    page_of = PAGE.replace("SURVEY", all_of.collector.url)
    other_site.page = page_of.replace("CODE", all_of.codes[0])
    page = people.person().new_page()
    page.goto(other_site.origin)
    page.locator("#said", has_text="sent").wait_for()
    first, second = all_of.requests
    assert first == second and page.evaluate(DRAWS) == []
    stranger = people.person().new_page()
    stranger.goto(other_site.origin)
    stranger.locator("#said", has_text="spent").wait_for()
    assert len(all_of.collector.posts) == 1 and all_of.served.people() == 1
