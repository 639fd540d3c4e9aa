/**
 * What a request leaves for the collector: little, or full collections come every few seconds and
 * hold up everybody. Measured in a process of its own, with collections at fixed times.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { NOT_SLOW, ROOT } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

Deno.test(
  skippable("requests, waits and bodies leave nothing much for a full collection", NOT_SLOW),
  async () => {
    const program = fileURLToPath(new URL("./garbage_program.ts", import.meta.url));
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        "--allow-all",
        "--unstable-worker-options",
        "--v8-flags=--expose-gc",
        "--config",
        `${ROOT}/deno.json`,
        program,
      ],
    }).output();
    const text = new TextDecoder().decode(stdout);
    ok(text !== "", new TextDecoder().decode(stderr));
    const { request, wait, body } = JSON.parse(text) as Record<string, number>;
    // Without `releaseRequest`, 2,800 bytes; headers of more than a few bytes add to that.
    ok(request !== undefined && request < 1500, `${request} bytes of each request`);
    // With a Set, 6,600 bytes: most of the results.
    ok(wait !== undefined && wait < 1000, `${wait} bytes of each wait`);
    // Where owners are forgotten beyond 4,096, 207 bytes.
    ok(body !== undefined && body < 100, `${body} bytes of each body`);
  },
);
