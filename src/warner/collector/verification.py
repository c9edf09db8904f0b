"""A running survey as a stranger checks it: the page, its scripts, its integers and its reports.

Chromium opens the survey and answers it. No report reaches the collector: all that would be sent is
taken and looked at here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from warner._core.errors import FileError, MissingExtraError
from warner._core.extras import not_installed, scipy
from warner.collector.access import new_codes
from warner.collector.deployment_card import software_version
from warner.collector.remote import trusting
from warner.collector.scripts import packaged_files, people_scripts, scripts_digest
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.collector.web.responses import policy
from warner.studies.study import Study

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request, Route

LEVEL = 1e-6
"""How often an honest survey fails the comparison of draws."""

_MOST_PAGES = 100
_LONGEST_STEP = 15.0  # seconds, of what the page does next
_LONGEST = 120_000.0  # milliseconds of all draws in a page
_ASKED = ("study.json", "healthz", "brand.css", "logo")  # beside scripts and styles
_COLOUR = rb":root \{ --accent: #[0-9a-f]{6}; --accent-pale: #[0-9a-f]{6}; \}"
_COLOURS = re.compile(
    _COLOUR + rb"\n@media \(prefers-color-scheme: dark\) \{ " + _COLOUR + rb" \}\n"
)
# Sealed reports, permanent reports of surveys in rounds, and the names of this tab.
_STORED = {"warner", "warner-memo", "warner-note", "warner-tab"}
_OURS = "https://copy.invalid/"  # never asked: what it has is answered here
_BLANK = "<!doctype html><title>warner</title>"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, if it ``is_made``, and the ``detail`` seen where it holds.

    ``violations`` say what is wrong, or why it could not be looked at.
    """

    name: str
    violations: Sequence[str]
    detail: str
    is_made: bool = True

    @property
    def holds(self) -> bool:
        return not self.violations


def verify(
    url: str, study: Study | None = None, draws: int = 1_000_000, trust: str | None = None
) -> list[Check]:
    """Check the survey that is served at the address of its page, which is the first of the checks.

    ``study`` is to be served; without it the survey is compared with itself alone. The page draws
    ``draws`` reports in all, and ``trust`` is a file with the certificate of ``--lan``.
    """
    with _browsers(trust) as new_browser:
        visits = [_Visit(new_browser(), url, last) for last in (False, True)]
        for visit in visits:
            visit.go()
        copy = _Copy(new_browser(), visits[0].served)
        refusal = copy.refusal
        checks = [
            _page_of(visits[0]),
            _scripts_of(visits[0]),
            _survey_of(visits, study),
            Check(
                "integers",
                []
                if refusal is None
                else [f"do not use this survey, because devices refuse it: {refusal}"],
                "the odds that every question states follow from its integers",
            ),
            _requests_of(visits),
            _reports_of(visits, copy),
            _stored_in(visits),
        ]
        if refusal is None:
            checks.append(_draws_of(visits[0], copy, draws))
        return checks


@contextmanager
def _environment(name: str, value: str | None) -> Iterator[None]:
    """An environment variable with a value within the block; None leaves it as it is."""
    before = os.environ.get(name)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        if value is not None:
            os.environ.pop(name)
            os.environ.update({} if before is None else {name: before})


