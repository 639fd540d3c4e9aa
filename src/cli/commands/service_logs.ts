/**
 * `svc service logs`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { findService } from "../../service/service_lookup.ts";
import { runAttached } from "../../shell/run_attached.ts";
import { type Command, defineCommand } from "../command.ts";
import { count } from "../option.ts";
import { namedScope, serviceHost, SYSTEM } from "../service_host.ts";

/** Lines that are shown without `--tail`. */
const LINES = 50;
const MOST_LINES = 1_000_000;

export const command: Command = defineCommand({
  help: "Prints the end of the service's log, from the journal, or from its file on macOS. svc " +
    "task logs prints the output of steps. Exit 4 if there is no service.",
  options: [
    SYSTEM,
    { flags: "-f, --follow", help: "keep printing, until Ctrl-C" },
    {
      flags: "--tail <n>",
      value: count(0, MOST_LINES),
      help: "how many of its last lines",
      fallback: String(LINES),
    },
  ],
  examples: [
    "svc service logs",
    "svc service logs -f",
    "sudo svc service logs --tail 500 | grep error",
  ],
  async run(context) {
    const { io } = context;
    const lines = context.options.tail ?? LINES;
    const { manager, state } = await findService(serviceHost(io), namedScope(context));
    if (state === undefined) throw new AppError("not_found", `There is no ${manager.service} here`);
    const stop = new AbortController();
    // Ctrl-C is meant for the other program; svc goes on until that has ended.
    using _signals = io.onStop((signal) => signal === "SIGINT" || stop.abort());
    const [program, ...args] = manager.logs({ lines, follow: context.options.follow });
    return await runAttached({
      what: program,
      line: 'exec "$@"',
      args: [program, ...args],
      cwd: "/",
      env: io.environment(),
      signal: stop.signal,
    });
  },
});
