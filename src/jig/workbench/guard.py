"""Who may talk to the server: plain ASGI around all of it, for HTTP and for sockets alike.

The address in `Host` must be one that is served (a name that a stranger's DNS points here is none), an `Origin` must be
ours, and a cookie must be there, which is had in exchange for the token in the address that was printed.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jig.workbench.words import say

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

POLICY_VIOLATION = 1008
# The framework's page is inline scripts, and its templates are compiled in the browser. Nothing comes from elsewhere.
CONTENT = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
    "connect-src 'self' {sockets}; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Lets through to `app` only what comes from a page of this server, opened by who has the token."""

    def __init__(
        self,
        app: App,
        addresses: Iterable[str],
        token: str,
        key: str,
        cookie: str,
        shown: str = "",
        anywhere: bool = False,
    ) -> None:
        """`addresses` are values of `Host`; `key` is what the cookie of this name holds.

        `shown` is the origin under which a proxy, or the other end of a tunnel, has it. `anywhere`: the address at
        which a connection has arrived is one, too, because every interface is listened on.
        """
        self.app = app
        self._origins = {f"http://{address.lower()}" for address in addresses} | ({shown} if shown else set())
        self._addresses = {origin.partition("://")[2] for origin in self._origins}
        self._shown, self._anywhere = shown, anywhere
        self._token, self._key, self._cookie = token.encode(), key.encode(), cookie
        # Older browsers do not count sockets to `self`; the policy has no way to write an IPv6 address.
        sockets = " ".join(sorted(f"ws{origin.removeprefix('http')}" for origin in self._origins if "[" not in origin))
        self._headers = ((b"content-security-policy", CONTENT.format(sockets=sockets).encode()), *HEADERS)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request, socket, or the server's own start and end."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        headers = _single(scope["headers"])
        refusal = self._stranger(headers, scope.get("server") if self._anywhere else None)
        if scope["type"] == "websocket":
            if refusal or not self._is_known(headers):
                return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": ""})
            return await self.app(scope, receive, send)
        send = self._with_headers(send)
        if refusal:
            return await _page(send, 403, refusal)
        words = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = [value for name, value in words if name == "token"]
        if scope["method"] == "GET" and any(hmac.compare_digest(word.encode(), self._token) for word in offered):
            rest = urlencode([(name, value) for name, value in words if name != "token"])
            return await self._let_in(send, _path(scope) + ("?" + rest if rest else ""), headers)
        if not self._is_known(headers):
            return await _page(send, 403, say("guard.wrong" if offered else "guard.missing"))
        return await self.app(scope, receive, send)

    def _stranger(self, headers: dict[str, str] | None, arrived: tuple[str, int] | None) -> str:
        """Why the request cannot come from a page of ours; empty when it can. A number is nobody's name: it may be."""
        addresses, origins = self._addresses, self._origins
        if arrived is not None:
            here = written(arrived[0]) + (f":{arrived[1]}" if arrived[1] != 80 else "")
            addresses, origins = addresses | {here}, origins | {f"http://{here}"}
        if headers is None or headers.get("host", "").lower() not in addresses:
            return say("guard.host")
        origin = headers.get("origin")
        return say("guard.origin") if origin is not None and origin.lower() not in origins else ""

    def _is_known(self, headers: dict[str, str] | None) -> bool:
        # Cookies know no ports: those of other programs on this computer come too, however they are written.
        parts = (part.partition("=") for part in (headers or {}).get("cookie", "").split(";"))
        ours = [value.strip() for name, _, value in parts if name.strip() == self._cookie]
        return any(hmac.compare_digest(value.encode(), self._key) for value in ours)

    async def _let_in(self, send: Send, place: str, headers: dict[str, str] | None) -> None:
        """Give the cookie, and go on to the same address without the token."""
        cookie = f"{self._cookie}={self._key.decode()}; Path=/; HttpOnly; SameSite=Strict"
        if self._shown.startswith("https:") and self._shown.endswith(f"//{(headers or {}).get('host', '').lower()}"):
            cookie += "; Secure"
        more = [(b"set-cookie", cookie.encode())]
        if (headers or {}).get("sec-fetch-site") in ("cross-site", "same-site"):
            # A strict cookie is not sent along a redirect that began on another page: so this page begins anew.
            more.append((b"refresh", b"0;url=" + place.encode()))
            return await _page(send, 200, say("guard.welcome"), more)
        more.append((b"location", place.encode()))
        return await _page(send, 303, say("guard.welcome"), more)

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message.get("headers", ())}
                added = [(name, value) for name, value in self._headers if name not in there]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        return sending


def written(host: str) -> str:
    """The host as an address has it."""
    return f"[{host}]" if ":" in host else host


def _single(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """The headers by name; None where one that is judged by stands there twice."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin"):
            return None
        found[key] = found[key] + "; " + value.decode("latin-1") if key in found else value.decode("latin-1")
    return found


def _path(scope: Message) -> str:
    """The path as a place on this server: `//elsewhere` would be another one."""
    return "/" + quote(str(scope["path"]).lstrip("/\\"), safe="/:@!$&'()*+,;=-._~")


async def _page(send: Send, status: int, text: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    title = say("app.title")
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        '<body style="font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem">'
        f"<h1>{title}</h1><p>{text}</p></body></html>"
    ).encode()
    kind = (b"content-type", b"text/html; charset=utf-8")
    size = (b"content-length", str(len(body)).encode())
    headers = [kind, size, (b"cache-control", b"no-store"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
