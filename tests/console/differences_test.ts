/**
 * What two requests differ in, as the screen of a delivery shows it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import {
  compareBodies,
  compareHeaders,
  type Differences,
} from "../../console/page/pages/delivery/differences.ts";

/** Each difference in one line, and how much is the same. */
function said({ different, same }: Differences): readonly string[] {
  const lines = different.map(({ name, left, right }) =>
    `${name()}: ${left() ?? "nothing"} → ${right() ?? "nothing"}`
  );
  return [...lines, `${same} the same`];
}

Deno.test("headers differ by value, or one has them only", () => {
  deepEqual(
    said(compareHeaders(
      { "accept": "*/*", "x-id": "1", "x-old": "yes" },
      { "accept": "*/*", "x-id": "2", "constructor": "new" },
    )),
    [
      "x-id: 1 → 2",
      "x-old: yes → nothing",
      "constructor: nothing → new",
      "1 the same",
    ],
  );
});

Deno.test("payloads differ value by value, in the order in which they stand", () => {
  const left = {
    ref: "refs/heads/main",
    commits: [{ id: "a", added: [] }, { id: "b" }],
    size: 1,
    gone: { deep: true },
    "my-field": null,
  };
  const right = {
    ref: "refs/heads/topic",
    commits: [{ id: "a", added: [] }],
    size: "1",
    "my-field": [],
    more: 7,
  };
  deepEqual(said(compareBodies(JSON.stringify(left), JSON.stringify(right))), [
    'payload.ref: "refs/heads/main" → "refs/heads/topic"',
    'payload.commits[1]: {"id":"b"} → nothing',
    'payload.size: 1 → "1"',
    'payload.gone: {"deep":true} → nothing',
    'payload["my-field"]: null → []',
    "payload.more: nothing → 7",
    "2 the same",
  ]);
});

Deno.test("numbers differ by their last digit, and how a body is written makes no difference", () => {
  deepEqual(
    said(compareBodies('{"id": 9007199254740993, "a": 1}', '{"a":1,\n"id":9007199254740992}')),
    ["payload.id: 9007199254740993 → 9007199254740992", "1 the same"],
  );
  deepEqual(said(compareBodies("{}", "[]")), ["payload: {} → []", "0 the same"]);
  deepEqual(said(compareBodies("[]", "[]")), ["1 the same"]);
});

Deno.test("bodies that are not JSON are compared by lines, without the equal lines at both ends", () => {
  deepEqual(said(compareBodies("a\nb\nc\nd", "a\nx\ny\nd")), [
    "line 2: b → x",
    "line 3: c → y",
    "2 the same",
  ]);
  deepEqual(said(compareBodies("a\nb", "a\nb\nc")), ["line 3: nothing → c", "2 the same"]);
  deepEqual(said(compareBodies("same", "same")), ["1 the same"]);
  deepEqual(said(compareBodies("a=1", '{"a":1}')), ['line 1: a=1 → {"a":1}', "0 the same"]);
});

Deno.test("a sender cannot make the comparison larger than the request", () => {
  // Each level has a value of its own, or a long name: written out, their places are gigabytes, and
  // the test ends for want of memory.
  const long = "n".repeat(50_000);
  const wide = (value: number) =>
    JSON.stringify({ [long]: Array.from({ length: 20_000 }, () => value) });
  const { different } = compareBodies(wide(1), wide(2));
  equal(different.length, 20_000);
  equal(different.at(-1)?.name(), `payload.${long}[19999]`);
  const nested = (depth: number, value: number) =>
    "[".repeat(depth) + value + `,${value}]`.repeat(depth);
  for (const depth of [1000, 100_000]) {
    const found = compareBodies(nested(depth, 1), nested(depth, 2));
    ok(found.different.length > 0);
    ok((found.different[0]?.name() ?? "").length > 0);
  }
});
