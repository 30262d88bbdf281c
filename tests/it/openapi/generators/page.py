"""Reads the four logs to their ends, in pages of ten rows, and an export, with a client that openapi-generator made."""

import sys

import openapi_client
from openapi_client.api.management_api import ManagementApi

url, token, webhook = sys.argv[1:]
client = openapi_client.ApiClient(openapi_client.Configuration(host=url))
client.set_default_header("Authorization", f"Bearer {token}")
api = ManagementApi(client)


def walk(name, page):
    rows, cursor = 0, {}
    while True:
        found = page(cursor)
        rows += len(found.data)
        if found.next is None:
            break
        cursor = {"before" if name == "audit" else "after": found.next}
    print(name, rows)


walk("events", lambda cursor: api.list_events(limit=10, **cursor))
walk("changes", lambda cursor: api.list_changes(limit=10, **cursor))
walk("deliveries", lambda cursor: api.list_deliveries(webhook, limit=10, **cursor))
walk("audit", lambda cursor: api.list_audit(limit=10, **cursor))
print("export", bytes(api.export_clients()).count(b"\n"))
