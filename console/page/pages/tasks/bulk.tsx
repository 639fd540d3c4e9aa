/**
 * Cancels or retries every task that matches the filters of the list, after showing their number.
 *
 * @module
 */

import { stream } from "../../data/api.ts";
import { Action } from "../../parts/action.tsx";

/** Filters that the daemon accepts for many tasks at once. */
const TAKEN = ["project", "trigger", "workflow", "state", "since_secs"];
/** Filters of which at least one is required: a project alone would match too many tasks. */
const ENOUGH = TAKEN.filter((name) => name !== "project");

/** The filters of the list, as input of an operation and as flags of a command. */
export interface Matching {
  readonly input: Readonly<Record<string, string | number>>;
  readonly flags: string;
}

/** The buttons for both actions. */
export function Bulk({ matching }: { readonly matching: Matching }) {
  const { state } = matching.input;
  const isOpen = state === "pending" || state === "running" || state === "waiting";
  const cancels = state === undefined || isOpen;
  const retries = !isOpen;
  return (
    <div class="actions">
      {cancels && <BulkAction verb="cancel" matching={matching} terse={retries} />}
      {retries && <BulkAction verb="retry" matching={matching} />}
    </div>
  );
}

function BulkAction(
  { verb, matching: { input, flags }, terse = false }: {
    readonly verb: "cancel" | "retry";
    readonly matching: Matching;
    readonly terse?: boolean;
  },
) {
  const label = verb === "cancel" ? "Cancel all matches" : "Retry all matches";
  return (
    <Action
      label={label}
      question={async (signal) => questionOf(verb, await countOf(verb, input, signal))}
      command={`svc task ${verb}${flags}`}
      why={whyNotAll(input)}
      terse={terse}
      act={async (progress) => {
        let [total, done, failed] = [0, 0, 0];
        let why = "";
        for await (const line of stream(`task.${verb}.matching`, input, NEVER)) {
          if ("total" in line) {
            total = line.total;
            continue;
          }
          done++;
          if (line.error !== undefined) [failed, why] = [failed + 1, why || line.error];
          progress(`${done} of ${total}`);
        }
        const went = verb === "cancel" ? "cancelled" : "retried";
        return `${tasks(done - failed)} ${went}${failed === 0 ? "" : `, ${failed} not: ${why}`}`;
      }}
    />
  );
}

/** The call is never aborted: the daemon completes the change even if the page is closed. */
const NEVER = new AbortController().signal;

function whyNotAll(input: Matching["input"]): string | undefined {
  const other = Object.keys(input).find((name) => !TAKEN.includes(name));
  if (other !== undefined) {
    return `This cannot select by ${other.replaceAll("_", " ")}: remove that filter`;
  }
  if (ENOUGH.some((name) => input[name] !== undefined)) return undefined;
  return "Choose a state, a trigger, a workflow or a time range first";
}

async function countOf(
  verb: "cancel" | "retry",
  input: Matching["input"],
  signal: AbortSignal,
): Promise<number> {
  const dry = { dry_run: true, ...input };
  for await (const line of stream(`task.${verb}.matching`, dry, signal)) {
    if ("total" in line) return line.total;
  }
  return 0;
}

function questionOf(verb: "cancel" | "retry", total: number): string {
  return verb === "cancel"
    ? `This cancels ${tasks(total)}. Waiting tasks end at once; svc asks running steps to stop.`
    : `This runs ${
      tasks(total)
    } again, each as a new task. Tasks that were retried before are left out.`;
}

function tasks(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}
