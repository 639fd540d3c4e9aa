/**
 * `svc read-manifests`: reads manifests in a process of its own, which the daemon starts and can
 * kill.
 *
 * @module
 */

import { parseOwnJson } from "../../base/json.ts";
import { readApart } from "../../control/resources/read_apart.ts";
import type { ManifestInput } from "../../resources/read_manifests.ts";
import { type Command, defineCommand } from "../command.ts";

export const command: Command = defineCommand({
  help: "Reads manifests for the daemon: JSON in, JSON out. Not for people.",
  examples: [],
  async run({ io }) {
    const text = await new Response(io.stdin()).text();
    io.out(JSON.stringify(await readApart(parseOwnJson(text) as ManifestInput)));
  },
});
