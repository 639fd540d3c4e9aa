/**
 * What is known of a message when it is sent, as a table.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { OutboxMessage } from "../../../src/store/outbox_records.ts";
import { type BeforeClaim, claimOf, laneOf } from "../../../src/store/rules/outbox.ts";

const MESSAGE: OutboxMessage = {
  id: "M1",
  project: "default",
  connection: "tidepool",
  kind: "github-comment",
  target: { number: 1 },
  key: "k",
  body: {},
  taskId: "",
  state: "pending",
  tries: 1,
  nextAt: 0,
  uncertainSince: 50, // by the claim itself
  firstTriedAt: 50,
  externalId: "",
  reason: "",
  createdAt: 1,
  updatedAt: 50,
};

const NEVER: Omit<BeforeClaim, "lane"> = {};
for (
  const { what, before, uncertainSince, previousId = "" } of [
    { what: "never tried", before: NEVER },
    { what: "may have arrived at 7", before: { uncertainSince: 7 }, uncertainSince: 7 },
    { what: "after one that was sent", before: { earlier: { externalId: "9" } }, previousId: "9" },
    {
      what: "after one that may have arrived at 5",
      before: { earlier: { externalId: "", uncertainSince: 5 } },
      uncertainSince: 5,
    },
    {
      what: "may have arrived at 7, after one that was sent and whose update may have at 5",
      before: { uncertainSince: 7, earlier: { externalId: "9", uncertainSince: 5 } },
      uncertainSince: 7,
      previousId: "9",
    },
  ]
) {
  Deno.test(`a message that is claimed: ${what}`, () => {
    const claimed = claimOf(MESSAGE, { lane: "default/tidepool", ...before });
    const { uncertainSince: own, ...message } = claimed.message;
    const { uncertainSince: _byClaim, ...rest } = MESSAGE;
    deepEqual(message, rest);
    deepEqual(
      [own, claimed.uncertainSince, claimed.previousId],
      [before.uncertainSince, uncertainSince, previousId],
    );
  });
}

for (
  const [connection, lane] of [
    ["tidepool", "default/tidepool"],
    ["", 'default/github-comment/{"number":1}'],
  ] as const
) {
  Deno.test(`a message through "${connection}" is in lane ${lane}`, () => {
    deepEqual(laneOf({ ...MESSAGE, connection }), lane);
  });
}
