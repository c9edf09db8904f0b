"""The issuer's web application: it exchanges invitation codes for tokens, see ``tokens.py``.

It has no page. Devices of the survey page, which another address serves, ask it; the owner invites
people, and asks which codes were exchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.types import Scope

from warner.collector.access import ID_BYTES, Owner, invited_id
from warner.collector.collector import Collector
from warner.collector.submissions import HEAD_BYTES
from warner.collector.tokens import PrivateKey, block_of_code, request_in
from warner.collector.web.application import Site, health
from warner.collector.web.intake import Body, Endpoint, Headers, sender
from warner.collector.web.limits import Limits, Tokens
from warner.collector.web.owner import OwnerActions
from warner.collector.web.responses import HttpRefused, RawHeaders, raw_json
from warner.studies.study import Study


class Exchange(Endpoint):
    """POST /token and POST /spent: a token for a code, and whether a code was exchanged."""

    def __init__(
        self,
        study: Study,
        collector: Collector,
        limits: Limits,
        tokens: Tokens,
        keys: Sequence[PrivateKey],
    ) -> None:
        super().__init__(collector, limits)
        self._study, self._tokens, self._keys = study, tokens, keys

    async def _answer(
        self, scope: Scope, headers: Headers, body: Body
    ) -> tuple[int, tuple[RawHeaders, bytes]]:
        content, address = await self._arrived(scope, headers, body)
        if scope["path"].endswith("/spent"):
            # Who has a code could else learn whether somebody else has used it.
            self._tokens.check(headers.bearer or "", sender(scope))
            if len(content) != HEAD_BYTES + ID_BYTES:
                raise HttpRefused("malformed")
            spent = await asyncio.to_thread(self._collector.is_spent, content[HEAD_BYTES:])
            return 200, raw_json({"spent": int(spent)})
        code, blinded = request_in(content, self._study.layout)
        self._take_from(address, 1)
        signature = await asyncio.to_thread(self._signed, code, blinded)
        return 200, raw_json({"signature": signature.hex()})

    def _signed(self, code: str, blinded: bytes) -> bytes:
        """The signature that a code is exchanged for."""
        key = self._keys[block_of_code(self._study, code)]
        key.check(blinded)
        self._collector.exchange(invited_id(self._study.digest, code), blinded)
        return key.sign(blinded)


class Issuing(Site):
    """The application of an issuer; ``collector`` keeps which codes were exchanged."""

    def __init__(
        self,
        study: Study,
        collector: Collector,
        owner: Owner,
        keys: Sequence[PrivateKey],
        limits: Limits | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        tokens = Tokens(owner, collector)
        exchange = Exchange(study, collector, limits or Limits(), tokens, keys)
        routes = [health(collector), *OwnerActions(tokens, collector, study, True).routes()]
        # Any page may ask: it needs a code, and browsers send nothing else of a person along.
        super().__init__(routes, {"/token": exchange, "/spent": exchange}, hosts, ("*",))