@contextmanager
def _browsers(trust: str | None) -> Iterator[Any]:
    """A function that opens browsers that were never used, and trust a certificate in a file."""
    if trust is not None:
        trusting(trust)  # refused before a browser starts
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise not_installed("playwright", "warner collect verify") from None
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("WARNER_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )
    if chromium is None:
        rule = "needs the browser Chromium, which was not found"
        remedy = (
            "Install it, or set the environment variable WARNER_CHROMIUM to the path of Chromium"
        )
        raise MissingExtraError("warner collect verify", rule, None, remedy)
    # Playwright's driver loads all that the page asks for, and reads the variable when it starts.
    with _environment("NODE_EXTRA_CA_CERTS", trust), sync_playwright() as playwright:
        # The administrator of a container has no sandbox: Chromium would not start.
        arguments = (
            ["--no-sandbox"] if getattr(os, "geteuid", int)() == 0 and os.name == "posix" else []
        )
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        except Error as error:
            rule = f"could not start Chromium ({error.message.splitlines()[0]})"
            remedy = "If Chromium does not start by itself either, install it again"
            raise MissingExtraError("warner collect verify", rule, None, remedy) from None
        try:
            # Workers are compared as scripts; requests that they make could not be taken.
            yield lambda: browser.new_context(service_workers="block", locale="en")
        finally:
            browser.close()


_PROGRAM = resources.files("warner.collector").joinpath("verification.js")


def _run(page: Page, name: str, **given: Any) -> Any:
    """What a function of verification.js gives in a page."""
    return page.evaluate(f"async (given) => (await {_PROGRAM.read_text()}.{name}(given))", given)


@dataclass
class _Visit:
    """A visit of the survey: everything that was loaded, and all that would have been sent."""

    context: BrowserContext
    url: str
    last: bool  # whether the last answers are given; else the first ones
    loaded: dict[str, bytes] = field(default_factory=dict)  # by path below the address
    headers: Mapping[str, str] = field(default_factory=dict)  # of the page
    strange: list[str] = field(default_factory=list)  # requests that no survey page makes
    bodies: list[tuple[str, bytes, tuple[str, ...]]] = field(default_factory=list)
    stored: Mapping[str, Any] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)
    answered: bool = False
    is_late: bool = False  # whether a step did not come in time

    def go(self) -> None:
        """Open the page, answer it, and press Send."""
        from playwright.sync_api import Error, TimeoutError

        self.context.route("**/*", self._answer)
        self.context.on("page", lambda page: page.on("websocket", self._socket))
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * _LONGEST_STEP)
        try:
            self.page.goto(self.url)
        except Error as error:
            rule = f"cannot be opened ({error.message.splitlines()[0]})"
            remedy = "Check the address, and whether the collector is running"
            # The browser does not say that it is for the certificate, as requests are passed on.
            if self.url.startswith("https:"):
                remedy += (
                    ". If the survey is for people in one room (serve --lan), ask its owner for "
                    "the file that ends in .lan.pem, and add --trust FILE"
                )
            raise FileError(self.url, rule, None, remedy) from None
        if "study.json" not in self.loaded:
            self._take("study.json")
        if "study.json" not in self.loaded:
            rule = "is not the address of a survey of warner"
            raise FileError(self.url, rule, None, "Check the address")
        if '"access":"tokens"' in self.served:
            rule = "is a survey that can be answered only with a token, and this check has no token"
            remedy = (
                'Serve it with access = "invited" first, and check it. Then serve it with access '
                '= "tokens"'
            )
            raise FileError(self.url, rule, None, remedy)
        for name, _ in people_scripts():
            if name not in self.loaded:
                self._take(name)
        ready = "#continue:not([disabled])"
        try:
            self.page.wait_for_selector(f"{ready}, .state:not([hidden])")
            if self.page.locator(ready).is_visible():
                self._fill()
        except TimeoutError:
            self.is_late = True
        except Error:
            pass  # the page cannot be used
        self.stored = _run(self.page, "stored")
        self.cookies = [cookie["name"] for cookie in self.context.cookies()]

    def _fill(self) -> None:
        (code,) = new_codes(1)
        given = {"served": self.served, "last": self.last, "code": code}
        review = self.page.locator("#review")
        for _ in range(_MOST_PAGES):  # of a survey page by page, or whose questions a code draws
            _run(self.page, "answer", **given)
            self.page.wait_for_timeout(100)
            self.page.click("#continue")
            self.page.wait_for_timeout(200)
            if review.is_visible():
                break
        self.page.wait_for_selector("#review:not([hidden])")
        if self.bodies:
            self.strange.append("a request with data was sent before the button Send was pressed")
        self.page.click("#send")
        self.page.wait_for_selector("#state-sent:not([hidden])")
        self.answered = True

    @property
    def served(self) -> str:
        return self.loaded.get("study.json", b"").decode("utf-8", "replace")

    @property
    def html(self) -> str:
        return self.loaded.get("", b"").decode("utf-8", "replace")

    @cached_property
    def tags(self) -> _Tags:
        return _Tags(self.html)

    def _take(self, name: str) -> None:
        """Load a file beside the page."""
        reply = self.context.request.get(self.url + name)
        if reply.ok:
            self.loaded[name] = reply.body()

    def _socket(self, socket: Any) -> None:
        self.strange.append(f"a socket to {socket.url}")

    def _answer(self, route: Route, request: Request) -> None:
        """Let through what a survey page loads, take what it sends, and stop the rest."""
        from playwright.sync_api import Error

        path = request.url.removeprefix(self.url).partition("#")[0]
        name, _, query = path.partition("?")
        is_here = request.url.startswith(self.url)
        is_file = is_here and name in {"", *_ASKED, *packaged_files()}
        plain = not query or re.fullmatch("lang=[\\w-]+", query)
        if is_here and request.method == "POST" and path in ("reports", "spent"):
            names = tuple(sorted(request.headers))
            self.bodies.append((path, request.post_data_buffer or b"", names))
            answer = {"reports": '{"accepted":1}', "spent": '{"spent":0}'}[path]
            status = {"reports": 202, "spent": 200}[path]
            route.fulfill(status=status, content_type="application/json", body=answer)
        elif is_file and plain and request.method == "GET":
            try:
                reply = route.fetch()
            except Error:
                route.abort()
                return
            if name != "healthz":
                self.loaded[name] = reply.body()
            if name == "":
                self.headers = reply.headers
            route.fulfill(response=reply)
        else:
            where = request.url if is_here else f"{urlsplit(request.url).netloc}"
            self.strange.append(f"{request.method} {where[:120]}")
            route.abort()


