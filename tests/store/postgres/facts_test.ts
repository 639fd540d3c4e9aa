/**
 * Every key of a batch's request is an input of the function `facts`, and has a lock there. The
 * compiler sees neither.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { FACTS } from "../../../src/store/postgres/functions/facts.ts";
import { BatchRequest } from "../../../src/store/postgres/working_set/batch_request.ts";

const OF_ROWS = "FROM tasks WHERE id = ANY (known) ORDER BY id FOR UPDATE";

/** Keys of the request, with the text in `facts` that takes their lock. */
const LOCKS: Readonly<Record<string, string>> = {
  earlier: "'earlier/' ||",
  debounced: "'debounced/' ||",
  groups: "'group/' ||",
  workspaces: "'workspace/' ||",
  rates: "'rate/' ||",
  tasks: OF_ROWS,
  claims: OF_ROWS,
  deliveries: "'delivery/' ||",
  conversations: "'conversation/' ||",
  resources: "pg_advisory_xact_lock_shared(hashtextextended('catalog', 0))",
};

Deno.test("every key of a batch's request is an input of facts, and has a lock", () => {
  const keys = Object.keys(JSON.parse(new BatchRequest().toJson()));
  deepEqual(keys.toSorted(), Object.keys(LOCKS).toSorted());
  const [, inputs = ""] = /json_to_record\(wanted\) AS one\(([^)]*)\)/.exec(FACTS) ?? [];
  const named = inputs.split(",").map((input) => input.trim().split(" ")[0] ?? "");
  deepEqual(named.toSorted(), keys.toSorted());
  for (const key of keys) {
    ok(FACTS.includes(`asked.${key}`), `facts does not use ${key}`);
    ok(FACTS.includes(LOCKS[key] ?? ""), `facts does not lock ${key}`);
  }
});
