"""HTTP to one endpoint over connections that are kept, by libcurl."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import pycurl

_CONNECT_S = 10.0


@dataclass(frozen=True)
class Answer:
    """What an endpoint said, whatever it thinks of the request."""

    status: int
    body: bytes
    retry_after_s: int | None
    """The wait that it asks for."""


class Unanswered(Exception):
    """No answer: the endpoint is ``down``, was cut off (``cut``), or took too long (``late``)."""

    def __init__(self, why: Literal["down", "cut", "late"], told: str) -> None:
        super().__init__(told)
        self.why = why


class Connections:
    """Threads share it; each request takes a connection that is free, or opens one.

    The proxy (`HTTPS_PROXY`, `NO_PROXY` and the like, with its credentials) and the authorities
    to trust (`SSL_CERT_FILE`) are those of the environment at the first request.
    """

    def __init__(self, base_url: str, *, timeout_s: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        self._free: deque[pycurl.Curl] = deque()

    @cached_property
    def _proxy(self) -> str:
        """The proxy to the endpoint; "" for none."""
        parts = urlsplit(self._base_url)
        proxy = getproxies().get(parts.scheme, "")
        return "" if not proxy or proxy_bypass(parts.hostname or "") else proxy

    @cached_property
    def _authorities(self) -> str:
        return os.environ.get("SSL_CERT_FILE") or certifi.where()

    def send(self, path: str, headers: Sequence[str], body: bytes | None = None) -> Answer:
        """Posts the body, or gets where there is none. Raises Unanswered."""
        try:
            curl = self._free.pop()
        except IndexError:
            curl = pycurl.Curl()
        try:
            curl.setopt(pycurl.URL, f"{self._base_url}/{path}".encode())
            curl.setopt(pycurl.NOSIGNAL, 1)
            # libcurl would first ask whether a large body is welcome.
            curl.setopt(pycurl.HTTPHEADER, [*headers, "expect:"])
            curl.setopt(pycurl.PROXY, self._proxy.encode())
            curl.setopt(pycurl.CAINFO, self._authorities)
            curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(1000 * _CONNECT_S))
            curl.setopt(pycurl.TIMEOUT_MS, round(1000 * self._timeout_s))
            if body is not None:
                curl.setopt(pycurl.POSTFIELDS, body)
            received = curl.perform_rb()
            wait = int(curl.getinfo(pycurl.RETRY_AFTER))
            return Answer(int(curl.getinfo(pycurl.RESPONSE_CODE)), received, wait or None)
        except pycurl.error as error:
            raise _unanswered(curl, *error.args) from None
        except ValueError as error:  # no address
            raise Unanswered("down", str(error)) from None
        finally:
            curl.reset()  # lets go of the body; the connection stays
            self._free.append(curl)


_CUT = (pycurl.E_GOT_NOTHING, pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_PARTIAL_FILE)


def _unanswered(curl: pycurl.Curl, code: int, told: str) -> Unanswered:
    connected = bool(curl.getinfo(pycurl.PRETRANSFER_TIME))
    if code == pycurl.E_OPERATION_TIMEDOUT and connected:
        return Unanswered("late", told)
    return Unanswered("cut" if code in _CUT else "down", told)
