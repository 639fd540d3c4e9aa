/**
 * The options that pick deliveries by what became of them, for every command that does.
 *
 * @module
 */

import type { GetInput } from "../api/resource_operations.ts";
import type { CommandContext, OptionDefinition } from "./command.ts";

/** The options. */
export const DELIVERY_FILTERS: readonly OptionDefinition[] = [
  { flags: "--reason <text>", help: "only deliveries whose reason contains this, in any case" },
  { flags: "--status <code>", help: "only deliveries answered with this status" },
  { flags: "--remote <address>", help: "only deliveries of this sender" },
  { flags: "--key <name>", help: "only deliveries whose signature matched this key" },
  { flags: "--min-duration <duration>", help: "only deliveries that took at least 500ms, 2s, …" },
];

/** What they pick. */
export type DeliveryFilters = Pick<
  GetInput,
  "reason" | "status" | "remote" | "key" | "min_duration_ms"
>;

/** What is picked by the options that were given. */
export function deliveryFilters(context: CommandContext): DeliveryFilters {
  const all = {
    reason: context.option("reason"),
    status: context.count("status", 0, 999),
    remote: context.option("remote"),
    key: context.option("key"),
    min_duration_ms: milliseconds(context),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** `--min-duration`: milliseconds as `250ms`, or a duration like others. */
function milliseconds(context: CommandContext): number | undefined {
  const text = context.option("minDuration");
  const found = /^([0-9]{1,9})ms$/.exec(text ?? "");
  if (found !== null) return Number(found[1]);
  const secs = context.duration("minDuration");
  return secs === undefined ? undefined : secs * 1000;
}
