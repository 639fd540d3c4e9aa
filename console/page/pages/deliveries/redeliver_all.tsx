/**
 * Sends all deliveries again that match the filters of the list.
 *
 * @module
 */

import type { Input } from "../../../../src/api/operations.ts";
import { stream } from "../../data/api.ts";
import { Action } from "../../parts/action.tsx";

/** Most failed deliveries that the result names. */
const NAMED = 3;

/** The action of the list of deliveries; `input` are the filters of the list. */
export function RedeliverAll({ input, flags }: {
  readonly input: Readonly<Record<string, string | number>>;
  /** The filters as flags of the command. */
  readonly flags: string;
}) {
  const wanted: Input<"delivery.redeliver"> = input;
  const why = input["since_secs"] === undefined ? "Choose a time range first" : undefined;
  const count = async (signal: AbortSignal) => {
    for await (const line of stream("delivery.redeliver", dry(wanted), signal)) {
      if ("total" in line) return question(line.total);
    }
    return question(0);
  };
  return (
    <div class="actions">
      <Action
        label="Send all matches again"
        question={count}
        command={`svc delivery redeliver${flags}`}
        why={why}
        act={(progress) => redeliver(wanted, progress)}
      />
    </div>
  );
}

function dry(wanted: Input<"delivery.redeliver">): Input<"delivery.redeliver"> {
  return { ...wanted, dry_run: true };
}

function question(total: number): string {
  if (total === 0) return "None of the matching deliveries can be sent again.";
  const what = total === 1 ? "1 delivery goes" : `${total.toLocaleString("en")} deliveries go`;
  return `${what} through the current triggers, oldest first. Each accepted delivery starts ` +
    "a task. Duplicates, handshakes and chat events are left out. So are rejected deliveries, " +
    "unless you filter by the outcome rejected.";
}

/** Sends the deliveries; resolves to a text with the number of each result. */
async function redeliver(
  wanted: Input<"delivery.redeliver">,
  progress: (text: string) => void,
): Promise<string> {
  const counts = new Map<string, number>();
  const failed: string[] = [];
  let [total, sent] = [0, 0];
  for await (const line of stream("delivery.redeliver", wanted, new AbortController().signal)) {
    if ("total" in line) {
      total = line.total;
      continue;
    }
    const outcome = line.error === undefined ? line.outcome ?? "sent" : "not sent";
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (line.error !== undefined && failed.length < NAMED) failed.push(line.error);
    progress(`${++sent} of ${total}`);
  }
  const sums = [...counts].map(([outcome, count]) => `${count} ${outcome}`);
  const done = sums.length === 0 ? "No delivery was sent" : `Sent again: ${sums.join(", ")}`;
  return [done, ...failed].join(". ");
}
