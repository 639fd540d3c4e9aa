/**
 * What a frame is taken for, garbage above all.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { readFrame } from "../../../src/connections/slack/frames.ts";

const FRAMES: Readonly<Record<string, unknown>> = {
  '{"type":"hello","num_connections":2,"debug_info":{"type":"x"}}': { is: "hello", connections: 2 },
  '{"type":"hello"}': { is: "hello", connections: 0 },
  '{"type":"hello","num_connections":"2"}': { is: "hello", connections: 0 },
  '{"type":"disconnect","reason":"warning"}': { is: "disconnect", reason: "warning" },
  '{"type":"disconnect"}': { is: "disconnect", reason: "" },
  '{"type":"new_thing","envelope_id":"e","payload":[]}': {
    is: "envelope",
    id: "e",
    type: "new_thing",
    payload: "[]",
    retry: {},
  },
  '{"type":"events_api","envelope_id":"e","payload":{},"retry_attempt":1,"retry_reason":"a b"}': {
    is: "envelope",
    id: "e",
    type: "events_api",
    payload: "{}",
    retry: { attempt: "1" },
  },
  "": { is: "unknown", why: "it is not a JSON object with a type" },
  "null": { is: "unknown", why: "it is not a JSON object with a type" },
  "[]": { is: "unknown", why: "it is not a JSON object with a type" },
  "{": { is: "unknown", why: "it is not a JSON object with a type" },
  '{"type":1}': { is: "unknown", why: "it is not a JSON object with a type" },
  '{"type":"hello","type":"disconnect"}': {
    is: "unknown",
    why: "it is not a JSON object with a type",
  },
  '{"type":"events_api","payload":{}}': {
    is: "unknown",
    why: 'its type is "events_api", and it is not an envelope',
  },
  '{"type":"events_api","envelope_id":"a\\nb","payload":{}}': {
    is: "unknown",
    why: 'its type is "events_api", and it is not an envelope',
  },
  '{"type":"events_api","envelope_id":"e"}': {
    is: "unknown",
    why: 'its type is "events_api", and it is not an envelope',
  },
};

for (const [text, frame] of Object.entries(FRAMES)) {
  Deno.test(`readFrame reads ${text}`, () => deepEqual(readFrame(text), frame));
}
