"""Commands for answers of real people: serve, invite, pull and push."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from warner._core.errors import ArgumentError, MissingExtraError, message
from warner.app.commands.options import options
from warner.app.terminal import plural
from warner.studies.study import Study

if TYPE_CHECKING:
    from warner.collector.collector import Collector

_STUDY = click.Path(dir_okay=False)
_store = options(
    click.option(
        "--store",
        metavar="PATH",
        help="Where counts and spent ids are kept: a SQLite file. "
        "Default: a file beside the study, STUDY.counts.sqlite.",
    ),
    click.option(
        "--ways",
        type=click.IntRange(1),
        help="Also count joint reports: keep tables of all sets of this many attributes "
        "(2: pairs). It cannot be changed later.",
    ),
)


def _require_extra() -> None:
    """Refuse to go on without the packages that serving needs.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    try:
        import httptools
        import starlette
        import uvicorn
    except ImportError as error:
        remedy = 'Install them: pip install "warner[serve]"'
        rule = f"needs packages that are not installed ({error.name})"
        raise MissingExtraError(message("warner serve", rule, None, remedy)) from None
    del httptools, starlette, uvicorn


@contextlib.contextmanager
def _collecting(
    path: str, study: Study, store: str | None, ways: int | None
) -> Iterator[Collector]:
    """The collector of a study, which is stopped at the end."""
    from warner.collector.collector import Collector
    from warner.collector.store_address import store_at, usual_store
    from warner.collector.survey_document import survey_bytes

    document = survey_bytes(study)
    collector = Collector(study, store_at(store or usual_store(path)), ways, document)
    try:
        yield collector
    finally:
        collector.stop()


@click.command()
@click.argument("study", type=_STUDY)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port to listen on; 0 for one that is free.",
)
@_store
@click.option(
    "--people", type=click.IntRange(1), help="The planned number of people. Default: the study's."
)
@click.option("--new-token", is_flag=True, help="Make a new token for the owner. The old one ends.")
@click.option(
    "--url",
    metavar="URL",
    help="The address by which people reach the survey, if it is not that of --host and --port.",
)
@click.option(
    "--allowed-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="Answer only requests that name this host. May be repeated. Default: that of --url, or "
    "names of this machine where it listens to itself alone, or else any.",
)
@click.option("--root-path", default="", help="The path that a proxy takes away, such as /survey.")
@click.option(
    "--proxy",
    metavar="ADDRESS,...",
    help="Believe what proxies at these addresses say about the sender (X-Forwarded-For, "
    "X-Forwarded-Proto). Default: nobody.",
)
@click.option("--certificate", type=_STUDY, help="The file of a certificate, to serve HTTPS.")
@click.option("--key", type=_STUDY, help="The file of the key of --certificate.")
@click.option(
    "--max-body",
    type=click.IntRange(1024),
    default=4 << 20,
    show_default=True,
    help="The largest body of a request, in bytes.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Reports a second from one address; 0 for no limit. The owner's token lifts it.",
)
@click.option(
    "--burst",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Reports from one address at once, before --rate counts.",
)
@click.option(
    "--rate-of-all",
    type=click.FloatRange(0),
    default=20_000.0,
    show_default=True,
    help="Reports a second from all addresses together; 0 for no limit.",
)
def serve(study: str, **asked: Any) -> None:
    """Ask the questions of STUDY on a web page, and count the answers of real people.

    Two addresses are printed: that of the survey, and that of the owner's live page, which ends in
    the owner's token. The token is printed once, when it is made. Only its SHA-256 is kept.

    Answers are randomised in the browser. What is kept of the reports: counts, and the random ids
    of the reports that are counted. Neither reports, nor addresses, nor times, nor an order are
    kept, and requests are not logged. Limits of rates are in memory alone, by a salted hash of the
    address, which is thrown away every ten minutes.

    Ctrl-C or SIGTERM ends it, after all requests were answered. It goes on where it stopped when it
    is started again, also after a crash.

    Browsers offer what the survey page needs on this machine's own address and over HTTPS only.
    Give --certificate and --key, or put it behind a proxy that speaks HTTPS.

    \b
        warner serve study.toml
        warner serve study.toml --host 0.0.0.0 --url https://survey.example.org
    """
    _require_extra()
    _serve(study, Study.load(study), asked)


def _serve(path: str, study: Study, asked: dict[str, Any]) -> None:
    """Serve a study until a signal comes."""
    from warner.collector.access import Owner
    from warner.collector.application import Application, Settings
    from warner.collector.limits import Limits
    from warner.collector.server import Place, run

    if (asked["certificate"] is None) != (asked["key"] is None):
        rule = "must be given together"
        raise ArgumentError(message("--certificate and --key", rule))
    url = None if asked["url"] is None else _base(asked["url"])
    rate_of_all = asked["rate_of_all"]
    limits = Limits(
        body=asked["max_body"],
        rate=asked["rate"],
        burst=asked["burst"],
        rate_of_all=rate_of_all,
        burst_of_all=max(100_000, int(5 * rate_of_all)),
    )
    place = Place(
        asked["host"],
        asked["port"],
        asked["root_path"].rstrip("/"),
        asked["proxy"],
        asked["certificate"],
        asked["key"],
    )
    with _collecting(path, study, asked["store"], asked["ways"]) as collector:
        token = _token(collector, asked["new_token"])
        application = Application(
            study,
            collector,
            Owner(collector.owner_hash or b""),
            Settings(limits, _hosts(asked["hosts"], url, place.host)),
        )
        run(application, place, lambda port: _say_ready(url or place.url(port), token, collector))


def _say_ready(url: str, token: str | None, collector: Collector) -> None:
    """Print the two addresses."""
    click.echo(f"Survey:      {url}/")
    if token is None:
        click.echo(f"Live result: {url}/live (with the token of the first start)")
        click.echo("--new-token makes another token.", err=True)
    else:
        click.echo(f"Live result: {url}/live?token={token}")
        click.echo("The token is not shown again. Only its SHA-256 is kept.", err=True)
    counted = plural(collector.n, "report is counted", "reports are counted")
    click.echo(f"The survey is {collector.status().replace('_', ' ')}, {counted}.", err=True)
    click.echo("Ctrl-C ends it.", err=True)


def _token(collector: Collector, new: bool) -> str | None:
    """A token that was made now, of which the hash is kept; None where there is one already."""
    from warner.collector.access import new_token, token_hash

    if collector.owner_hash is not None and not new:
        return None
    token = new_token()
    collector.keep_owner_hash(token_hash(token))
    return token


def _base(url: str) -> str:
    """The address of a collector without a slash at its end.

    Raises:
        ArgumentError: it is no address of HTTP, or holds more than a host and a path.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or parts.query or parts.fragment or parts.username is not None:
        rule = "must be like https://survey.example.org, without a question mark"
        raise ArgumentError(message("URL", rule))
    return url.rstrip("/")


def _hosts(named: Sequence[str], url: str | None, host: str) -> list[str]:
    """The hosts that requests may name; [] for any."""
    from urllib.parse import urlsplit

    own = ["localhost", "127.0.0.1", "[::1]"] if host in _LOOPBACK else []
    known = [*named, *([str(urlsplit(url).hostname)] if url else [])]
    # A proxy on this machine, or the owner's browser, names the machine itself.
    return [*known, *(own or ["localhost", "127.0.0.1", "[::1]"])] if known or own else []


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
