"""What the commands of a collector share: its store, where it listens, the owner's tokens."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from warner._core.atomic_files import read_whole, write_whole
from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.extras import not_installed
from warner.app.commands.options import Command, options
from warner.app.terminal import note
from warner.studies.study import Study

if TYPE_CHECKING:
    from warner.collector.collector import Collector
    from warner.collector.remote import Remote
    from warner.collector.web.limits import Limits
    from warner.collector.web.server import ListenAddress

STUDY = click.Path(dir_okay=False)
store_options = options(
    click.option(
        "--store",
        metavar="PATH",
        help="Where the collector keeps the counts and the ids of counted reports (the store): a "
        "SQLite file, or postgresql://HOST/DATABASE. Default: STUDY.counts.sqlite, in the folder "
        "of the study.",
    ),
    click.option(
        "--ways",
        type=click.IntRange(1),
        help="Also count answers to several questions together: 2 for all pairs of questions, "
        "3 for all groups of three. This is needed to estimate the shares of combinations of "
        "answers. It cannot be changed later.",
    ),
)


address_options = options(
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help=("The network address of this computer. The server answers at this address."),
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8000,
        show_default=True,
        help="The port on which the server answers; 0 for any free port.",
    ),
)

owner_options = options(
    click.option(
        "--new-token",
        is_flag=True,
        help="Make a new token for the survey's owner: the secret that opens the live page. The "
        "old token stops working.",
    ),
    click.option(
        "--token-for",
        "new_names",
        metavar="NAME",
        multiple=True,
        help="Make a token (a secret) for another person, who can then do all that the owner of "
        "the survey can. The live page names the person who closed the survey. A token for the "
        'name "metrics" can only read the server\'s metrics, for Prometheus. May be repeated.',
    ),
    click.option(
        "--end-token",
        "ended",
        metavar="NAME",
        multiple=True,
        help="Make the token of the person NAME stop working. For a token of --viewer, write "
        '"NAME (viewer)". May be repeated.',
    ),
)

# Of a collector alone: an issuer of tokens has nothing to look at, and one owner.
live_page_options = options(
    click.option(
        "--viewer",
        "viewers",
        metavar="NAME",
        multiple=True,
        help="Make a token (a secret) for another person, who can only look at the live page and "
        "load its files. The person cannot close or open the survey. May be repeated.",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        help="Use the owner's token in this file. If the file does not exist yet, the command "
        "makes a token and writes the file. With one file, the collectors of every week have the "
        "same token, and people whom --viewer and --token-for name keep their links. To replace "
        "such a link, use --end-token, and from then on another name.",
    ),
)

reach_options = options(
    click.option(
        "--url",
        metavar="URL",
        help="The web address at which people reach the server, if this address differs from "
        "--host and --port.",
    ),
    click.option(
        "--allowed-host",
        "hosts",
        metavar="NAME",
        multiple=True,
        help="Answer only requests that are addressed to this host name, or to this machine "
        "itself (localhost, 127.0.0.1). May be repeated. Default: the host in --url. Without "
        "--url, requests to all host names are answered. But if --host is this machine itself, "
        "only requests to this machine itself are answered.",
    ),
    click.option(
        "--root-path",
        default="",
        help="The beginning of each path, such as /survey, if a proxy removes it.",
    ),
    click.option(
        "--proxy",
        metavar="ADDRESS,...",
        help="Believe proxies at these addresses when they say who sent a request "
        "(X-Forwarded-For, X-Forwarded-Proto). Default: believe no proxy.",
    ),
    click.option(
        "--certificate",
        type=STUDY,
        help="The file with the certificate for HTTPS. Give the file with its private key as "
        "--key.",
    ),
    click.option(
        "--key",
        type=STUDY,
        help="The file with the private key of the certificate for HTTPS (--certificate).",
    ),
)

rate_options = options(
    click.option(
        "--rate",
        type=click.FloatRange(0),
        default=20.0,
        show_default=True,
        help="How many reports per second one internet address may send; 0 for no limit. The owner "
        "of the survey, who has a secret token, is never limited.",
    ),
    click.option(
        "--burst",
        type=click.IntRange(1),
        default=1_000,
        show_default=True,
        help="How many reports one internet address, such as a clinic's, may send at once before "
        "the limit of --rate applies.",
    ),
    click.option(
        "--rate-of-all",
        type=click.FloatRange(0),
        default=20_000.0,
        show_default=True,
        help="How many reports per second all internet addresses together may send; 0 for no "
        "limit.",
    ),
    click.option(
        "--log",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="The form of the log that the server writes to standard error. json: each event is "
        "one line of JSON, with its time.",
    ),
)


@dataclass(frozen=True)
class Access:
    """How a command speaks to a collector elsewhere."""

    token: str | None  # the owner's token; None without one
    trust: str | None  # a file of certificates that are trusted; None for those of the system
    given: tuple[str, ...] = ()  # the options that say so, for the next command

    def remote(self, url: str) -> Remote:
        """The collector at an address."""
        from warner.collector.remote import Remote

        remote = Remote(url, self.token, self.trust)
        if self.token is not None and remote.is_open_to_listeners:
            note("The token is sent without encryption. Use an https address.")
        return remote

    def as_owner(self, command: str, url: str) -> Remote:
        """The collector at an address, with the owner's token."""
        remote = self.remote(url)
        if self.token is None:
            rule = (
                "needs the owner's token, the secret that the collector printed at its first start"
            )
            raise ArgumentError(command, rule, None, "Give it with --token-file or --token-env")
        return remote

    def running(
        self, url: str | None, server: str | None, store: str | None, ways: int | None
    ) -> Remote | None:
        """The running collector or issuer that is asked; None where the store is opened here."""
        if self.token is None and server is None:
            return None
        if url is None:
            rule = "can be used only with a running collector"
            remedy = "Give the collector's address with --server"
            raise ArgumentError(self.given[0], rule, None, remedy)
        if store is not None or ways is not None:
            option = "--ways" if store is None else "--store"
            rule = "cannot be used with --server, because the collector runs already"
            raise ArgumentError(option, rule, None, f"Leave out {option}")
        return self.as_owner("--server", url)


