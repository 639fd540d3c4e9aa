/**
 * A lean receiver of webhooks in Node: it checks the signature, parses the body, and answers when a
 * delivery and its task are on disk, in one commit for all requests that came meanwhile. It has
 * nothing else of svc, so that its rate is a floor for the cost of a durable accept. Arguments: the
 * directory of the database, the secret, the header with the signature.
 */
import { Buffer } from "node:buffer";
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import process from "node:process";
import { setImmediate } from "node:timers";
import { openPeerDatabase } from "./peer_database.mjs";

const [directory, secret, header] = process.argv.slice(2);
const { db, addDelivery, addTask } = openPeerDatabase(directory);
let waiting = [];

function commit() {
  const batch = waiting;
  waiting = [];
  db.exec("BEGIN");
  for (const { path, body, task } of batch) {
    const [id, now] = [randomUUID(), Date.now()];
    addDelivery.run(id, now, path, body);
    addTask.run(task, id, now);
  }
  db.exec("COMMIT");
  for (const { response, task } of batch) answer(response, 200, { accepted: true, task });
}

function answer(response, status, value) {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const digest = createHmac("sha256", secret).update(body).digest("hex");
    const [own, sent] = [
      Buffer.from(`sha256=${digest}`),
      Buffer.from(request.headers[header] ?? ""),
    ];
    if (own.length !== sent.length || !timingSafeEqual(own, sent)) {
      return answer(response, 401, { error: "the signature does not match" });
    }
    if (JSON.parse(body).ref !== "refs/heads/main") {
      return answer(response, 200, { filtered: true });
    }
    if (waiting.length === 0) setImmediate(commit);
    waiting.push({ path: request.url, body, task: randomUUID(), response });
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
