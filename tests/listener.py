"""A web server on this machine, for tests: one function answers every request."""

import http.server
import threading
from collections.abc import Callable


class Listener:
    """Listens from the start; each request is answered in a thread of its own."""

    def __init__(
        self,
        answer: Callable[[http.server.BaseHTTPRequestHandler], None],
        address: str = "127.0.0.1",
        protocol: str = "HTTP/1.0",
    ) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = protocol

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # who asked was killed meanwhile

            def do_GET(self) -> None:
                answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self._server = Server((address, 0), Handler)
        self.place = f"{address}:{self._server.server_port}"
        self.url = f"http://{self.place}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        """Take no more requests. Whoever still waits in `answer` is to be let go first."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
