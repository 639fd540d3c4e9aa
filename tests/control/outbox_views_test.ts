import { strictEqual as equal } from "node:assert/strict";
import { MESSAGES } from "../../src/control/records/outbox_views.ts";
import type { OutboxMessage } from "../../src/store/outbox_records.ts";

const TARGETS: readonly (readonly [target: OutboxMessage["target"], shown: string])[] = [
  [{ notification: "n", to: 1 }, "notification/n, target 1"],
  [{ repository: "o/r", number: 12 }, "o/r#12"],
  [{ repository: "o/r", sha: "abc" }, "o/r abc"],
  [{ to: "U4af4980629" }, "U4af4980629"],
  [{ channel: "C1", thread: "" }, "C1"],
];

for (const [target, shown] of TARGETS) {
  Deno.test(`svc get outbox: TARGET of a message to ${shown}`, () => {
    const column = MESSAGES.columns(0).find(({ header }) => header === "TARGET");
    equal(column?.cell({ target, body: {} as OutboxMessage["body"] } as OutboxMessage), shown);
  });
}

Deno.test("svc get outbox: a change of files says how large it is", () => {
  const column = MESSAGES.columns(0).find(({ header }) => header === "TARGET");
  const target = { repository: "o/r" };
  const cell = (body: OutboxMessage["body"]) =>
    column?.cell({ target, body } as unknown as OutboxMessage);
  equal(cell({ files: 3, added: 41, removed: 7 }), "o/r, 3 files, +41 \u22127");
  equal(cell({ files: 1, added: 0, removed: 0 }), "o/r, 1 file, +0 \u22120");
});
