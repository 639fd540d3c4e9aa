/**
 * The chain over the audit: what a link covers, what is found out, and what may go. The hashes are
 * from outside (`printf '%s' '[…]' | sha256sum`), as databases hold them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  type AuditLink,
  ChainCheck,
  chooseExpired,
  chooseRemovable,
  linkHash,
} from "../../../src/store/rules/audit_chain.ts";

const ROW = {
  id: "A1",
  created_at: "1970-01-01T00:00:01.000Z",
  finished_at: "1970-01-01T00:00:00.009Z",
  action: "execute",
  crd_kind: "Hook",
  plugin_name: "check",
  command: "scripts/x.sh",
  result: "ok",
  plugin_type: "interceptor",
  phase: "webhook.authenticate",
  trigger: "t",
  delivery_id: "d",
  exit_code: 0,
  stderr: "",
  role: "system",
  policy_mode: "allowlist",
  node: "not covered",
};
const START = "b2e757157ad9c0f8c7220ae945199571bc81f973b6c3b6f8bb26f618dd91da7f";
const FINISH = "431299d5eca9a093dbcd4ac39dcd672863f8e771c1174f3d44e32f29fc52ee3d";

Deno.test("a link hashes the link before, its kind and the columns it covers, in their order", () => {
  equal(linkHash("", "start", ROW), START);
  equal(linkHash(START, "finish", ROW), FINISH, "a missing column counts as null");
  equal(linkHash("", "start", { ...ROW, node: "another" }), START);
});

const link = (position: number, auditId: string, kind: string, hash = `h${position}`) => ({
  position,
  auditId,
  link: kind,
  hash,
});
const LINKS: readonly AuditLink[] = [
  link(1, "A1", "start", START),
  link(2, "A1", "finish", FINISH),
];
const SOUND = {
  links: LINKS,
  rows: [{ id: "A1", result: "ok" }],
  findRow: (id: string) => id === "A1" ? ROW : undefined,
  lastPosition: 2,
};
const CHECKPOINT = link(2, "", "checkpoint", FINISH);
const running = { ...ROW, id: "A2", result: "running" };

for (
  const { name, audit, faults } of [
    { name: "as it was written", audit: {}, faults: [] },
    { name: "empty", audit: { links: [], rows: [], lastPosition: 0 }, faults: [] },
    {
      name: "from its checkpoint on",
      audit: {
        links: [CHECKPOINT, link(3, "A2", "start", linkHash(FINISH, "start", running))],
        rows: [{ id: "A2", result: "running" }],
        findRow: () => running,
        lastPosition: 3,
      },
      faults: [],
    },
    {
      name: "with a changed row",
      audit: { findRow: () => ({ ...ROW, command: "scripts/y.sh" }) },
      faults: ["Row A1 was changed (start)"],
    },
    {
      name: "with a removed row",
      audit: { rows: [], findRow: () => undefined },
      faults: ["Row A1 was removed", "Row A1 was removed"],
    },
    {
      name: "with a row from outside",
      audit: { rows: [...SOUND.rows, { id: "A3", result: "ok" }] },
      faults: ["Row A3 was added from outside", "Row A3 was finished from outside"],
    },
    {
      name: "without its first link",
      audit: { links: LINKS.slice(1) },
      faults: [
        "The first links are missing, the chain begins at 2",
        "Row A1 was changed (finish)",
        "Row A1 was added from outside",
      ],
    },
    {
      name: "without a link in the middle",
      audit: { links: [...LINKS, link(5, "", "checkpoint")], lastPosition: 5 },
      faults: ["Links 3 to 4 are gone"],
    },
    {
      name: "without its last link",
      audit: { links: LINKS.slice(0, 1) },
      faults: ["The last links are missing, there were 2", "Row A1 was finished from outside"],
    },
    { name: "with its last link as it is kept", audit: { lastHash: FINISH }, faults: [] },
    {
      name: "with another last link",
      audit: { lastHash: START },
      faults: ["Link 2 was changed"],
    },
    {
      name: "whose end was forgotten",
      audit: { lastPosition: 0 },
      faults: ["Links up to 2 were added from outside"],
    },
  ]
) {
  Deno.test(`an audit ${name}: ${faults.length} faults`, () => {
    const { links, findRow, ...end } = { ...SOUND, ...audit };
    const check = new ChainCheck();
    for (const each of links) check.add(each, findRow(each.auditId));
    deepEqual(check.end(end), faults);
  });
}

const row = (n: number, result = "ok") => ({ id: `A${n}`, createdAt: `${n}`, result });

for (
  const { name, rows, before, surplus, expired } of [
    { name: "a young row stays", rows: [row(5)], before: "5", surplus: 0, expired: [] },
    { name: "an old row goes", rows: [row(4), row(5)], before: "5", surplus: 0, expired: ["A4"] },
    { name: "the surplus goes", rows: [row(8), row(9)], before: "5", surplus: 1, expired: ["A8"] },
    {
      name: "all of them go",
      rows: [row(1), row(2)],
      before: "5",
      surplus: -9,
      expired: ["A1", "A2"],
    },
    {
      name: "a running row stays, with all after it",
      rows: [row(1), row(2, "running"), row(3)],
      before: "5",
      surplus: 3,
      expired: ["A1"],
    },
  ]
) {
  Deno.test(`retention of the audit: ${name}`, () => {
    deepEqual(chooseExpired(rows, { before, surplus }), expired);
  });
}

for (
  const { name, expired, links, removable } of [
    {
      name: "both links of a row",
      expired: ["A1"],
      links: [link(1, "A1", "start"), link(2, "A1", "finish"), link(3, "A2", "start")],
      removable: { ids: ["A1"], last: { position: 2, hash: "h2" } },
    },
    {
      name: "behind a checkpoint",
      expired: ["A1"],
      links: [link(7, "", "checkpoint"), link(8, "A1", "start"), link(9, "A1", "finish")],
      removable: { ids: ["A1"], last: { position: 9, hash: "h9" } },
    },
    {
      name: "rows whose links are mixed go together",
      expired: ["A1", "A2"],
      links: [
        link(1, "A1", "start"),
        link(2, "A2", "start"),
        link(3, "A1", "finish"),
        link(4, "A2", "finish"),
      ],
      removable: { ids: ["A1", "A2"], last: { position: 4, hash: "h4" } },
    },
    {
      name: "nothing, as a row that stays was started in between",
      expired: ["A1"],
      links: [link(1, "A1", "start"), link(2, "A2", "start"), link(3, "A1", "finish")],
      removable: undefined,
    },
    { name: "nothing, as nothing has expired", expired: [], links: LINKS, removable: undefined },
  ]
) {
  Deno.test(`removed from the audit: ${name}`, () => {
    deepEqual(chooseRemovable(expired, links), removable);
  });
}
