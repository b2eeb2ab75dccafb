"""The page from the installed package on loopback, and the functions behind it, for whoever has the address.

The address has a secret path. Requests for other paths, to another host, or from another origin are refused, so that
neither a page from elsewhere nor a name that is made to lead here can ask anything.
"""

from __future__ import annotations

import json
import secrets
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rewardmachines.studio.actions import answer_text

MAX_REQUEST: Final = 20_000_000
"""The bytes of a request."""
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def new_token() -> str:
    """A secret that goes into the address."""
    return secrets.token_urlsafe(24)


def page_files() -> dict[str, bytes]:
    """The files of the page by their names."""
    folder = files("rewardmachines.studio") / "page"
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if PurePosixPath(entry.name).suffix in _TYPES}


def studio_app(token: str, port: int) -> Starlette:
    """The application that serves the page and answers it.

    Args:
        token: The secret part of the path.
        port: The port at which it is reached.
    """
    site = _Site(token, port)
    return Starlette(
        routes=[
            Route("/{token}/answer", site.answer, methods=["POST"]),
            Route("/{token}/", site.page),
            Route("/{token}/{name}", site.page),
            Route("/{rest:path}", site.elsewhere),
        ]
    )


class _RefusedError(Exception):
    """A request that does not come from the page; the arguments are the message and the status."""


class _Site:
    """The files of the page, and what a request must have to be served."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._files = page_files()

    async def page(self, request: Request) -> Response:
        """A file of the page."""
        name = request.path_params.get("name", "index.html")
        try:
            self._check(request)
            if name == "engine.json":
                return Response(json.dumps({"kind": "server"}), media_type="application/json", headers=_HEADERS)
            if name not in self._files:
                raise _RefusedError("there is no such page", 404)
        except _RefusedError as refused:
            return _plain(*refused.args)
        media = _TYPES[PurePosixPath(name).suffix]
        return Response(self._files[name], headers=_HEADERS | {"Content-Type": media})

    async def answer(self, request: Request) -> Response:
        """The answer to a request of the page."""
        try:
            self._check(request)
            if "origin" not in request.headers:
                raise _RefusedError("requests without an origin are refused", 403)
            if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                raise _RefusedError("requests are JSON", 415)
            asked = await _body(request)
        except _RefusedError as refused:
            return _plain(*refused.args)
        text = await run_in_threadpool(answer_text, asked)
        return Response(text, media_type="application/json", headers=_HEADERS)

    async def elsewhere(self, _: Request) -> Response:
        """The answer at every other address."""
        return _plain("the address has no valid token", 403)

    def _check(self, request: Request) -> None:
        if request.headers.get("host") not in self._hosts:
            raise _RefusedError("this host is not served", 421)
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            raise _RefusedError("requests from other origins are refused", 403)
        if not secrets.compare_digest(request.path_params["token"].encode(), self._token):
            raise _RefusedError("the address has no valid token", 403)


async def _body(request: Request) -> str:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_REQUEST:
            raise _RefusedError("the request is too large", 413)
    return body.decode(errors="replace")


def _plain(message: str, status: int) -> Response:
    return PlainTextResponse(message, status, _HEADERS)