class _Copy:
    """The warner.js of this package, in a page of its own, with the survey as it was served."""

    def __init__(self, context: BrowserContext, served: str) -> None:
        from playwright.sync_api import Error

        context.route("**/*", self._answer)
        self.page, self.served = context.new_page(), served
        self.digest = survey_digest(served.encode())
        self.page.goto(_OURS)
        self.refusal: str | None = None
        try:
            self.facts = _run(self.page, "facts", served=served, digest=self.digest)
        except Error as error:
            self.refusal = error.message.splitlines()[0].removeprefix("Page.evaluate: ")

    def _answer(self, route: Route, request: Request) -> None:
        if request.url == _OURS:
            route.fulfill(content_type="text/html", body=_BLANK)
        else:
            script = packaged_files()["warner.js"]
            route.fulfill(content_type="text/javascript", body=script)


class _Tags(HTMLParser):
    """What a page loads, and what stands in it that could run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.fingerprint = ""
        self.violations: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stated = {name: value or "" for name, value in attrs}
        self.violations += [f"<{tag}> runs a script: {n}" for n in stated if n.startswith("on")]
        if tag == "body":
            self.fingerprint = stated.get("data-fingerprint", "")
        loads = tag == "script" or (tag == "link" and "modulepreload" in stated.get("rel", ""))
        if loads and (source := stated.get("src") or stated.get("href") or ""):
            self.scripts.append(source)
            if not stated.get("integrity"):
                self.violations.append(f"the script {source} is loaded without its digest")
        if tag == "img" and stated.get("src") == "logo":
            return
        if tag in ("iframe", "object", "embed", "base", "img", "video", "audio", "style"):
            self.violations.append(f"the page has <{tag}>, which no survey page of warner has")
        if "style" in stated:
            self.violations.append(f"<{tag}> has a style of its own")
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script" and data.strip():
            self.violations.append("a script stands in the page")


def _page_of(visit: _Visit) -> Check:
    """What stands in the page, and which policy it has."""
    violations = list(visit.tags.violations)
    strangers = [s for s in visit.tags.scripts if s not in packaged_files()]
    violations += [
        f"the page loads a script that is not part of warner: {name}" for name in strangers
    ]
    if visit.loaded.get("survey.css") != packaged_files()["survey.css"]:
        violations.append(
            "the style sheet of the page is not from warner, and can hide what people should read"
        )
    if "brand.css" in visit.loaded and not _COLOURS.fullmatch(visit.loaded["brand.css"]):
        violations.append("the style of its owner has more than colours")
    stated = visit.headers.get("content-security-policy", "")
    frames = re.search("frame-ancestors ([^;]*)", stated)
    origins = [] if frames is None or frames[1] == "'none'" else frames[1].split()
    if stated != policy("'none'", origins):
        violations.append("its content security policy is not that of a survey page")
    detail = (
        "the page contains no inline script. It can load nothing from other addresses, and send "
        "nothing to other addresses"
    )
    return Check("page", violations, detail)


def _scripts_of(visit: _Visit) -> Check:
    """Whether all scripts come from this package."""
    ours = dict(people_scripts())
    served = {name: visit.loaded[name] for name in ours if name in visit.loaded}
    other = sorted(name for name, text in ours.items() if served.get(name) != text)
    digest = scripts_digest(served)
    version, names = f"warner {software_version()}", ", ".join(other)
    violations = (
        [
            f"these scripts differ from the scripts of {version}: {names}. The SHA-256 of the "
            f"served scripts is {digest}"
        ]
        if other
        else []
    )
    return Check("scripts", violations, f"{len(ours)} of {version}, SHA-256 {digest}")


def _survey_of(visits: Sequence[_Visit], study: Study | None) -> Check:
    """Whether everybody is served one survey, with the fingerprint that the page shows."""
    digests = {survey_digest(visit.loaded.get("study.json", b"")) for visit in visits}
    digest, violations = min(digests), []
    if len(digests) > 1:
        violations.append("two visitors were served different surveys")
    if any(visit.tags.fingerprint != digest for visit in visits):
        violations.append(
            f"the page does not have the fingerprint of the served survey (study.json), {digest}"
        )
    shown = re.sub("<[^>]*>|\\s", "", visits[0].html)
    if digest not in shown:
        violations.append(
            "the text of the page does not show people the fingerprint of the served survey "
            "(study.json)"
        )
    if study is not None and survey_digest(survey_bytes(study)) != digest:
        ours = survey_digest(survey_bytes(study))
        violations.append(
            "the served survey (study.json) is not the study in your file, whose fingerprint is "
            f"{ours}"
        )
    detail = f"the served survey (study.json) has the fingerprint that people see: {digest}"
    return Check("survey", violations, detail)


def _requests_of(visits: Sequence[_Visit]) -> Check:
    strange = list(dict.fromkeys(one for visit in visits for one in visit.strange))
    detail = "while the survey was answered, the page requested only its own files"
    return Check("requests", strange, detail)


def _reports_of(visits: Sequence[_Visit], copy: _Copy) -> Check:
    """Whether what is sent has the form of a sealed report, whatever is answered."""
    if not all(visit.answered for visit in visits):
        rule = "the page could not be answered, because the survey is not open"
        if any(visit.is_late for visit in visits):
            rule = (
                f"the page could not be answered, because it took longer than {_LONGEST_STEP:.0f} "
                "seconds to go on. Perhaps the collector or this computer is busy: run the check "
                "again later. If the page is as slow then, it may have a field that the check "
                "cannot fill in"
            )
        return Check("reports", [rule], "", is_made=False)
    violations = []
    sent = [[body for path, body, _ in v.bodies if path == "reports"] for v in visits]
    if copy.refusal is None:
        length = 36 + copy.facts["length"]
        head = b"WRN1" + bytes.fromhex(copy.facts["layout"])
        right = all(len(b) == 1 and len(b[0]) == length and b[0].startswith(head) for b in sent)
        if not right:
            violations.append(
                f"the button Send did not send exactly one report of {length} bytes for this survey"
            )
    forms = [[(path, len(body), names) for path, body, names in v.bodies] for v in visits]
    if forms[0] != forms[1]:
        violations.append("the number, length or headers of the requests depend on the answers")
    return Check(
        "reports",
        violations,
        "one report for each person, of the same length whatever the answers are",
    )


def _stored_in(visits: Sequence[_Visit]) -> Check:
    violations = []
    for visit in visits:
        names = {*visit.stored["databases"], *visit.stored["session"]}
        violations += [
            f"the page keeps {name!r} in the browser" for name in sorted(names - _STORED)
        ]
        violations += [f"the page keeps {name!r} in the browser" for name in visit.stored["local"]]
        if visit.cookies or visit.stored["cookie"]:
            violations.append("the page sets a cookie")
    detail = "the page sets no cookie, and keeps only sealed data in the browser"
    return Check("storage", list(dict.fromkeys(violations)), detail)


def _draws_of(visit: _Visit, copy: _Copy, draws: int) -> Check:
    """Whether reports that are drawn in the page have the law of those of the copy."""
    from playwright.sync_api import Error

    given = {"served": copy.served, "digest": copy.digest, "draws": draws, "milliseconds": _LONGEST}
    ours = _run(copy.page, "draw", **given)
    try:
        theirs = _run(visit.page, "draw", **given)
    except Error as error:
        reason = error.message.splitlines()[0].removeprefix("Page.evaluate: ")
        return Check("draws", [f"the page could not make reports for this check: {reason}"], "")
    if [one["name"] for one in theirs] != [one["name"] for one in ours]:
        return Check("draws", ["the page made reports on other questions"], "")
    tests = [
        (one["name"], p)
        for one, other in zip(theirs, ours, strict=True)
        for p in _homogeneity(one, other)
    ]
    wrong = list(dict.fromkeys(name for name, p in tests if p < LEVEL / len(tests)))
    total = sum(one["n"] for one in theirs)
    least = min(p for _, p in tests) * len(tests)
    least = min(least, 1.0)
    detail = (
        f"{total:,} reports that the page made for this check agree with the odds that the survey "
        f"states (p = {least:.2g})"
    )
    return Check("draws", [f"reports on {name!r} have other odds" for name in wrong], detail)


def _homogeneity(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[float]:
    """The p values of chi-squared tests: of each byte, and of whole reports where they are few."""
    if len(one["bytes"]) != len(other["bytes"]):
        return [0.0]
    pairs = list(zip(one["bytes"], other["bytes"], strict=True))
    # One byte is the whole report.
    tables = [np.array(pair, dtype=float) for pair in pairs] if len(pairs) > 1 else []
    if one["reports"] is not None and other["reports"] is not None:
        keys = sorted({*one["reports"], *other["reports"]})
        rows = [[each["reports"].get(key, 0) for key in keys] for each in (one, other)]
        tables.append(np.array(rows, dtype=float))
    return [_p_value(table) for table in tables]


def _p_value(table: np.ndarray) -> float:
    """The p value that two rows of counts have one law; rare columns are taken together."""
    n = table.sum(axis=0)
    rare = n < 40
    cells = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    cells = cells[:, cells.sum(axis=0) > 0]
    return (
        1.0
        if cells.shape[1] < 2
        else float(scipy.stats.chi2_contingency(cells, correction=False).pvalue)
    )