trust_option = click.option(
    "--trust",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A file with the collector's certificate. The command then trusts this certificate, "
    'although no authority has signed it. The command "warner collect serve --lan" makes such '
    "a file: its name ends in .lan.pem.",
)


def access_options(command: Command) -> Command:
    """The options of a command that speaks to a collector elsewhere, as its argument ``access``."""

    @functools.wraps(command)
    def with_access(
        *, token_file: str | None, token_env: str | None, trust: str | None, **others: Any
    ) -> None:
        of_file = "--token-file", token_file or "token.txt"
        token = of_file if token_env is None else ("--token-env", token_env)
        given = token if trust is None else (*token, "--trust", trust)
        command(access=Access(read_token(token_file, token_env), trust, given), **others)

    return options(
        click.option(
            "--token-file",
            type=click.Path(dir_okay=False),
            help="A file whose first line is the owner's token, the secret that the collector "
            "printed at its first start.",
        ),
        click.option(
            "--token-env",
            metavar="NAME",
            help="The name of an environment variable that holds the owner's token.",
        ),
        trust_option,
    )(with_access)  # type: ignore[return-value]


def require_extra() -> None:
    """Refuse to go on without the packages that serving needs."""
    try:
        import babel
        import cryptography
        import httptools
        import jinja2
        import segno
        import starlette
        import uvicorn
    except ImportError as error:
        raise not_installed(error.name or "starlette", "warner collect serve") from None
    del babel, cryptography, httptools, jinja2, segno, starlette, uvicorn


@contextlib.contextmanager
def collecting(
    path: str,
    study: Study,
    store: str | None,
    ways: int | None,
    restored: bool = False,
    issues: bool = False,
) -> Iterator[Collector]:
    """The collector of a study, or the issuer of its tokens, which is stopped at the end."""
    from warner.collector.collector import Collector
    from warner.collector.stores import store_at, usual_store
    from warner.collector.survey_document import survey_bytes

    survey_bytes(study)  # refused before a store is made
    opened = store_at(store or usual_store(path, issues), restored)
    collector = Collector(study, opened, ways, issues=issues)
    try:
        yield collector
    finally:
        collector.stop()


def limits_of(choices: Mapping[str, Any]) -> Limits:
    """The limits of requests that the options state."""
    from warner.collector.web.limits import Limits

    rate_of_all = choices["rate_of_all"]
    return Limits(
        body=choices["max_body"],
        rate=choices["rate"],
        burst=choices["burst"],
        rate_of_all=rate_of_all,
        burst_of_all=max(100_000, int(5 * rate_of_all)),
    )


def listening(choices: Mapping[str, Any], url: str | None) -> ListenAddress:
    """Where the options say that a server listens."""
    from warner.collector.web.server import ListenAddress

    if (choices["certificate"] is None) != (choices["key"] is None):
        given, missing = "--certificate", "--key"
        if choices["certificate"] is None:
            given, missing = missing, given
        rule, remedy = f"can be used only together with {missing}", f"Add {missing} FILE"
        raise ArgumentError(given, rule, None, remedy)
    return ListenAddress(
        choices["host"],
        choices["port"],
        choices["root_path"].rstrip("/"),
        choices["proxy"],
        choices["certificate"],
        choices["key"],
        is_secure=(url or "").startswith("https:") or choices["certificate"] is not None,
    )


NEEDS_HTTPS = (
    "Other devices than this machine cannot answer yet, because their browsers let the page "
    "work only over HTTPS. Give a certificate with --certificate and --key. Or put the server "
    "behind a proxy that serves HTTPS, and give the address of the proxy: --url https://..."
)


