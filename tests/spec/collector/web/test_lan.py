"""A survey on the local network: its certificate, its QR code, and where it cannot work."""

from __future__ import annotations

import datetime
import ssl
import stat
from pathlib import Path

import httpx
import pytest
import segno
from click.testing import CliRunner, Result

from tests.spec.collector._web import SERVED, served, site
from warner._core.errors import ArgumentError
from warner.app.cli import main
from warner.collector.web import lan, server
from warner.collector.web.server import ListenAddress


def test_the_certificate_is_for_the_address_and_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.lan.pem"
    assert lan.certificate_file(str(path), "127.0.0.1") == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_bytes()
    lan.certificate_file(str(path), "127.0.0.1")
    assert path.read_bytes() == first

    trusting = ssl.create_default_context(cafile=str(path))
    address = ListenAddress("127.0.0.1", 0, certificate=str(path), key=str(path))
    with site(tmp_path / "s.sqlite") as one, served(one.application, address) as port:
        with httpx.Client(verify=trusting) as known:  # for this address, and lasting
            assert known.get(f"https://127.0.0.1:{port}/healthz").json() == {"status": "open"}
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"https://127.0.0.1:{port}/healthz")

    for other in ("192.168.1.7", "fd00::7"):
        lan.certificate_file(str(path), other)
        assert path.read_bytes() != first
    path.write_bytes(first[:-40])
    lan.certificate_file(str(path), "127.0.0.1")
    assert path.read_bytes() not in (first, first[:-40])
    before, zone = path.read_bytes(), datetime.UTC
    later = datetime.datetime.now(zone) + datetime.timedelta(days=lan._DAYS - 0.5)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Later:
            return cls.fromtimestamp(later.timestamp(), tz)

    monkeypatch.setattr(lan.datetime, "datetime", Later)
    lan.certificate_file(str(path), "127.0.0.1")
    assert path.read_bytes() != before  # it would have ended during the survey


@pytest.mark.parametrize("address", [None, "127.0.0.1", "::1", "8.8.8.8", "2606:4700::1111"])
def test_it_is_refused_where_it_cannot_work(address: str | None) -> None:
    """Rejects advice to add options that --lan refuses beside it."""
    with pytest.raises(ArgumentError, match="local network") as caught:
        lan.checked_address(address)
    assert "add --certificate" not in str(caught.value)


@pytest.mark.parametrize("address", ["192.168.1.20", "10.0.0.3", "172.16.5.5", "fd00::7"])
def test_local_addresses_are_taken(address: str) -> None:
    assert lan.checked_address(address) == address


def test_the_code_in_the_terminal_is_that_of_the_address() -> None:
    url = "https://192.168.1.20:8000/"
    shown = lan.qr_code(url, "utf-8").splitlines()
    size = len(segno.make(url, error="m", micro=False).matrix) + 8  # the border
    assert len(shown) == (size + 1) // 2 and {len(line) for line in shown} == {size}
    assert lan.qr_code(url, "ascii") == lan.qr_code(url, None) == ""


def _serve(*more: str) -> Result:
    return CliRunner().invoke(main, ["collect", "serve", "study.toml", *more])


def test_the_command_listens_on_the_network_and_says_what_browsers_warn_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SERVED)
    heard = []

    def run(application: object, place: ListenAddress, ready: object, stop: object) -> None:
        heard.append((place, application._hosts))  # type: ignore[attr-defined]
        ready(8000)  # type: ignore[operator]

    monkeypatch.setattr(server, "run", run)
    monkeypatch.setattr(lan, "local_address", lambda: "192.168.1.20")
    done = _serve("--lan")
    assert done.exit_code == 0, done.output
    ((place, hosts),) = heard
    assert (place.host, place.certificate, place.key, place.is_secure) == (
        "192.168.1.20",
        "study.lan.pem",
        "study.lan.pem",
        True,
    )
    assert "192.168.1.20" in hosts
    assert "https://192.168.1.20:8000/" in done.stdout
    assert lan.qr_code("https://192.168.1.20:8000/", "utf-8") in done.stderr
    assert "made its\ncertificate itself" in done.stderr and "study.toml --lan" in done.stderr
    assert all(len(line) <= 80 for line in lan.what_people_see("study.lan.pem").splitlines())
    for option, value in (("--host", "0.0.0.0"), ("--url", "https://a.example")):
        assert f"chooses {option} itself" in _serve("--lan", option, value).output
    assert len(heard) == 1
