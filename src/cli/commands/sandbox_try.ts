/**
 * `svc sandbox try`: a command in a sandbox, by hand. The daemon says how to start it and serves its way
 * to the network; the command itself runs here, with the terminal.
 *
 * @module
 */

import type { TryLine, TryStart } from "../../api/sandbox_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { readRegularText } from "../../base/regular_file.ts";
import { runAttached } from "../../shell/run_attached.ts";
import { hasBegun } from "../../shell/sandbox.ts";
import { type Command, type Context, DATA_DIR, defineCommand, PROJECT } from "../command.ts";
import { INTERRUPTED } from "../interrupt.ts";
import type { Io } from "../io.ts";
import type { OptionDefinition } from "../option.ts";
import { SANDBOX } from "../sandbox_argument.ts";

const OPTIONS = [
  {
    flags: "--workspace <name>",
    help: "run it in the directory of this Workspace (default: the current directory)",
    complete: "workspace",
  },
  PROJECT,
  DATA_DIR,
] as const satisfies readonly OptionDefinition[];

/** Variables of the terminal, which no step has. */
const TERMINAL = ["TERM", "COLORTERM"];

/** Time for what was refused last to arrive, once the command has ended. */
const LAST_WORDS_MS = 100;

export const command: Command = defineCommand({
  help:
    "Runs a command in a Sandbox as a step would run, with your terminal: -- bash gives you a " +
    "shell inside. It has the environment of steps and the network of the Sandbox; hosts that are " +
    "refused are printed. It cannot call svc, and limits do not hold. Only an admin can run it, " +
    "as the user of the daemon and on its machine. Exits with the exit code of the command.",
  arguments: [SANDBOX, {
    name: "<command...>",
    help: "the command and its arguments",
    separate: true,
  }],
  options: OPTIONS,
  examples: [
    "svc sandbox try -- bash",
    "svc sandbox try agents -- curl -sS https://example.com",
    "svc sandbox try agents --workspace shop -- git status",
  ],
  async run(context) {
    if (context.io.env("SVC_SERVER")) {
      throw new AppError(
        "usage",
        "A sandbox can only be tried on the machine of its daemon: log in there, or unset SVC_SERVER",
      );
    }
    const stop = new AbortController();
    let isRunning = false;
    // While the command runs, Ctrl-C is meant for it.
    using _signals = context.io.onStop(
      (signal) => (isRunning && signal === "SIGINT") || stop.abort(),
      ["SIGINT", "SIGTERM", "SIGHUP"],
    );
    return await tryIn(context, stop.signal, () => isRunning = true).catch((error) => {
      if (stop.signal.aborted) return INTERRUPTED;
      throw error;
    });
  },
});

async function tryIn(
  context: Context<typeof OPTIONS>,
  signal: AbortSignal,
  onRun: () => void,
): Promise<number> {
  const { io, options: { workspace } } = context;
  using client = context.localClient();
  const done = new AbortController();
  const input = {
    ...defined({ name: context.argument(0) || undefined, workspace }),
    ...workspace === undefined ? { directory: Deno.cwd() } : {},
    ...context.project(),
    command: [...context.arguments(1)],
  };
  const streaming = AbortSignal.any([signal, done.signal]);
  const lines = client.stream("sandbox.try", input, streaming)[Symbol.asyncIterator]();
  const { value: first } = await lines.next();
  if (first === undefined || !("run" in first)) return INTERRUPTED; // or it would have thrown
  const { run, notes } = first;
  const printing = printRefused(lines, { io, signal: streaming });
  try {
    await checkUser(run.status, context.dir().root);
    for (const note of notes) io.err(`note: ${note}\n`);
    onRun();
    const terminal = TERMINAL.map((name) => [name, io.env(name)] as const)
      .filter(([, text]) => text !== undefined);
    const code = await runAttached({
      what: "bubblewrap",
      ...run,
      env: { ...run.env, ...Object.fromEntries(terminal) },
      signal,
      endSignal: "SIGKILL", // bubblewrap ignores others, and with it all in the sandbox ends
    });
    if (signal.aborted) return INTERRUPTED;
    const isSignal = code > 128; // Ctrl-C reaches bubblewrap too
    if (code !== 0 && !isSignal && !hasBegun(readRegularText(run.status))) {
      throw new AppError("invalid", "The sandbox cannot be made: see above what bubblewrap said");
    }
    await systemClock.pause(LAST_WORDS_MS);
    return code;
  } finally {
    done.abort();
    await printing;
  }
}

/**
 * Another user has no access to the files with which the sandbox is made; root has more than a step.
 *
 * @throws {AppError} `refused`.
 */
async function checkUser(status: string, dataDir: string): Promise<void> {
  const ownerOf = (path: string) =>
    Deno.stat(path).then(({ uid }) => uid ?? undefined, () => undefined);
  if (await ownerOf(status) === Deno.uid()) return;
  const owner = await ownerOf(dataDir);
  const how = owner === undefined
    ? "run this as that user"
    : `sudo -u '#${owner}' svc sandbox try …`;
  throw new AppError("refused", `Only the user of the daemon can try its sandboxes: ${how}`);
}

/** Prints what is refused on the network, until the command has ended. */
async function printRefused(
  lines: AsyncIterator<TryStart | TryLine>,
  { io, signal }: { readonly io: Io; readonly signal: AbortSignal },
): Promise<void> {
  try {
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      const refused = "refused" in next.value ? next.value.refused : [];
      for (const line of refused) io.err(`${line}\n`);
    }
  } catch {
    // the same as its end
  }
  if (!signal.aborted) {
    io.err("note: the daemon has ended, and with it the network that it serves\n");
  }
}
