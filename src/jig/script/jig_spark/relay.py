"""One connection to a port of this place's loopback, at the other end of standard input and output."""

import os
import socket
import sys
import threading

CHUNK = 1 << 16


def main(port):
    """Carry bytes both ways until either side has said its last."""
    there = socket.create_connection(("127.0.0.1", port), 10)
    there.settimeout(None)
    threading.Thread(target=_send, args=(there,), daemon=True).start()
    while True:
        data = there.recv(CHUNK)
        if not data:
            return
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


def _send(there):
    while True:
        data = os.read(0, CHUNK)
        if not data:
            there.shutdown(socket.SHUT_WR)
            return
        there.sendall(data)


if __name__ == "__main__":
    main(int(sys.argv[1]))
