"""Receives webhooks of Posture. Requires Python 3.8 or later and no packages.

WEBHOOK_SECRET  the signing secret exactly as it was shown: whsec_...
PORT            the port to listen on at 127.0.0.1, behind an HTTPS reverse proxy (default 8090)
"""

import hashlib
import hmac
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
PORT = int(os.environ.get("PORT", "8090"))
BODY_BYTES_MAX = 1024 * 1024
IDS_MAX = 100_000

accepted = queue.Queue()
known_ids = {}  # In order of arrival. Store them with the events, so that they survive a restart.
lock = threading.Lock()


def is_signed(headers, body):
    """Returns True if the signature matches the raw body. Compares in constant time."""
    expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()
    # After a rotation, the second header has a signature made with the previous secret.
    names = ("X-Service-Signature", "X-Service-Signature-Previous")
    given = [headers.get(name, "").encode() for name in names]
    return any([hmac.compare_digest(expected, it) for it in given])


def is_new(event_id):
    """Returns True the first time. A delivery can arrive more than once, with the same id."""
    with lock:
        if event_id in known_ids:
            return False
        known_ids[event_id] = True
        if len(known_ids) > IDS_MAX:
            del known_ids[next(iter(known_ids))]
        return True


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_signed(self.headers, body):
            return self.answer(401)
        if is_new(self.headers["X-Service-Event-Id"]):
            accepted.put(body)
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


def work():
    """Slow work happens here, after the response."""
    while True:
        event = json.loads(accepted.get())
        print(event["id"], event["type"], event["data"]["clientId"], flush=True)


threading.Thread(target=work, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
print(f"listening on http://127.0.0.1:{PORT}/", flush=True)
server.serve_forever()
