import { strictEqual as equal } from "node:assert/strict";
import { LISTED_NAMES } from "../../src/cli/listed_names.ts";
import { nothingFound } from "../../src/cli/nothing_found.ts";
import { KIND_NAMES } from "../../src/resources/kind_names.ts";

const CASES: readonly (readonly [what: string, says: string])[] = [
  [
    "outbox",
    "No messages in the outbox yet. Answers to tasks and messages of Notifications wait here until " +
    "they are sent",
  ],
  [
    "conn",
    "No connections yet. Make one: svc connect github OWNER/REPO; or svc connect gitlab, svc connect slack, svc connect " +
    "line",
  ],
  ["audit", "No rows in the audit yet. One is written whenever a plugin is applied or run"],
  ["secrets", "No secretstores yet. Make one: svc secret set STORE KEY"],
  ["notifications", "No notifications yet. Apply one: svc apply -f FILE"],
  ["Chat", "No chat yet. Apply one: svc apply -f FILE"],
];

for (const [what, says] of CASES) {
  Deno.test(`an empty list of ${what} says how it gets something`, () => {
    equal(nothingFound({ what }), says);
  });
}

Deno.test("an empty list of unknown paths is not one of deliveries", () => {
  const said = nothingFound({ what: "deliveries", unknown: true });
  equal(said.startsWith("No request came to a path without a trigger"), true);
});

Deno.test("only of what can be applied an empty list says so", () => {
  const kinds = Object.values(KIND_NAMES).map(({ plural }) => plural as string);
  for (const { plural } of LISTED_NAMES) {
    if (kinds.includes(plural)) continue;
    equal(nothingFound({ what: plural }).includes("svc apply"), false, plural);
  }
});

Deno.test("an empty list with filters says that they match nothing", () => {
  equal(
    nothingFound({ what: "outbox", state: "failed", project: "shop" }),
    'No messages in the outbox in project "shop" match these filters',
  );
});