def hosts_of(named: Sequence[str], url: str | None, host: str) -> list[str]:
    """The hosts that requests may name; [] for any."""
    from urllib.parse import urlsplit

    names = [*named, *([str(urlsplit(url).hostname)] if url else [])]
    # A proxy on this machine, or the owner's browser, names the machine itself.
    machine = ["localhost", "127.0.0.1", "[::1]"]
    return [*names, *machine] if names or host in LOOPBACK else []


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_of_this_machine(url: str) -> bool:
    """Whether only this machine reaches an address."""
    from urllib.parse import urlsplit

    return urlsplit(url).hostname in LOOPBACK


def new_tokens(collector: Collector, choices: Mapping[str, Any]) -> dict[str, str]:
    """The tokens that the options ask for, by whose they are; "" is the owner's, who needs one."""
    from warner.collector.access import VIEWER, new_token, token_for, token_hash

    owners, named = collector.owners, list(choices["new_names"])
    viewers = choices.get("viewers", ())
    for option, name in [*(("--token-for", n) for n in named), *(("--viewer", n) for n in viewers)]:
        if not re.fullmatch(r"\w([\w .@-]{0,38}\w)?", name):
            rule = "must be a name of at most 40 letters, digits, spaces and .@-"
            raise ArgumentError(option, rule, show(name))
    named += [f"{name}{VIEWER}" for name in viewers]
    for name in choices["ended"]:
        if not owners.get(name) or name == "":
            others = ", ".join(sorted(filter(None, owners)))
            rule = f"must be one of the names that have a token: {others}"
            if not others:
                rule = "cannot be used, because no name has a token"
            raise ArgumentError("--end-token", rule, show(name))
    file = choices.get("token_file")
    if choices["new_token"] or "" not in owners or file is not None:
        named = ["", *named]
    tokens = {name: new_token() for name in named}
    if file is None:
        return tokens
    if choices["new_token"] or not os.path.exists(file):
        write_whole(file, b"")
        os.chmod(file, 0o600)  # before the token is in it
        write_whole(file, f"{tokens['']}\n".encode())
        note(f"Written: {file}, which holds the owner's token. Keep it secret.")
    else:
        tokens[""] = _token_of_file(file)
    tokens = {n: token_for(n, tokens[""]) if n else token for n, token in tokens.items()}
    return {n: token for n, token in tokens.items() if owners.get(n) != token_hash(token)}


def _token_of_file(path: str) -> str:
    """The token in a file, refused where it is not one that a collector made."""
    from warner.collector.access import new_token

    token = read_token(path, None) or ""
    if not re.fullmatch(r"[\w-]+", token, re.ASCII) or len(token) != len(new_token()):
        # A word that somebody thought of can be guessed. It is not repeated: it is a secret.
        rule = "must hold a token that a collector made"
        remedy = "Name a file that does not exist yet: the command makes a token and writes it"
        raise ArgumentError(path, rule, None, remedy)
    return token


def keep_tokens(
    collector: Collector, tokens: Mapping[str, str], choices: Mapping[str, Any]
) -> None:
    """Keep the hashes of new tokens, and end those that the options name; then log as they say."""
    from warner.collector.access import token_hash

    for name, token in tokens.items():
        collector.keep_owner(name, token_hash(token))
    for name in choices["ended"]:
        collector.keep_owner(name, b"")
    if choices["log"] == "json":
        logging.getLogger("warner.collector").setLevel(logging.INFO)


def given_again(store_name: str) -> list[str]:
    """The options of this command that hold for the next start too, as they were given."""
    context = click.get_current_context()
    given: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        if (
            not isinstance(option, click.Option)
            or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
            or name in ("new_texts", "new_token", "new_names", "viewers", "ended", "restored")
        ):
            continue
        value = context.params[name]
        for one in value if option.multiple else [value]:
            given.append(option.opts[-1])
            if not option.is_flag:
                given.append(store_name if name == "store" else str(one))
    return given


def read_token(path: str | None, variable: str | None) -> str | None:
    """The owner's token from a file or the environment; None where neither is named."""
    if path is not None and variable is not None:
        rule = "cannot be used together"
        raise ArgumentError("--token-file and --token-env", rule)
    if path is None and variable is None:
        return None
    if path is not None and not os.path.exists(path):
        # What stands there can be the token itself, which is a secret.
        rule = "must be the name of a file that holds the owner's token, and there is no such file"
        remedy = "Check the name. Write the token into a file, not into the command"
        raise ArgumentError("--token-file", rule, None, remedy)
    text = os.environ.get(str(variable), "") if path is None else read_whole(path).decode("latin-1")
    token = next(iter(text.split()), "")
    if not token or not token.isascii():
        source = f"the variable {variable}" if path is None else str(path)
        raise ArgumentError(source, "contains no token", None, "Put the owner's token into it")
    return token.rpartition("token=")[2]
