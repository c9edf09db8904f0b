"""What those who operate a collector read: metrics, and a log of events, without people."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.spec.collector._web import KIND, SERVED, Client, ask, site
from tests.spec.collector.web.test_application import refused
from tests.spec.collector.web.test_server import _end, _start
from warner.collector.access import METRICS, token_hash
from warner.collector.submissions import SubmissionFormat
from warner.collector.web import metrics
from warner.studies.study import Study

LINE = r"(# (HELP|TYPE) warner_\w+ .+|warner_\w+({\w+=\"[^\"\n]*\"})? [0-9.]+)"


def test_metrics_say_what_the_live_page_says_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects numbers that change with each report, by which its moment could be read."""
    clock = [0.0]
    monkeypatch.setattr(metrics, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with site(tmp_path / "a.sqlite") as web, Client(web.application) as client:
        web.collector.keep_owner(METRICS, token_hash("prometheus"))
        bearer = {"authorization": "Bearer prometheus"}
        refused(client.get("/live/metrics"), "no_owner")

        def read() -> str:
            answer = client.get("/live/metrics", headers=bearer)
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert all(re.fullmatch(LINE, line) for line in answer.text.splitlines()), answer.text
            return str(answer.text)

        first = read()
        assert "\nwarner_people 0\n" in first and "warner_store_up 1" in first
        assert "warner_survey_open 1" in first and "warner_refused_total{" not in first
        for _ in range(12):
            assert client.post("/reports", content=web.body(), headers=KIND).status_code == 202
        assert client.post("/reports", content=b"x", headers=KIND).status_code == 400
        web.collector.remember("x", b"")  # with the counters of refused requests
        web.live.look()
        assert read() == first
        clock[0] = 61.0
        second = read()
        for line in (
            "warner_people 12",
            "warner_people_published 12",
            'warner_refused_total{reason="malformed"} 1',
            'warner_reply_seconds_bucket{le="+Inf"} 12',
            "warner_reply_seconds_count 12",
            "warner_waiting 0",
        ):
            assert f"\n{line}\n" in second
        size = re.search(r"\nwarner_store_bytes (\d+)\n", second)
        assert size is not None and int(size[1]) > 10_000
        # Two people who are not published yet are counted, and nothing else of them is there.
        web.collector.submit(web.collector.format.parse(web.body(2))).result()
        web.live.look()
        clock[0] = 122.0
        assert "\nwarner_people 14\n" in read() and "\nwarner_people_published 12\n" in read()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_events_in_json_have_no_people_addresses_ids_or_contents(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(SERVED + 'keep_ids = "always"\n')
    plan = Study.parse(study.read_text())
    form = SubmissionFormat(plan)
    body = form.seal({name: m.randomize(["no", "yes"] if name == "smokes" else [1, 2])
                      for name, m in plan.mechanisms.items()})  # fmt: skip
    sent = {**KIND, "x-forwarded-for": "192.0.2.77", "user-agent": "canary-agent"}
    serve = ["--log", "json", "--proxy", "127.0.0.1", "--token-for", "anna-canary"]
    process, port, token = _start(study, *serve)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        anna = line.partition("token=")[2].strip()
        bearer = {"authorization": f"Bearer {anna}"}
        assert ask(port, "POST", "/reports", body, sent)[0] == 202
        assert ask(port, "POST", "/reports?canary-query", b"canary-body", sent)[0] == 400
        assert ask(port, "GET", "/live", None, {"authorization": "Bearer canary-token"})[0] == 401
        assert ask(port, "POST", "/live/backup", b"", bearer)[0] == 200
        for name in ("close", "open"):
            assert ask(port, "POST", f"/live/{name}", b"", bearer)[0] == 303
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        _end(process)
    text = study.with_suffix(".log").read_text()
    events = [json.loads(line) for line in text.splitlines()]
    assert {tuple(event) for event in events} == {("time", "level", "event")}
    said = [event["event"] for event in events]
    for event in ("the store was copied", "the survey was closed", "the survey was opened"):
        assert event in said
    assert said[-2].startswith("Stopped. 2 people have answered")
    ids = form.parse(body).ids
    traces = [token, anna, "anna", "canary", "192.0.2.77", *(row.tobytes().hex() for row in ids)]
    traces += [body.hex(), body[-16:].hex(), str(list(ids[0]))]
    assert not [trace for trace in traces if trace in text]
