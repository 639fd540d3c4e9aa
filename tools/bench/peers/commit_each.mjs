/**
 * What most would write: Express, and a commit for each request. Arguments as those of
 * `group_commit.mjs`.
 */
import { Buffer } from "node:buffer";
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createRequire } from "node:module";
import process from "node:process";
import { openPeerDatabase } from "./peer_database.mjs";

const express = createRequire(`${process.cwd()}/`)("express"); // installed where it is started
const [directory, secret, header] = process.argv.slice(2);
const { db, addDelivery, addTask } = openPeerDatabase(directory);

const app = express();
app.use(express.raw({ type: "application/json", limit: "25mb" }));
app.post("/webhook/:trigger", (request, response) => {
  const digest = createHmac("sha256", secret).update(request.body).digest("hex");
  const [own, sent] = [Buffer.from(`sha256=${digest}`), Buffer.from(request.get(header) ?? "")];
  if (own.length !== sent.length || !timingSafeEqual(own, sent)) {
    return response.status(401).json({ error: "the signature does not match" });
  }
  if (JSON.parse(request.body).ref !== "refs/heads/main") return response.json({ filtered: true });
  const [id, task, now] = [randomUUID(), randomUUID(), Date.now()];
  db.exec("BEGIN");
  addDelivery.run(id, now, request.params.trigger, request.body);
  addTask.run(task, id, now);
  db.exec("COMMIT");
  response.json({ accepted: true, task });
});
const server = app.listen(
  0,
  "127.0.0.1",
  () => console.log(`http://127.0.0.1:${server.address().port}`),
);
