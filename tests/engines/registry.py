"""A registry of images on this machine, with one image, which can be slow and can refuse."""

import gzip
import hashlib
import http.server
import json
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.engines.small_images import tar
from tests.listener import Listener

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
ERRORS = {
    401: ("UNAUTHORIZED", "authentication required"),
    404: ("MANIFEST_UNKNOWN", "manifest unknown"),
    500: ("UNKNOWN", "unknown error"),
}


class Registry:
    """`layers` are the files of each layer. The second half of each layer waits until `release` is set."""

    def __init__(self, layers: "list[dict[str, bytes | str]]") -> None:
        tars = [tar(files) for files in layers]
        packed = [gzip.compress(data, 1) for data in tars]
        config = {
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in tars]},
        }
        self._blobs = {digest(data): data for data in (json.dumps(config).encode(), *packed)}
        first, *rest = self._blobs
        about = [{"mediaType": LAYER, "size": len(self._blobs[name]), "digest": name} for name in rest]
        head = {"mediaType": CONFIG, "size": len(self._blobs[first]), "digest": first}
        self._manifest = json.dumps(
            {"schemaVersion": 2, "mediaType": MANIFEST, "config": head, "layers": about}
        ).encode()
        self.status = 0  # with which every question after the first is refused
        self.arrived, self.release = threading.Event(), threading.Event()
        self.address = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        kind, _, name = request.path.strip("/").rpartition("/")
        if self.status and kind:
            errors = [dict(zip(("code", "message"), ERRORS[self.status], strict=True))]
            return self._send(request, self.status, json.dumps({"errors": errors}).encode(), "application/json")
        if not kind:
            return self._send(request, 200, b"{}", "application/json")
        if kind.endswith("manifests"):
            return self._send(request, 200, self._manifest, MANIFEST)
        data = self._blobs.get(name)
        return self._send(
            request, 200 if data else 404, data or b"{}", "application/octet-stream", slow=data is not None
        )

    def _send(
        self, request: http.server.BaseHTTPRequestHandler, status: int, body: bytes, kind: str, slow: bool = False
    ) -> None:
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Docker-Content-Digest", digest(body))
        request.end_headers()
        if request.command == "HEAD":
            return
        half = len(body) // 2 if slow and len(body) > 100_000 else 0
        for start in range(0, half // 4 * 4, half // 4 or 1):
            request.wfile.write(body[start : start + half // 4])
            self.arrived.set()
            self.release.wait(0.15)  # more often the engine does not say how far it is
        if half:
            self.release.wait(60)
        request.wfile.write(body[half // 4 * 4 :])


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@contextmanager
def serve_image(layers: "list[dict[str, bytes | str]]") -> Iterator[Registry]:
    """The registry at 127.0.0.1, which engines trust without a certificate."""
    registry = Registry(layers)
    listener = Listener(registry.answer, "127.0.0.1", "HTTP/1.1")
    registry.address = listener.url.removeprefix("http://")
    try:
        yield registry
    finally:
        registry.release.set()
        listener.close()
