/**
 * `svc trigger backtest`.
 *
 * @module
 */

import type { BacktestCounts, BacktestLine } from "../../api/trigger_operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { printCounts } from "../backtest_text.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  PROJECT,
  TRIGGER,
} from "../command.ts";
import { count, DURATION, type OptionDefinition } from "../option.ts";
import { interruptible } from "../interrupt.ts";
import { CLEAR_LINE, printable } from "../terminal_text.ts";

/** How far back a backtest goes if the command line does not say. */
const DEFAULT_SECS = 7 * 24 * 3600;
/** Most changed deliveries that are named. */
const MAX_NAMED = 100;

const OPTIONS = [
  { flags: "--filter <condition>", help: "CEL condition to use instead of the trigger's own" },
  {
    flags: "--since <duration>",
    value: DURATION,
    help: "those of the last 1h, 7d, … (default: 7d)",
  },
  {
    flags: "--limit <n>",
    value: count(1, 100_000),
    help: "at most this many, the newest (default: 10000)",
  },
  PROJECT,
  ...CONNECTION,
  {
    flags: "-o, --output <format>",
    help: "how to print; json is one line per delivery, with lines of progress between",
    choices: ["text", "json"],
    fallback: "text",
  },
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Runs the stored deliveries of a trigger through it again, with another filter or as " +
    "it is now, and prints which would have another outcome. Stores and starts nothing; " +
    "transformers run. A delivery that was authenticated on arrival counts as authenticated.",
  arguments: [TRIGGER],
  options: OPTIONS,
  examples: [
    `svc trigger backtest github-push --filter 'payload.ref == "refs/heads/main"'`,
    "svc trigger backtest github-push --since 1d",
  ],
  run(context) {
    const { io } = context;
    const [filter, limit] = [context.options.filter, context.options.limit];
    const json = context.options.output === "json";
    return interruptible(io, async (signal) => {
      using client = context.client();
      const lines = client.stream("trigger.backtest", {
        name: context.argument(0),
        ...context.project(),
        since_secs: context.options.since ?? DEFAULT_SECS,
        ...defined({ filter, limit }),
      }, signal);
      const report = new Report(context);
      for await (const line of lines) {
        if (json) io.out(`${JSON.stringify(line)}\n`);
        report.take(line, json);
      }
      report.end(json);
    });
  },
});

/** Prints the results of a backtest, and on a terminal its progress. */
class Report {
  readonly #context: Context<typeof OPTIONS>;
  readonly #live: boolean;
  #total = 0;
  #changed = 0;
  #end: { readonly examined: number; readonly counts: BacktestCounts } | undefined;

  constructor(context: Context<typeof OPTIONS>) {
    this.#context = context;
    this.#live = context.io.errColor;
  }

  take(line: BacktestLine, isSilent: boolean): void {
    if ("total" in line) this.#total = line.total;
    if ("done" in line) this.#end = line;
    if (isSilent) return;
    const { io } = this.#context;
    this.#clear();
    if ("delivery_id" in line && !line.unchanged && ++this.#changed <= MAX_NAMED) {
      const reason = line.reason === "" ? "" : ` (${printable(line.reason)})`;
      io.out(`delivery/${line.delivery_id} ${line.before} → ${line.after}${reason}\n`);
    }
    if ("examined" in line && this.#live) io.err(`${line.examined} of ${this.#total}`);
  }

  end(isSilent: boolean): void {
    if (this.#end === undefined) {
      throw new AppError("unreachable", "The daemon is stopping: try again when it runs");
    }
    if (isSilent) return;
    this.#clear();
    if (this.#changed > MAX_NAMED) {
      this.#context.io.out(`and ${this.#changed - MAX_NAMED} more, which -o json names\n`);
    }
    printCounts(this.#end, this.#context.io);
  }

  #clear(): void {
    if (this.#live) this.#context.io.err(CLEAR_LINE);
  }
}
