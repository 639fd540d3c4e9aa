/**
 * `svc delivery redeliver`.
 *
 * @module
 */

import type { RedeliveryLine } from "../../api/delivery_operations.ts";
import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
import { DELIVERY_OUTCOMES } from "../../store/delivery_records.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  DELIVERY,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import { DURATION, type OptionDefinition } from "../option.ts";
import { DELIVERY_FILTERS, deliveryFilters } from "../delivery_filters.ts";
import { jsonText } from "../json_text.ts";
import { CLEAR_LINE, printable } from "../terminal_text.ts";

const OPTIONS = [
  {
    flags: "--trigger <name>",
    help: "all deliveries of this trigger; a filter requires --since",
    complete: "trigger",
  },
  { flags: "--since <duration>", value: DURATION, help: "those of the last 1h, 7d, …" },
  {
    flags: "--outcome <outcome>",
    help: "only those with this outcome; failed: those whose task failed",
    complete: [...DELIVERY_OUTCOMES, "failed"],
  },
  ...DELIVERY_FILTERS,
  { flags: "--until <time>", help: "only those up to this time: 2026-01-31T08:00:00Z" },
  { flags: "--dry-run", help: "print which deliveries these are, but send nothing" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Sends a stored delivery, or all that match since a given time, through the pipeline " +
    "again. It counts as authenticated and never as a duplicate; the filter and workflow are " +
    "the ones applied now. Exit 1 if a delivery could not be sent.",
  arguments: [{ name: "[delivery]", help: DELIVERY.help, complete: "delivery" }],
  options: OPTIONS,
  examples: [
    "svc delivery redeliver latest",
    "svc delivery redeliver --trigger github-push --since 1h --outcome failed",
  ],
  async run(context) {
    const { io } = context;
    const id = context.argument(0);
    const filters = filtersOf(context);
    const given = Object.keys(filters).length > 0;
    const since = context.options.since;
    const dryRun = context.options.dryRun;
    if ((id === "") !== given) {
      throw new AppError("usage", "Name a delivery, or all with filters such as --trigger");
    }
    if (given && since === undefined) {
      throw new AppError("usage", "Add how far back: --since 1h, --since 7d, …");
    }
    if (dryRun && !given) {
      throw new AppError("usage", "--dry-run tells which deliveries match: give filters");
    }
    using client = context.client();
    const lines = client.stream("delivery.redeliver", {
      ...context.project(),
      ...filters,
      ...(id === "" ? {} : { id }),
      ...defined({ since_secs: since }),
      ...(dryRun ? { dry_run: true } : {}),
    });
    const progress = new Progress(context);
    for await (const line of lines) progress.take(line);
    progress.end();
    if (context.options.output === "json") {
      io.out(jsonText(progress.results));
    }
    return progress.failed === 0 ? 0 : 1;
  },
});

function filtersOf(context: Context<typeof OPTIONS>): Partial<Input<"delivery.redeliver">> {
  const texts = (["trigger", "outcome", "until"] as const).flatMap((name) => {
    const value = context.options[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(texts), ...deliveryFilters(context) };
}

type Result = Exclude<RedeliveryLine, { total: number }>;

/** Prints results as they come, and on a terminal the progress. */
class Progress {
  readonly results: Result[] = [];
  failed = 0;
  #total = 1;
  readonly #context: Context<typeof OPTIONS>;
  readonly #live: boolean;

  constructor(context: Context<typeof OPTIONS>) {
    this.#context = context;
    this.#live = context.io.errColor && context.options.output !== "json";
  }

  take(line: RedeliveryLine): void {
    if ("total" in line) {
      this.#total = line.total;
      return;
    }
    this.results.push(line);
    if (line.error !== undefined) this.failed++;
    if (this.#context.options.output === "json") return;
    this.#clear();
    this.#context.io.out(`${describe(line)}\n`);
    if (this.#live) this.#context.io.err(`${this.results.length} of ${this.#total}`);
  }

  end(): void {
    this.#clear();
    if (this.results.length === 0) this.#context.io.err("No delivery to redeliver\n");
  }

  #clear(): void {
    if (this.#live) this.#context.io.err(CLEAR_LINE);
  }
}

function describe(line: Result): string {
  const given = `delivery/${line.delivery_id}`;
  if (line.error !== undefined) return `${given} not sent: ${printable(line.error)}`;
  if (line.outcome === undefined) return given;
  const tasks = (line.task_ids ?? []).map((id) => `, task/${id}`).join("");
  const reason = line.reason ? ` (${printable(line.reason)})` : "";
  return `${given} ${line.outcome} as delivery/${line.new_delivery_id}${tasks}${reason}`;
}
