/**
 * The options that filter deliveries by reason, status, sender, key and duration, for several
 * commands.
 *
 * @module
 */

import type { GetInput } from "../api/resource_operations.ts";
import { defined } from "../base/defined.ts";
import type { Context } from "./command.ts";
import { count, duration, type OptionDefinition, type OptionValue } from "./option.ts";

const IN_MS = duration((secs) => secs * 1000);

/** Milliseconds, of `250ms` or of a duration like others. */
const MIN_DURATION: OptionValue<number> = {
  takes: IN_MS.takes,
  parse: (text) => {
    const [, ms] = /^([0-9]{1,9})ms$/.exec(text) ?? [];
    return ms === undefined ? IN_MS.parse(text) : Number(ms);
  },
};

/** Options that filter deliveries. */
export const DELIVERY_FILTERS = [
  { flags: "--reason <text>", help: "only deliveries whose reason contains this, in any case" },
  {
    flags: "--status <code>",
    value: count(0, 999),
    help: "only deliveries answered with this status",
  },
  { flags: "--remote <address>", help: "only deliveries of this sender" },
  { flags: "--key <name>", help: "only deliveries whose signature matched this key" },
  {
    flags: "--min-duration <duration>",
    value: MIN_DURATION,
    help: "only deliveries that took at least 500ms, 2s, …",
  },
] as const satisfies readonly OptionDefinition[];

/** The filters, as `svc get` sends them. */
export type DeliveryFilters = Pick<
  GetInput,
  "reason" | "status" | "remote" | "key" | "min_duration_ms"
>;

/** The filters that were given. */
export function deliveryFilters(context: Context<typeof DELIVERY_FILTERS>): DeliveryFilters {
  const { reason, status, remote, key, minDuration } = context.options;
  return defined({ reason, status, remote, key, min_duration_ms: minDuration });
}
