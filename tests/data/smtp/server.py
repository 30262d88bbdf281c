"""A mail server for tests: aiosmtpd, which keeps what it takes in a folder. Its argument is JSON.

port       where it listens on 127.0.0.1
folder     where each message goes, as <number>.json
certificate, key    files in PEM; with `implicit`, TLS from the start, else STARTTLS
user, password      what a client must log in with
replies    {"RCPT" or "DATA": [reply, ...]}: instead of taking it, one for each in turn; "" takes it, "hang" never
           answers, "lose" takes the message and never answers
refuse     {address: reply}
size       the largest message in bytes
"""

import asyncio
import base64
import email
import email.policy
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

settings = json.loads(sys.argv[1])
folder = pathlib.Path(settings["folder"])
replies = settings.get("replies", {})


def take(verb):
    queue = replies.get(verb, [])
    return queue.pop(0) if queue else ""


def keep(envelope):
    message = email.message_from_bytes(envelope.content, policy=email.policy.default)
    files = [
        {"name": it.get_filename(), "kind": it.get_content_type(), "content": base64.b64encode(it.get_content()).decode()}
        for it in message.iter_attachments()
    ]
    kept = {
        "from": envelope.mail_from,
        "to": envelope.rcpt_tos,
        "headers": dict(message.items()),
        "text": message.get_body(("plain",)).get_content(),
        "files": files,
    }
    number = len(list(folder.glob("*.json")))
    new = folder / f"{number}.new"
    new.write_text(json.dumps(kept))
    new.rename(folder / f"{number}.json")


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        reply = take("RCPT") or settings.get("refuse", {}).get(address)
        if reply:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server, session, envelope):
        reply = take("DATA")
        if reply == "hang":
            await asyncio.sleep(3600)
        if reply and reply != "lose":
            return reply
        keep(envelope)
        if reply == "lose":
            await asyncio.sleep(3600)
        return "250 2.0.0 Ok: queued"


def authenticate(server, session, envelope, mechanism, login):
    known = (settings["user"].encode(), settings["password"].encode())
    return AuthResult(success=(login.login, login.password) == known, handled=False)


async def main():
    tls = None
    if "certificate" in settings:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(settings["certificate"], settings["key"])
    implicit = settings.get("implicit", False)
    logs_in = "user" in settings

    def talk():
        return SMTP(
            Handler(),
            hostname="mail.example",
            tls_context=None if implicit else tls,
            require_starttls=tls is not None and not implicit,
            authenticator=authenticate if logs_in else None,
            auth_required=logs_in,
            auth_require_tls=False,
            data_size_limit=settings.get("size", 64 * 1024 * 1024),
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(talk, "127.0.0.1", settings["port"], ssl=tls if implicit else None)
    await server.serve_forever()


asyncio.run(main())
