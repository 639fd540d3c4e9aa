/**
 * What users ask is answered within the first three sections that the search finds, in their words.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { searchEntries } from "../../src/docs/manual.ts";
import { readPages } from "../../src/docs/pages.ts";
import { Search } from "../../src/docs/search.ts";

const SEARCH = new Search(searchEntries(await readPages()));

for (
  const [words, topic] of [
    ["why did it not fire", "deliveries"],
    ["how do I rotate", "secrets"],
    ["move to another machine", "upgrade-and-move"],
    ["what does a 200 mean", "faq"],
    ["a read-only colleague", "access"],
    ["behind nginx", "reverse-proxy"],
    ["an agent that cannot read my keys", "access"],
    ["what uses my disk", "data"],
    ["undo an upgrade", "upgrade-and-move"],
    ["leave again", "upgrade-and-move"],
    ["exit codes", "commands"],
    ["without a public address", "connect"],
    ["restore a backup", "upgrade-and-move"],
    ["the same event twice", "troubleshooting"],
    ["token expired", "access"],
    ["prometheus", "metrics"],
    ["run as a service", "operations"],
  ] as const
) {
  Deno.test(`"${words}" finds ${topic}`, () => {
    const found = SEARCH.find(words, 3).map(({ entry }) => `${entry.topic}#${entry.anchor}`);
    ok(found.some((one) => one.startsWith(`${topic}#`)), found.join(", "));
  });
}
