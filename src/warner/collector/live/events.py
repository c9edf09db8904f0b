"""Server-sent events of the live page: one JSON object for each change of what is shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from warner.collector.live.publisher import LivePublisher
from warner.collector.live.state import LiveView
from warner.collector.live.tables import event_of

KEEP_ALIVE = 15.0  # seconds; proxies close streams that are silent for about a minute
_RETRY = 3000  # milliseconds, after which a browser connects again
ALIVE = b": alive\n\n"


def event_text(view: LiveView) -> bytes:
    """A view as one event of the stream.

    >>> event_text(LiveView(7, 1000, 50, "open")).splitlines()[:2]
    [b'id: 7', b'event: step']
    """
    data = json.dumps(event_of(view), separators=(",", ":"))
    return f"id: {view.version}\nevent: step\ndata: {data}\n\n".encode()


async def live_events(
    publisher: LivePublisher, keep_alive: float = KEEP_ALIVE
) -> AsyncIterator[bytes]:
    """The stream of one reader: what is shown now, and then each change.

    It ends when the publisher is stopped. A reader who is slow gets the newest view, and not those
    in between.
    """
    yield f"retry: {_RETRY}\n\n".encode()
    with publisher.listening() as news:
        sent = -1
        while not publisher.is_stopping:
            news.clear()
            view = publisher.view()
            if view.version != sent:
                sent = view.version
                yield event_text(view)
            try:
                await asyncio.wait_for(news.wait(), keep_alive)
            except TimeoutError:
                yield ALIVE
