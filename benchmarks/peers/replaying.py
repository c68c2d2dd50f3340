"""A server of models in a process of its own: it plays the files of a folder to whoever posts, and its work is nobody's CPU time here.

    python replaying.py FOLDER [SECONDS]

It prints its port. A request for `/name/…` is answered with the parts of the file `name` (a JSON list of texts), each as a chunk of its
own: as fast as they are taken, or so many seconds apart.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
LUMP = 256 * 1024


class Handler(BaseHTTPRequestHandler):
    """One answer a connection."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        parts = [
            b"%x\r\n%s\r\n" % (len(part), part)
            for part in (said.encode() for said in json.loads((FOLDER / self.path.split("/")[1]).read_text()))
        ]
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self.wfile.write(head)
        if SECONDS:
            due = time.monotonic()
            for part in parts:
                self.wfile.write(part)
                due += SECONDS
                time.sleep(max(0.0, due - time.monotonic()))
        else:
            played = b"".join(parts)
            for at in range(0, len(played), LUMP):
                self.wfile.write(played[at : at + LUMP])
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """With room for all who come at once."""

    request_queue_size = 1_024
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
