"""The page while the job runs, over HTTP, for the person who started it and nobody else.

    GET /TOKEN/             the document            GET /TOKEN/report.html    the same, to be kept
    GET /TOKEN/told?after=N what came behind micro-batch N
    anything else           403, which says nothing

Who may look: the token is random, new for each run, and only printed where the job was started. By default the socket
is bound to loopback. The Host header must be an address or a name of this machine: a page of somebody else's, whose
name was made to point here, sends its own name and is refused.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from panjoin.errors import ParameterError
from panjoin.page.board import Board
from panjoin.page.document import document, plain, policy

LOOPBACK = "127.0.0.1"
#: A browser that has asked within so many seconds is still there.
PRESENT = 5.0
#: So long the end is kept for those that are there, in seconds; the page asks once a second ...
GRACE = 10.0
#: ... and once one of them has it, so long for the others.
MORE = 1.2
#: A client that stops in the middle of its request is left after so many seconds.
PATIENCE = 10

_REFUSED = "no page here\n"


class Pages:
    """A running server of one board."""

    def __init__(self, board: Board, *, host: str = LOOPBACK, port: int = 0) -> None:
        self.board, self.token = board, secrets.token_urlsafe(24)
        self.asked = float("-inf")  #: when somebody last looked
        self.ended = threading.Event()  #: somebody has seen the end
        try:
            self._server = _server(host, port)(_address(host, port), _handler(self, host))
        except OSError as error:
            raise ParameterError(
                f"port {port} on {host} cannot be served ({error.strerror}); give another --ui-port, or none"
            ) from None
        self.port: int = self._server.server_address[1]
        self._host = f"[{host}]" if ":" in host else host
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """To open in a browser; whoever has it may look."""
        return f"http://{self._host}:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop, as soon as those who look have had the time to see the end."""
        if self.asked > time.monotonic() - PRESENT and self.ended.wait(GRACE):
            time.sleep(MORE)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _server(host: str, port: int) -> type[ThreadingHTTPServer]:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return type("Server", (ThreadingHTTPServer,), {"address_family": family, "daemon_threads": True})


def _address(host: str, port: int) -> tuple[str, int]:
    return host, port


def allowed(header: str | None, host: str) -> bool:
    """Is this Host header one of somebody who meant this machine?

    A name that is not ours may point here all the same; an address cannot. The port is not looked at: a tunnel has its
    own.
    """
    try:
        name = urlsplit(f"//{header or ''}").hostname
    except ValueError:
        return False
    if not name:
        return False
    if name in {"localhost", host.lower()}:
        return True
    try:
        number = ip_address(name)
    except ValueError:
        return False
    return number.is_loopback or not loopback(host)


def loopback(host: str) -> bool:
    """Is this address out of reach for other machines?"""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _handler(pages: Pages, host: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One request."""

        timeout = PATIENCE

        def do_GET(self) -> None:
            """A page, or what is new on it."""
            url = urlsplit(self.path)
            token, _, what = url.path.removeprefix("/").partition("/")
            if not allowed(self.headers["Host"], host) or not _same(token, pages.token):
                self._answer(403, _REFUSED)
            elif what == "":
                pages.asked = time.monotonic()
                self._answer(200, document(pages.board.told(), live=True), "text/html", live=True)
            elif what == "report.html":
                self._answer(200, document(pages.board.told(), live=False), "text/html", saved=True)
            elif what == "told" and (after := _number(url.query)) is not None:
                pages.asked = time.monotonic()
                told = pages.board.told(after)
                self._answer(200, plain(told), "application/json")
                if told["state"] != "running":
                    pages.ended.set()
            else:
                self._answer(404, _REFUSED)

        def _answer(
            self, code: int, text: str, kind: str = "text/plain", *, live: bool = False, saved: bool = False
        ) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", f"{policy(live=live)}; frame-ancestors 'none'")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.send_header("Cache-Control", "no-store")
            if saved:
                self.send_header("Content-Disposition", 'attachment; filename="report.html"')
            self.end_headers()
            self.wfile.write(body)

        def version_string(self) -> str:
            """Not which Python it is."""
            return "panjoin"

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
            """What the standard handler refuses by itself, such as POST; nothing of the request is given back."""
            self.close_connection = True
            self.request_version = getattr(self, "request_version", None) or "HTTP/1.0"
            self._answer(code, _REFUSED)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Silent: the terminal is the job's, and a log would hold the token."""

    return Handler


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _number(query: str) -> int | None:
    """The micro-batch in `after=N`."""
    given = parse_qs(query).get("after", ["-1"]) if len(query) < 100 else []
    text = given[0] if len(given) == 1 else ""
    return int(text) if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() else None
