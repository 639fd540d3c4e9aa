/**
 * What Persons change, in the control audit: with it, the audit has everything that somebody of a team
 * did. Here are the operations whose handlers record nothing themselves, because a record or a resource
 * shows what became of them. Callers that are nobody in particular get no row.
 *
 * @module
 */

import { findOperation, type Input, type OperationName } from "../../api/operations.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Handlers } from "../server/server.ts";
import type { AuditLog } from "./audit_log.ts";
import { auditedLines } from "./audited_lines.ts";

type Inputs = { readonly [Name in OperationName]: Input<Name> };

const onTask = ({ task }: { readonly task: string }) => [`task/${task}`];
const taskOf = ({ id }: { readonly id: string }) => [`task/${id}`];
const triggerOf = ({ name }: { readonly name: string }) => [`trigger/${name}`];
const eventOf = ({ id }: { readonly id: string }) => [`source-event/${id}`];
const messageOf = ({ id }: { readonly id: string }) => [`outbox/${id}`];
const keyOf = ({ store, key }: { readonly store: string; readonly key: string }) => [
  `secretstore/${store}: ${key}`,
];

/** The objects of each of these operations, as a row has them; none where nothing is changed. */
const TARGETS = {
  "secret.rotate": keyOf,
  "secret.remove": keyOf,
  "task.cancel": ({ ids }) => ids.map((id) => `task/${id}`),
  "task.cancel.matching": ({ reason: _why, ...filters }) => matching("tasks", filters),
  "task.retry": taskOf,
  "task.retry.matching": (filters) => matching("tasks", filters),
  "task.inbox.send": taskOf,
  "task.workspace.clean": taskOf,
  "delivery.redeliver": ({ id, ...filters }) =>
    id === undefined ? matching("deliveries", filters) : [`delivery/${id}`],
  "trigger.fire": triggerOf,
  "trigger.suspend": triggerOf,
  "trigger.resume": triggerOf,
  "source.replay": eventOf,
  "source.bind": eventOf,
  "slack.reply": onTask,
  "line.push": onTask,
  "github.comment": onTask,
  "gitlab.comment": onTask,
  "github.status": onTask,
  "gitlab.status": onTask,
  "github.react": onTask,
  "gitlab.react": onTask,
  "outbox.retry": messageOf,
  "outbox.drop": messageOf,
  "notification.test": ({ name }) => [`notification/${name}`],
  "connection.repair": ({ name, dry_run: dryRun }) => dryRun ? [] : [`connection/${name}`],
} satisfies { readonly [Name in OperationName]?: (input: Inputs[Name]) => readonly string[] };

/** The names of these operations. */
export const RECORDED_OF_PERSONS: ReadonlySet<string> = new Set(Object.keys(TARGETS));

/** The filters by which many are chosen: `tasks: state=failed`. */
function matching(
  what: string,
  { dry_run: dryRun, ...filters }: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (dryRun === true) return [];
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  return [`${what}: ${given.length === 0 ? "all" : given.join(", ")}`];
}

/** The same handlers; what they change for a Person is recorded. */
export function recordingPersons(handlers: Handlers, host: Recorder): Handlers {
  const recorded = Object.entries(TARGETS).map(([operation, targetsOf]) => {
    const handle = handlers[operation as OperationName] as Handle;
    const isStream = findOperation(operation)?.output.form === "lines";
    const recording: Handle = (input, caller, signal) => {
      if (caller.person === undefined) return handle(input, caller, signal);
      const targets = (targetsOf as (input: unknown) => readonly string[])(input);
      const audited = { operation, targets, caller };
      const act = () => handle(input, caller, signal);
      return isStream
        ? auditedLines(audited, act as () => AsyncGenerator<unknown>, host)
        : host.audited(audited, act as () => Promise<unknown>);
    };
    return [operation, recording];
  });
  return { ...handlers, ...Object.fromEntries(recorded) };
}

type Recorder = Pick<AuditLog, "audited" | "startAudited">;

/** A handler without its types. */
type Handle = (
  input: unknown,
  caller: Caller,
  signal?: AbortSignal,
) => Promise<unknown> | AsyncGenerator<unknown>;
