"""Nothing of an answer leaves the browser but the report, and reports have the declared law."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy.stats import chi2

from tests.browser._page import answered, choose, kept, opened, review, send, shown, stored
from tests.browser._studies import INVITED, SMALL, WHOLE
from warner.reports.reports import Reports
from warner.studies.study import Study

# Headers that tell one browser from another, or that the test's own connection makes.
OF_CONNECTION = {"host", "origin", "referer"}
EVERYTHING = """
async () => {
  const databases = {};
  for (const { name } of await indexedDB.databases()) {
    const open = indexedDB.open(name);
    const db = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
    for (const store of db.objectStoreNames) {
      const all = db.transaction(store).objectStore(store).getAll();
      databases[store] = await new Promise((resolve) => { all.onsuccess = () => resolve(all.result); });
    }
    db.close();
  }
  const controls = Array.from(document.querySelectorAll("input, select"), (c) => [
    c.id, c.type === "radio" || c.type === "checkbox" ? c.checked : c.value, c.getAttribute("value"),
  ]);
  return JSON.stringify({
    databases, local: { ...localStorage }, session: { ...sessionStorage },
    html: document.documentElement.outerHTML, url: location.href, state: history.state,
    cookie: document.cookie, name: window.name, length: history.length,
    controls: controls.filter(([, value, own]) => value === true || (own === null && value !== "")),
  });
}
"""


def _shape(relay: Any) -> list[tuple[Any, ...]]:
    """All requests of a browser, without the bytes that are random."""
    return [
        (
            sent.method,
            sent.path,
            [(name, value) for name, value in sent.headers if name.lower() not in OF_CONNECTION],
            len(sent.body),
            sent.body[:36],
        )
        for sent in relay.requests
    ]


def _by_path(relay: Any) -> list[tuple[Any, ...]]:
    """As :func:`_shape`, whatever the order in which a browser loads files side by side."""
    return sorted(_shape(relay), key=lambda sent: (sent[0], sent[1], str(sent[2])))


def test_requests_are_the_same_for_all_answers(people: Any, relayed: Any) -> None:
    relay, served = relayed(SMALL)
    shapes, bodies = [], []
    for answer in (0, 1, 2, 0):
        relay.requests.clear()
        # Without the worker, whose loading of files depends on the moment.
        context = people.person(service_workers="block")
        page = opened(context, relay.url)
        # The page loads its files once more, to keep them. That begins before anything is answered,
        # whatever the answer is, but a quick person has sent before all are there.
        kept(page)
        choose(page, "q0", answer)
        review(page)
        send(page)
        shapes.append(_by_path(relay))
        bodies += [sent.body for sent in relay.posts]
    assert all(shape == shapes[0] for shape in shapes[1:])
    (headers,) = {str(sent.headers) for sent in relay.posts}
    assert "cookie" not in headers.lower() and "referer" not in headers.lower()
    assert len(set(bodies)) == 4  # ids are drawn
    assert served.people() == 4


FILES = {
    "/",
    "/survey.css",
    "/survey.js",
    "/form.js",
    "/steps.js",
    "/outbox.js",
    "/warner.js",
    "/study.json",
    "/healthz",
}


def test_page_and_worker_ask_for_their_files_and_send_the_report_alone(
    people: Any, relayed: Any
) -> None:
    relay, _ = relayed(SMALL)
    page = answered(people.person(), relay.url)
    kept(page)
    send(page)
    page.reload()
    shown(page, "sent")
    loaded = {sent.path for sent in relay.requests if sent.method == "GET"}
    assert loaded == FILES | {"/sw.js"}
    assert all(not sent.body for sent in relay.requests if sent.method == "GET")
    assert [sent.path for sent in relay.requests if sent.method == "POST"] == ["/reports"]


def test_the_answers_are_gone_before_the_first_byte_leaves(people: Any, relayed: Any) -> None:
    relay, served = relayed(WHOLE)
    context = people.person(service_workers="block")
    page = opened(context, relay.url)
    choose(page, "q0", 1)
    page.fill("#q1-0", "7.8125")
    page.fill("#q2-0", "47")
    page.select_option("#q3-0", index=3)
    page.select_option("#q3-1", index=4)
    choose(page, "q4", 3)
    page.select_option("#q5-0", value="10")
    choose(page, "p0", 1)
    page.fill("#p1-0", "2026-03-04")
    review(page)
    listed = page.locator("[data-review]").all_text_contents()
    assert listed == ["yes", "7.8125 h", "47", "Row 3, column 4", "4", "Nov", "South", "2026-03-04"]
    seen: list[str] = []

    def look(route: Any) -> None:
        seen.append(page.evaluate(EVERYTHING))
        route.continue_()

    page.route("**/reports", look)
    send(page)
    (sent,) = relay.posts
    for state in (*seen, page.evaluate(EVERYTHING)):
        assert (
            "7.8125" not in state and "2026-03-04" not in state and "Row 3, column 4" not in state
        )
        assert '"controls":[]' in state
    assert len(seen) == 1
    port = str(urlsplit(relay.url).port)  # any number
    for part in (sent.path, str(sent.headers)):
        assert "7.8125" not in part and "47" not in part.replace(port, "")
    length = (
        36 + 16 + 4 * 2 + sum(m.schema.bytes_per_report for m in served.study.mechanisms.values())
    )
    assert len(sent.body) == length
    # The second value of the first public column, as it was given.
    assert sent.body[52:56] == (1).to_bytes(4, "little")
    assert served.people() == 1


def test_what_stays_on_a_device_does_not_show_which_report_came_from_it(
    people: Any, relayed: Any
) -> None:
    """Rejects: a note that is kept under the id of the report, for ever."""
    relay, served = relayed(INVITED, 1)
    context = people.person()
    page = answered(context, f"{relay.url}#code={served.codes[0]}")
    send(page)
    page.close()
    page = context.new_page()
    page.goto(relay.url)  # a page that knows no code
    page.wait_for_selector("#continue:not([disabled])")
    (note,) = stored(page)
    assert note["state"] == "sent" and note["body"] is None
    sent = relay.posts[0].body[36:].hex()
    state = page.evaluate(EVERYTHING) + str(note)
    assert all(sent[i : i + 16] not in state for i in range(0, len(sent) - 15, 2))


ALL_STORED = "JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])"


def test_an_answer_is_never_stored_before_send(people: Any, relayed: Any) -> None:
    relay, _ = relayed(WHOLE)
    page = opened(people.person(), relay.url)
    kept(page)
    page.fill("#q1-0", "7.8125")
    choose(page, "q4", 2)
    assert stored(page) == []
    page.reload()
    page.wait_for_selector("#continue:not([disabled])")
    # The worker had it in memory, for this tab, and has forgotten it now.
    assert page.input_value("#q1-0") == "7.8125" and page.is_checked("#q4-2")
    assert "7.8125" not in page.evaluate(ALL_STORED)
    page.click("#clear")
    page.wait_for_selector("#cleared:not([hidden])")
    assert page.input_value("#q1-0") == ""
    page.reload()
    page.wait_for_selector("#continue:not([disabled])")
    assert page.input_value("#q1-0") == "" and page.locator("input:checked").count() == 0
    assert relay.posts == []


MECHANISMS = {
    "RandomizedResponse": 'mechanism = "RandomizedResponse"\nepsilon = 1.0',
    "UnaryEncoding": 'mechanism = "UnaryEncoding"\nepsilon = 2.0',
    "SubsetSelection": 'mechanism = "SubsetSelection"\nepsilon = 0.7',
}
REPORTS = 100_000
DRAW = """
async ([answer, times]) => {
  const warner = await import("/warner.js");
  const reply = await fetch("/study.json");
  const survey = await warner.readSurvey(await reply.arrayBuffer());
  const [question] = survey.questions;
  const parts = [];
  for (let i = 0; i < times; i += 1) parts.push(warner.randomize(question, answer));
  const all = new Uint8Array(parts.length * parts[0].length);
  parts.forEach((part, i) => all.set(part, i * part.length));
  let text = "";
  for (let i = 0; i < all.length; i += 4096) {
    text += String.fromCharCode(...all.subarray(i, i + 4096));
  }
  return btoa(text);
}
"""


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_made_in_the_browser_have_the_declared_law(
    people: Any, relayed: Any, name: str
) -> None:
    """Rejects a browser that samples a neighbouring epsilon, or a biased generator.

    The chi-square statistic of 10^5 reports is compared with its 1 - 10^-6 quantile. With an
    epsilon wrong by a fifth it exceeds that: the same reports are held against such a law.
    """
    import base64

    text = f'[attributes.a]\nvalues = ["a", "b", "c", "d"]\n{MECHANISMS[name]}\n'
    text += '[collect]\naccess = "open"\n'
    relay, served = relayed(text)
    page = opened(people.person(), relay.url)
    raw = base64.b64decode(page.evaluate(DRAW, ["b", REPORTS]))
    assert _statistic(served.study, raw) < chi2.isf(1e-6, _degrees(served.study))
    epsilon = float(text.split("epsilon = ")[1].split()[0])
    wrong = Study.parse(text.replace(f"epsilon = {epsilon}", f"epsilon = {1.2 * epsilon}"))
    assert _statistic(wrong, raw) > chi2.isf(1e-6, _degrees(wrong))


def _law(study: Study) -> np.ndarray:
    """(m,) the probability of each report from the second value."""
    (mechanism,) = study.mechanisms.values()
    return np.asarray(mechanism.probabilities())[:, 1].astype(float)


def _degrees(study: Study) -> int:
    return int(np.count_nonzero(_law(study))) - 1


def _statistic(study: Study, raw: bytes) -> float:
    """Pearson's statistic of the reports against the declared law."""
    (mechanism,) = study.mechanisms.values()
    records = np.frombuffer(raw, dtype=np.uint8).reshape(REPORTS, -1)
    listed = [bytes(record) for record in _records(mechanism)]
    place = {record: i for i, record in enumerate(listed)}
    counts = np.zeros(len(listed))
    found, times = np.unique(records, axis=0, return_counts=True)
    for record, count in zip(found, times, strict=True):
        counts[place[record.tobytes()]] += count
    expected = REPORTS * _law(study)
    possible = expected > 0
    assert not counts[~possible].any()
    return float((((counts - expected) ** 2)[possible] / expected[possible]).sum())


def _records(mechanism: Any) -> np.ndarray:
    """(m, bytes) all reports of a mechanism as bytes, in the order of its law."""
    every = Reports(mechanism.header, mechanism.outputs(), True)
    return every.record_array().view(np.uint8).reshape(len(every), -1)
