"""Who gets in: nobody without the token, no other site, no name that points here."""

import base64
import http.client
import os
import socket

import pytest

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def get(server, path="/", method="GET", at=None, **headers):
    """Status, headers and text of an answer; `Host` is the right one unless given, as is where it is asked."""
    connection = http.client.HTTPConnection(*(at or ("127.0.0.1", server.port)), timeout=20)
    connection.putrequest(method, path, skip_host=True)
    headers = {"Host": server.address, **{name.replace("_", "-"): value for name, value in headers.items()}}
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, answer.headers, text


def cookie_of(server) -> str:
    status, headers, _ = get(server, f"/?token={server.token}")
    assert status == 303
    return headers["set-cookie"].split(";")[0]


def handshake(server, at=None, **headers) -> int:
    """The status that a socket is answered with: 101 when it is let in."""
    lines = {
        "Host": server.address,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    with socket.create_connection(at or ("127.0.0.1", server.port), timeout=20) as wire:
        text = f"GET {SOCKET} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        wire.sendall(text.encode() + b"\r\n")
        return int(wire.recv(1024).split()[1])


def test_without_the_token_nothing_is_shown(server):
    for path in ("/", "/static/workbench.css", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/nowhere"):
        status, headers, text = get(server, path)
        assert status == 403
        assert "open the address that <code>jig workbench</code> printed" in text
        assert "set-cookie" not in headers


@pytest.mark.parametrize("query", ["?token=", "?token=wrong", "?token=%00", "?token=%C3%A9", "?token[]=x"])
def test_a_wrong_token_does_not_help(server, query):
    status, headers, _ = get(server, "/" + query)
    assert status == 403
    assert "set-cookie" not in headers


@pytest.mark.parametrize("value", ["", "x", "é", '"', "a=b; a"])
def test_a_wrong_cookie_does_not_help(server, value):
    name = cookie_of(server).split("=")[0]
    assert get(server, Cookie=f"{name}={value}".encode())[0] == 403


@pytest.mark.parametrize("other", ['a={"x":1}', "a=b c", "theme[]=1", "pref=é", "a,b=1", "=", "alone", '"'])
def test_cookies_of_other_programs_keep_nobody_out(server, other):
    cookie = cookie_of(server)
    for line in (f"{other}; {cookie}", f"{cookie};{other}", f"{cookie.split('=')[0]}=x; {other}; {cookie}"):
        assert get(server, Cookie=line.encode())[0] == 200


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(server):
    status, headers, _ = get(server, f"/runs/a%20b?x=1&token={server.token}&y=%26")
    assert (status, headers["location"]) == (303, "/runs/a%20b?x=1&y=%26")
    value, *rest = headers["set-cookie"].split("; ")
    assert rest == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert server.token not in value
    assert get(server, Cookie=value)[0] == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/%5Cevil.example", "/%2F/evil.example"])
def test_the_way_on_never_leads_to_another_server(server, path):
    status, headers, _ = get(server, f"{path}?token={server.token}")
    assert status == 303
    assert headers["location"].startswith("/")
    assert headers["location"][1] not in "/\\"


def test_from_another_page_the_way_on_is_no_redirect(server):
    """A strict cookie would not be sent along one."""
    status, headers, _ = get(server, f"/?token={server.token}", Sec_Fetch_Site="cross-site")
    assert (status, headers["refresh"]) == (200, "0;url=/")
    assert "SameSite=Strict" in headers["set-cookie"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.nip.io:{port}", ""]
)
def test_a_name_that_points_here_is_not_served(server, host):
    cookie = cookie_of(server)
    host = host.format(port=server.port)
    assert get(server, Host=host, Cookie=cookie)[0] == 403
    assert get(server, f"/?token={server.token}", Host=host)[0] == 403
    assert handshake(server, Host=host, Cookie=cookie) == 403


def test_the_names_of_the_loopback_are_served(server):
    cookie = cookie_of(server)
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        address = f"{name}:{server.port}"
        assert get(server, Host=address, Cookie=cookie)[0] == 200
        assert handshake(server, Host=address, Cookie=cookie, Origin=f"http://{address}") == 101


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:1", "https://{address}", "http://{address}.evil.example"],
)
def test_another_site_is_refused(server, origin):
    cookie, origin = cookie_of(server), origin.format(address=server.address)
    assert get(server, Cookie=cookie, Origin=origin)[0] == 403
    assert get(server, SOCKET.replace("websocket", "polling"), "POST", Cookie=cookie, Origin=origin)[0] == 403
    assert handshake(server, Cookie=cookie, Origin=origin) == 403


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.parametrize("shown", ["https://gpu.example.org", "http://localhost:9000"])
def test_a_proxy_or_a_tunnel_that_is_named_is_served_and_no_other(serve, project, port, shown):
    server, at = serve(project.path, f"--port={port}", f"--origin={shown}"), ("127.0.0.1", port)
    assert server.url == f"{shown}/?token={server.token}"
    host = shown.partition("//")[2]
    _, headers, _ = get(server, f"/?token={server.token}", at=at, Host=host)
    cookie = headers["set-cookie"].split(";")[0]
    assert headers["set-cookie"].endswith("; Secure") == shown.startswith("https:")
    scheme = shown.partition(":")[0].replace("http", "ws")
    assert f"{scheme}://{host}" in headers["content-security-policy"]
    for passed_on in (host, f"127.0.0.1:{port}"):  # a proxy may say either
        assert get(server, at=at, Host=passed_on, Cookie=cookie, Origin=shown)[0] == 200
        assert handshake(server, at, Host=passed_on, Cookie=cookie, Origin=shown) == 101
    other = shown.replace("https:", "http:") if shown.startswith("https:") else shown.replace("http:", "https:")
    for origin in (other, shown + ".evil.example", shown + ":1", "http://evil.example", "http://", "null", ""):
        assert get(server, at=at, Host=host, Cookie=cookie, Origin=origin)[0] == 403
        assert handshake(server, at, Host=host, Cookie=cookie, Origin=origin) == 403
    for name in ("evil.example", "evil." + host, "localhost:9001", ""):
        assert get(server, at=at, Host=name, Cookie=cookie)[0] == 403


def test_on_every_interface_the_address_of_each_is_served_and_no_name_that_points_here(serve, project, port):
    server = serve(project.path, f"--port={port}", "--host=0.0.0.0", "--i-understand")
    at, host = ("127.0.0.2", port), f"127.0.0.2:{port}"
    cookie = get(server, f"/?token={server.token}", at=at, Host=host)[1]["set-cookie"].split(";")[0]
    assert get(server, at=at, Host=host, Cookie=cookie, Origin=f"http://{host}")[0] == 200
    assert handshake(server, at, Host=host, Cookie=cookie, Origin=f"http://{host}") == 101
    for name in (f"evil.example:{port}", f"127.0.0.3:{port}", "127.0.0.2", f"127.0.0.2.nip.io:{port}", ""):
        assert get(server, at=at, Host=name, Cookie=cookie)[0] == 403
        assert handshake(server, at, Host=name, Cookie=cookie) == 403
    for origin in (f"http://evil.example:{port}", f"https://{host}", "http://", "http://127.0.0.2", "null"):
        assert get(server, at=at, Host=host, Cookie=cookie, Origin=origin)[0] == 403


def test_a_socket_needs_the_cookie(server):
    origin = f"http://{server.address}"
    assert handshake(server, Origin=origin) == 403
    assert handshake(server, Origin=origin, Cookie=cookie_of(server)) == 101


def test_every_answer_has_the_headers(server):
    cookie = cookie_of(server)
    for answer in (get(server), get(server, Cookie=cookie), get(server, "/static/keys.js", Cookie=cookie)):
        headers = answer[1]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'self'" in headers["content-security-policy"]


def test_nothing_describes_the_server(server):
    cookie = cookie_of(server)
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert "swagger" not in get(server, path, Cookie=cookie)[2].lower()
        assert get(server, path, Cookie=cookie)[0] == 404
