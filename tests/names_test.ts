/**
 * The names that users write and read: one thing has one name, in the form of its kind. From the
 * first release on they stay.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { OPERATIONS } from "../src/api/operations.ts";
import { LISTED } from "../src/cli/commands/commands.ts";
import { Metrics } from "../src/telemetry/metrics.ts";
import { READ } from "../src/telemetry/readings.ts";

/** Flags that take something else in another command. */
const OF_TWO_KINDS: Readonly<Record<string, string>> = {
  "--body": "what is signed or said, and whether the body is shown",
  "--event": "of a webhook, one or several, and of a review",
  "--filename": "one file, and several",
  "--header": "as HTTP writes it, and as the HMAC tool does",
  "--key": "key of a SecretStore, and of a comment",
  "--name": "of a Connection, and of a token, which is free text",
  "--prefix": "of a digest, and whether lines have that of their step",
  "--remove": "key of a SecretStore, and labels",
  "--since": "a time, or how long ago where the daemon reckons from now",
  "--status": "of a check run, and the status code of a request",
  "--timestamp": "seconds to sign with, and the text of a header to verify",
  "--with": "a reaction, and an agent",
};

Deno.test("a flag takes the same everywhere", async () => {
  const kinds = new Map<string, Set<string>>();
  for (const { load } of LISTED) {
    const { command } = await load();
    for (const { flags } of command.options ?? []) {
      const [, name = "", takes = ""] = /(--[a-z-]+)(.*)$/.exec(flags) ?? [];
      kinds.set(name, (kinds.get(name) ?? new Set()).add(takes.trim()));
    }
  }
  ok(kinds.size > 100, `${kinds.size} flags`);
  const several = [...kinds].filter(([, takes]) => takes.size > 1).map(([name]) => name);
  deepEqual(several.toSorted(), Object.keys(OF_TWO_KINDS).toSorted());
});

const SNAKE_CASE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

Deno.test("fields of requests are in snake_case", () => {
  const wrong = Object.entries(OPERATIONS).flatMap(([operation, { input }]) =>
    Object.keys(input.properties).filter((name) => !SNAKE_CASE.test(name))
      .map((name) => `${operation}: ${name}`)
  );
  deepEqual(wrong, []);
});

Deno.test("fields of answers are in snake_case", () => {
  const directory = new URL("../src/api/", import.meta.url);
  const files = [...Deno.readDirSync(directory)].map(({ name }) => name)
    .filter((name) => name.endsWith("_operations.ts") || name === "records.ts");
  ok(files.length > 10, `${files.length} files`);
  const wrong = files.flatMap((file) =>
    [...Deno.readTextFileSync(new URL(file, directory)).matchAll(/\breadonly (\w+)\??:/g)]
      .map(([, name = ""]) => name).filter((name) => !SNAKE_CASE.test(name))
      .map((name) => `${file}: ${name}`)
  );
  deepEqual(wrong, []);
});

/** Gauges that count things; everything else names its unit. */
const COUNTS = [
  "svc_tasks",
  "svc_waits_open",
  "svc_outbox_messages",
  "svc_plugins_running",
  "svc_plugins_queued",
  "svc_connections_open",
  "svc_connections_limit",
  "svc_degraded_reasons",
  "svc_process_open_descriptors",
  "svc_process_max_descriptors",
];

Deno.test("a metric ends with its unit, a counter with _total", () => {
  const metrics = new Metrics({ version: "", deno: "" });
  const readings = Object.fromEntries(READ.map(({ name }) => [name, [{ value: 0 }]]));
  const text = metrics.text(readings, () => true);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  ok(types.length > 30, text);
  const wrong = types.filter(([, name = "", type]) =>
    type === "counter" ? !name.endsWith("_total") : name.endsWith("_total") ||
      !(/_(seconds|bytes|info|up|size|ratio)$/.test(name) || COUNTS.includes(name))
  );
  deepEqual(wrong.map(([line]) => line), []);
});
