"""A survey for the people in one room: this machine's address, a certificate for it, a QR code.

Browsers let the page work over HTTPS only, and no authority vouches for an address of a local
network. So the machine makes a certificate itself, and browsers warn of it.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import ipaddress
import os
import socket
from contextlib import suppress
from pathlib import Path

import segno
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from warner._core.atomic_files import whole_file
from warner._core.errors import ArgumentError

_DAYS = 90
_LEFT = datetime.timedelta(days=1)  # a certificate that ends sooner is made anew
_ELSEWHERE = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))  # documentation's


def local_address() -> str:
    """The address of this machine on its local network; an ArgumentError without a private one."""
    addresses = filter(None, (_source(target, family) for target, family in _ELSEWHERE))
    return checked_address(next(addresses, None))


def _source(target: str, family: socket.AddressFamily) -> str | None:
    """The address from which this machine would speak to another; nothing is sent."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.connect((target, 9))
        return str(asking.getsockname()[0])
    return None


def checked_address(address: str | None) -> str:
    """An address by which other devices of a local network reach this machine."""
    if address is None or ipaddress.ip_address(address).is_loopback:
        rule = "needs a local network, but this machine is connected to none"
        remedy = "Join the wireless network of the people who answer"
        raise ArgumentError("--lan", rule, None, remedy)
    if ipaddress.ip_address(address).is_global:
        rule = "is for local networks, but this machine has a public internet address"
        remedy = "Replace --lan by --host, --certificate and --key"
        raise ArgumentError("--lan", rule, address, remedy)
    return address


def certificate_file(path: str, address: str) -> str:
    """The file of a certificate for the address and of its key, which only its owner can read.

    A file that is for the address, and lasts, is used again, so that browsers that have been told
    to go on need not be told again.
    """
    if not _is_for(path, address):
        with whole_file(path) as temporary:
            Path(temporary).touch(0o600)
            os.chmod(temporary, 0o600)  # before the key is in it
            Path(temporary).write_bytes(_made(address))
    os.chmod(path, 0o600)
    return path


def _is_for(path: str, address: str) -> bool:
    """Whether a file is a certificate for the address that does not end soon."""
    try:
        content = Path(path).read_bytes()
        certificate = x509.load_pem_x509_certificate(content)
        serialization.load_pem_private_key(content, None)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):
        return False
    addresses = names.value.get_values_for_type(x509.IPAddress)
    lasts = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC) > _LEFT
    return lasts and ipaddress.ip_address(address) in addresses


def _made(address: str) -> bytes:
    """A new key, and a certificate for the address that is signed with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "warner collect serve --lan")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A device whose clock is slow takes it too.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def fingerprint(path: str) -> str:
    """The SHA-256 of a certificate, as browsers show it."""
    certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    digest = hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()
    return ":".join(digest[i : i + 2] for i in range(0, len(digest), 2)).upper()


def qr_code(url: str, encoding: str | None) -> str:
    """The QR code of an address for a terminal; "" where its characters cannot be shown."""
    out = io.StringIO()
    segno.make(url, error="m", micro=False).terminal(out, compact=True)
    try:
        out.getvalue().encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ""
    return out.getvalue()


def what_people_see(path: str) -> str:
    """What the browsers of others warn of, and what it means."""
    digits = fingerprint(path)
    return f"""\
People in the same network scan the code, or type the address. Their browser
warns that the connection is not private, because this machine made its
certificate itself. They go on with "Advanced" or "Show details". Answers are
sent encrypted, but nothing proves that they go to this machine: somebody in the
network could pretend to be this machine, and change the page. So use --lan only
for a class, a workshop or a trial, in a network that you trust. To be sure that
it is this machine, look at the certificate in the browser. Its SHA-256 must be:
{digits[:48]}
{digits[48:]}
If no device reaches the address, a firewall blocks it, or the network does not
let its devices reach each other."""
