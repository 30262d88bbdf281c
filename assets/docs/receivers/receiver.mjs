// Receives Posture's webhooks. Node 18 or later, nothing to install.
//
// WEBHOOK_SECRET  the signing secret as it was shown: whsec_...
// PORT            where to listen on 127.0.0.1, behind a proxy that speaks HTTPS (default 8090)

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRET = process.env.WEBHOOK_SECRET;
if (!SECRET) throw new Error("WEBHOOK_SECRET is not set");
const PORT = Number(process.env.PORT ?? 8090);
const BODY_BYTES_MAX = 1024 * 1024;
const IDS_MAX = 100_000;

// In order. Keep them where the events go, so that they outlive a restart.
const knownIds = new Set();

// Over the raw bytes, before anything is parsed, and in constant time.
function isSigned(headers, body) {
  const expected = Buffer.from(createHmac("sha256", SECRET).update(body).digest("hex"));
  // The second one is there after a rotation, made with the secret before.
  return ["x-service-signature", "x-service-signature-previous"].some((name) => {
    const given = Buffer.from(headers[name] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// A delivery may come more than once, always with the same id.
function isNew(id) {
  if (knownIds.has(id)) return false;
  knownIds.add(id);
  if (knownIds.size > IDS_MAX) knownIds.delete(knownIds.values().next().value);
  return true;
}

// Whatever takes time happens here, after the answer.
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
