/**
 * What a frame is taken for, garbage above all.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
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
};

for (const [text, frame] of Object.entries(FRAMES)) {
  Deno.test(`readFrame reads ${text}`, () => deepEqual(readFrame(text), frame));
}

const GARBAGE = [
  "",
  "null",
  "[]",
  "{",
  '{"type":1}',
  '{"type":"hello","type":"disconnect"}',
  '{"type":"events_api","payload":{}}',
  '{"type":"events_api","envelope_id":"a\\nb","payload":{}}',
  '{"type":"events_api","envelope_id":"e"}',
];

for (const text of GARBAGE) {
  Deno.test(`readFrame does not know ${text}`, () => equal(readFrame(text).is, "unknown"));
}
