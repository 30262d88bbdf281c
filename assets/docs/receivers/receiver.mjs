// Receives webhooks of Posture. Requires Node 18 or later and no packages.
//
// WEBHOOK_SECRET  the signing secret exactly as it was shown: whsec_...
// PORT            the port to listen on at 127.0.0.1, behind an HTTPS reverse proxy (default 8090)

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = process.env.WEBHOOK_SECRET;
if (!SECRET) throw new Error("WEBHOOK_SECRET is not set");
const PORT = Number(process.env.PORT ?? 8090);
const BODY_BYTES_MAX = 1024 * 1024;
const IDS_MAX = 100_000;

// In order of arrival. Store them with the events, so that they survive a restart.
const knownIds = new Set();

// Returns true if the signature matches the raw body. Compares in constant time.
function isSigned(headers, body) {
  const expected = Buffer.from(createHmac("sha256", SECRET).update(body).digest("hex"));
  // After a rotation, the second header has a signature made with the previous secret.
  return ["x-service-signature", "x-service-signature-previous"].some((name) => {
    const given = Buffer.from(headers[name] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// Returns true the first time. A delivery can arrive more than once, with the same id.
function isNew(id) {
  if (knownIds.has(id)) return false;
  knownIds.add(id);
  if (knownIds.size > IDS_MAX) knownIds.delete(knownIds.values().next().value);
  return true;
}

// Slow work happens here, after the response.
function work(body) {
  const event = JSON.parse(body);
  console.log(event.id, event.type, event.data.clientId);
}

async function receive(request) {
  if (request.method !== "POST") return 405;
  if (!(Number(request.headers["content-length"]) <= BODY_BYTES_MAX)) return 413;
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  if (!isSigned(request.headers, body)) return 401;
  if (isNew(request.headers["x-service-event-id"])) setImmediate(work, body);
  return 204;
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(),
  );
});
server.requestTimeout = 10_000;
server.listen(PORT, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${PORT}/`));
