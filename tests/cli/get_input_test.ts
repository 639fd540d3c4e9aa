/**
 * What `svc get` asks the daemon for: each flag in its field, and a search that ended before it had
 * found enough goes on.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { GetInput, Listing } from "../../src/api/resource_operations.ts";
import { command } from "../../src/cli/commands/get.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";

type Page = { readonly ids: readonly string[] } & Pick<Listing, "more_before" | "more_after">;

/** Runs `svc get WHAT` against a daemon that gives these pages one after the other. */
async function run(options: Record<string, string>, pages: readonly Page[] = [{ ids: [] }]) {
  const { io, text } = screen(true);
  const asked: GetInput[] = [];
  const context = contextOf(command, io, {
    positional: ["deliveries"],
    options: { output: "name", ...options },
  });
  const client = {
    call(_name: "get", input: GetInput): Promise<Listing> {
      const { ids, ...more } = pages[asked.length] ?? { ids: [] };
      asked.push(input);
      return Promise.resolve({
        names: ids.map((id) => `delivery/${id}`),
        items: ids.map((id) => ({ id })),
        columns: [{ header: "ID", wide: false }],
        rows: ids.map((id) => [id]),
        ...more,
      });
    },
    [Symbol.dispose]: () => {},
  };
  Object.assign(context, { client: () => client });
  await command.run(context, PROGRAM);
  return { asked, text };
}

const asks = async (options: Record<string, string>) => {
  const { asked: [{ what: _, ...input } = { what: "" }] } = await run(options);
  return input;
};

Deno.test("svc get puts each filter into its field", async () => {
  const cases: readonly (readonly [Record<string, string>, Omit<GetInput, "what">])[] = [
    [{ since: "1h30m" }, { since_secs: 5400 }],
    [{ since: "2026-01-31T08:00:00Z" }, { since: "2026-01-31T08:00:00Z" }],
    [{ until: "2026-01-31T08:00:00Z" }, { until: "2026-01-31T08:00:00Z" }],
    [{ before: "01K", after: "01J" }, { before: "01K", after: "01J" }],
    [{ reason: "signature" }, { reason: "signature" }],
    [{ status: "401" }, { status: 401 }],
    [{ remote: "::1", key: "old" }, { remote: "::1", key: "old" }],
    [{ minDuration: "250ms" }, { min_duration_ms: 250 }],
    [{ minDuration: "2s" }, { min_duration_ms: 2000 }],
    [{ delivery: "latest", parent: "A", retryOf: "B" }, {
      delivery: "latest",
      parent: "A",
      retry_of: "B",
    }],
    [{ thread: "1700000000.1" }, { thread: "1700000000.1" }],
  ];
  for (const [options, input] of cases) deepEqual(await asks(options), input);
  await rejects(asks({ status: "OK" }), { code: "usage", message: /^--status takes a whole/ });
  await rejects(asks({ minDuration: "fast" }), { code: "usage", message: /^--min-duration takes/ });
});

Deno.test("svc get goes on with a search that ended before it had found enough", async () => {
  const { asked, text } = await run({ reason: "x", limit: "3" }, [
    { ids: ["9"], more_before: "8" },
    { ids: [], more_before: "6" },
    { ids: ["5", "4"], more_before: "4" },
  ]);
  equal(text.out, "delivery/9\ndelivery/5\ndelivery/4\n");
  deepEqual(asked.map(({ before, limit }) => [before, limit]), [
    [undefined, 3],
    ["8", 2],
    ["6", 2],
  ]);
  const forth = await run({ reason: "x", after: "1", limit: "9" }, [
    { ids: ["3"], more_after: "4" },
    { ids: ["6", "5"] },
  ]);
  equal(forth.text.out, "delivery/6\ndelivery/5\ndelivery/3\n", "newest first");
  deepEqual(forth.asked.map(({ after }) => after), ["1", "4"]);
});

Deno.test("svc get asks once where a page is full, or nothing is left", async () => {
  const full = await run({ limit: "2", output: "table" }, [{ ids: ["2", "1"], more_before: "1" }]);
  equal(full.asked.length, 1);
  equal(full.text.err, "There may be more: add --before 1\n");
  const newer = await run({ limit: "1", after: "0", output: "table" }, [
    { ids: ["1"], more_after: "1" },
  ]);
  equal(newer.text.err, "There may be newer ones: add --after 1\n");
});
