/** When a question can be answered where it is shown, and how a comment that asks says so. */

import { doesNotMatch, match, strictEqual as equal } from "node:assert/strict";
import { askingComment, showApproval } from "../../src/outbox/shown_approval.ts";

const ASK = { ask: "Deploy?", fields: {} };
const PRESET = { where: { type: "text", default: "eu" } } as const;
const OPEN = { where: { type: "text" } } as const;

const CASES = [
  ["a text", ASK, "", true],
  ["a change", ASK, "+x", true],
  ["a change that does not show all", { ...ASK, isCut: true }, "+x", false],
  ["a field with a value", { ...ASK, fields: PRESET }, "", true],
  ["a field that has to be given", { ...ASK, fields: OPEN }, "", false],
] as const;

for (const [what, asked, diff, isWhole] of CASES) {
  Deno.test(`whether it is answered where it is shown: ${what}`, () => {
    const shown = showApproval(asked, diff);
    equal(shown.isWhole, isWhole);
    const at = { facts: "", code: "7f3a91c2", sign: "/", command: "svc task approve T ok" };
    const text = askingComment(shown, at);
    if (isWhole) return match(text, /^\/approve 7f3a91c2\n\/reject 7f3a91c2 because …$/m);
    doesNotMatch(text, /7f3a91c2/);
    match(text, /cannot be answered here[^]*svc task approve T ok/);
  });
}

Deno.test("a comment that asks shows the line that its forge leaves alone", () => {
  const at = { facts: "", code: "7f3a91c2", sign: "", command: "svc task approve T ok" };
  match(askingComment(showApproval(ASK), at), /^approve 7f3a91c2\nreject 7f3a91c2 because …$/m);
});
