"""A stranger's check of a running survey finds what is planted, and nothing in an honest survey."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.browser._collecting import Headers, Relay, Served
from tests.browser.conftest import chromium
from tests.spec.app._command import run
from warner._core.errors import FileError
from warner.collector import verification
from warner.collector.scripts import integrity, packaged_files
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.collector.verification import Check, verify
from warner.collector.web.lan import certificate_file
from warner.studies.study import Study

STUDY = """
title = "Habits"
introduction = "Thank you."
consent = "I am an adult."
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 20]
mechanism = "SquareWave"
epsilon = 2.0
[attributes.place]
grid = {rows = 2, columns = 3}
mechanism = "UnaryEncoding"
epsilon = 1.0
[public.age]
values = ["young", "old"]
[collect]
access = "open"
per_page = 2
"""
OTHER = STUDY.replace("epsilon = 2.0", "epsilon = 9.0")


def _apart(act: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Do something in a thread of its own: the tests have an event loop of Playwright in theirs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act, *arguments, **settings).result()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A collector that nobody sends anything to, whatever is planted in its replies."""
    served = Served(tmp_path_factory.mktemp("honest"), STUDY)
    yield served
    assert served.people() == 0


@pytest.fixture
def checked(honest: Served, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Check]]:
    """Check the survey behind a relay that forges replies; the checks by name."""
    monkeypatch.setenv("WARNER_CHROMIUM", chromium())

    def check(forged: Any = None, draws: int = 2_000) -> dict[str, Check]:
        relay = Relay(honest.url)
        relay.forged = forged
        try:
            checks = _apart(verify, relay.url, honest.study, draws)
        finally:
            relay.stop()
        assert not relay.posts
        return {check.name: check for check in checks}

    return check


def test_an_honest_survey_passes(checked: Any) -> None:
    checks = checked(draws=60_000)
    assert [name for name, check in checks.items() if not check.holds] == []
    assert len(checks) == 8


