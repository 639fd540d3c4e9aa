/**
 * Deliveries for the scenarios that measure a store without a daemon.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { idFactory } from "../../src/base/ids.ts";
import type { NewDelivery } from "../../src/store/delivery_records.ts";
import { admitted } from "../../tests/helpers/admitted.ts";

const KEEP_MS = 3_600_000;

/** A request like a platform's: three kilobytes, with about fifteen headers. */
const BODY = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(3000) }));
const HEADERS = Object.fromEntries(
  Array.from({ length: 15 }, (_, n) => [`x-header-${n}`, "value ".repeat(5)]),
);
const PLAN = {
  hash: "bench",
  json: JSON.stringify({ steps: [{ id: "build" }], prompt: "x".repeat(1500) }),
};

const newId = idFactory(systemClock);

/** An accepted delivery with a new id. */
export function newDelivery(): NewDelivery {
  const id = newId();
  const of = { project: "default", trigger: "push" };
  const task = { id: newId(), ...of, workflow: "ci", workspace: "repo", plan: PLAN, dedupKey: id };
  return {
    delivery: {
      id,
      ...of,
      source: "webhook",
      via: "http",
      receivedAt: systemClock.now(),
      status: 200,
      remote: "192.0.2.1",
      secretStore: "github",
      secretKey: "current",
      bodyBytes: BODY.length,
      durationMs: 3,
      detail: { headerNames: Object.keys(HEADERS), stages: { receive: 1, authenticate: 2 } },
    },
    content: { headers: HEADERS, body: BODY, url: "http://svc.example/webhook/push" },
    events: [admitted({ outcome: "accepted", task })],
    dedupWindowMs: KEEP_MS,
    dedupKeepMs: KEEP_MS,
  };
}