def test_a_certificate_that_nobody_signed_is_trusted_where_it_is_named(
    honest: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARNER_CHROMIUM", chromium())
    own = certificate_file(str(tmp_path / "own.pem"), "127.0.0.1")
    relay = Relay(honest.url, certificate=own)
    try:
        with pytest.raises(FileError, match="add --trust"):
            _apart(verify, relay.url, honest.study, 2_000)
        checks = _apart(verify, relay.url, honest.study, 2_000, own)
    finally:
        relay.stop()
    assert all(check.holds for check in checks)


_ONE = """
[attributes.{}]
values = ["no", "yes"]
mechanism = "UnaryEncoding"
epsilon = 0.5
"""
INVITED = "".join(map(_ONE.format, "abc")) + '[ask]\neach = "one"\n[collect]\naccess = "invited"'
ROUNDS = (
    "budget = 9.0"
    + _ONE.format("a")
    + "[repeat]\nrounds = 5\nround = 1\nforever = 2.0\nvalues = 2\n[collect]\naccess = 'open'"
)

DRAWN_ROUNDS = ROUNDS + "\n[ask]\neach = 'one'\n" + "".join(map(_ONE.format, "bc"))


@pytest.mark.parametrize(
    "study",
    [INVITED, ROUNDS, DRAWN_ROUNDS],
    ids=["drawn by codes", "in rounds", "drawn for all rounds"],
)
def test_other_honest_surveys_pass(study: str, serve: Any, monkeypatch: Any) -> None:
    """Rejects a check that fills no question that a code draws, or that knows no permanent reports."""
    monkeypatch.setenv("WARNER_CHROMIUM", chromium())
    served = serve(study)
    checks = _apart(verify, served.url, served.study, 2_000)
    assert [line for check in checks for line in check.violations] == []
    assert served.people() == 0


def _page(change: Callable[[str], str]) -> Any:
    def forged(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        return headers, change(body.decode()).encode() if path == "/" else body

    return forged


def _script(name: str, change: Callable[[str], str]) -> Any:
    """A script that is changed, with its digest in the page."""
    text = packaged_files()[name].decode()
    changed = change(text).encode()
    assert changed != text.encode()
    digest = f"sha256-{base64.b64encode(hashlib.sha256(changed).digest()).decode()}"

    def forged(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        if path == "/":
            body = body.replace(integrity(name).encode(), digest.encode())
        return headers, changed if path == f"/{name}" else body

    return forged


def _study(change: Callable[[Any], None], only_second: bool = False) -> Any:
    """A study.json that is changed, with its fingerprint in the page."""
    data = json.loads(survey_bytes(Study.parse(STUDY)))
    before = survey_digest(survey_bytes(Study.parse(STUDY)))
    change(data)
    changed = json.dumps(data).encode()
    after = survey_digest(changed)
    seen = [0]

    def groups(digest: str) -> str:
        return " ".join(digest[i : i + 4] for i in range(0, 64, 4))

    def forged(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        seen[0] += path == "/"
        if only_second and seen[0] < 2:
            return headers, body
        if path == "/":
            text = body.decode().replace(before, after).replace(groups(before), groups(after))
            return headers, text.encode()
        return headers, changed if path == "/study.json" else body

    return forged


def _weaker(data: Any) -> None:
    program = data["questions"][0]["program"]
    program["own"] = hex(int(str(program["own"]), 0) + (int(str(program["other"]), 0) >> 1))


def _other_study(data: Any) -> None:
    data.update(json.loads(survey_bytes(Study.parse(OTHER))))


def _without_policy(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    return [(k, v) for k, v in headers if k.lower() != "content-security-policy"], body


def _style(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    return headers, body + b"#promise { display: none }" if path == "/survey.css" else body


def _picture(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    _, text = _script("survey.js", lambda t: t + _ELSEWHERE)(path, headers, body)
    return _without_policy(path, headers, text)


def _cookie(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    return [*headers, ("set-cookie", "who=17")] if path == "/" else headers, body


def _extra_script(text: str) -> Any:
    """A script more, which the policy of the page lets run."""

    def forged(path: str, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        if path == "/":
            body = body.replace(b"<script", b'<script src="survey.css"></script><script', 1)
        if path == "/survey.css":
            headers = [(k, v) for k, v in headers if k.lower() != "content-type"]
            return [*headers, ("content-type", "text/javascript")], text.encode()
        return headers, body

    return forged


_BIAS = """
const draw = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (into) => {
  draw(into);
  if (into instanceof BigUint64Array) for (let i = 0; i < into.length; i += 1) into[i] >>= 1n;
  return into;
};
"""
_ON_ANSWER = "\naddEventListener('change', (e) => {{ {} }});\n"
_SPY = _ON_ANSWER.format("fetch('track?' + e.target.value)")
_KEEP = _ON_ANSWER.format("localStorage.setItem('answer', e.target.value)")
_ELSEWHERE = "\nnew Image().src = 'https://tracker.example.org/pixel.png';\n"
_LONGER = (
    "body: new Uint8Array(body),",
    "body: new Uint8Array([...body, ...Array(1 + (body[40] % 7))]),",
)
PLANTED = {
    "a changed warner.js": (_script("warner.js", lambda t: t + "\n// 1"), "scripts"),
    "a changed worker": (_script("sw.js", lambda t: t + "\n// 1"), "scripts"),
    "other integers": (_study(_weaker), "integers"),
    "another study": (_study(_other_study), "survey"),
    "another study for the second visitor": (_study(_other_study, only_second=True), "survey"),
    "a stale fingerprint": (
        _page(lambda t: t.replace('fingerprint="', 'fingerprint="0')),
        "survey",
    ),
    "a script in the page": (
        _page(lambda t: t.replace("</body>", "<script>1</script></body>")),
        "page",
    ),
    "a style that hides": (
        _style,
        "page",
    ),
    "no policy": (_without_policy, "page"),
    "a picture from elsewhere": (_picture, "requests"),
    "answers that are sent as they are": (_script("survey.js", lambda t: t + _SPY), "requests"),
    "answers that are kept": (_script("survey.js", lambda t: t + _KEEP), "storage"),
    "a cookie": (_cookie, "storage"),
    "a report that is longer for some": (
        _script("outbox.js", lambda t: t.replace(*_LONGER)),
        "reports",
    ),
    "a biased draw": (_extra_script(_BIAS), "draws"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found(planted: str, checked: Any) -> None:
    """Rejects a check that another one covers: the one that is named must find it by itself."""
    forged, name = PLANTED[planted]
    checks = checked(forged)
    assert not checks[name].holds, {n: list(c.violations) for n, c in checks.items()}


def test_the_command_says_what_is_wrong(honest: Served, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("WARNER_CHROMIUM", chromium())
    other = tmp_path / "other.toml"
    other.write_text(OTHER)
    said = _apart(
        run, "collect", "verify", honest.url, "--draws", "1000", "--study", str(other), ok=False
    )
    assert (
        "WRONG survey: the served survey (study.json) is not the study in your file" in said.stdout
    )
    assert "ok    scripts: " in said.stdout


def test_a_page_that_is_late_is_not_called_wrong(
    honest: Served, checked: Any, monkeypatch: Any
) -> None:
    """Rejects a busy computer that is called a survey with wrong reports."""
    from playwright.sync_api import TimeoutError

    run_in_page = verification._run

    def late(page: Any, name: str, **given: Any) -> Any:
        if name == "answer":
            raise TimeoutError("late")
        return run_in_page(page, name, **given)

    monkeypatch.setattr(verification, "_run", late)
    reports = checked()["reports"]
    assert not reports.holds and not reports.is_made
    assert "it took longer than 15 seconds to go on" in reports.violations[0]
    said = _apart(run, "collect", "verify", honest.url, "--draws", "1000", ok=False).stdout
    assert "not checked reports: the page could not be answered" in said and "WRONG" not in said
