/**
 * The problems that need a person, across the whole width of the first screen: questions of approvals,
 * failed tasks, refused deliveries, messages that are held, lost answers, broken Connections, and
 * requests to addresses that no trigger has.
 *
 * @module
 */

import type { ApprovalView } from "../../../../src/api/approval_operations.ts";
import type { DeliveryRecord, TaskRecord } from "../../../../src/api/records.ts";
import type { Status } from "../../../../src/api/status_operations.ts";
import type { Connection } from "../../data/connections.ts";
import { destination, type Message } from "../../data/messages.ts";
import { type Records, useRecords } from "../../data/records.ts";
import { useResources } from "../../data/resources.ts";
import { findByPath, type Trigger, triggerScreen } from "../../data/triggers.ts";
import { Command } from "../../parts/command.tsx";
import { HeldMessages } from "../../parts/held.tsx";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/problem.tsx";
import { type Trouble, Troubles, troublesOf, type Wrong } from "./troubles.tsx";

/** How far back problems are listed. */
const SINCE_SECS = 86_400;

/** The list of problems, or a sentence if there are none. */
export function Needs({ paths }: { readonly paths: Status["unknown_paths"] }) {
  const tasks = useRecords<TaskRecord>({ what: "tasks", state: "failed", since_secs: SINCE_SECS });
  const refused = useRecords<DeliveryRecord>({
    what: "deliveries",
    outcome: "rejected",
    since_secs: SINCE_SECS,
  });
  const lost = useRecords<Message>({ what: "outbox", state: "failed" });
  const held = useRecords<Message>({ what: "outbox", state: "held" });
  const asked = useRecords<ApprovalView>({ what: "approvals" });
  const connections = useResources<Connection>({ what: "connections" });
  const broken = connections.items.filter(({ status }) => status.fault !== null);
  const unknown = useUnknown(paths);
  const since = String(SINCE_SECS);
  const all = [asked, tasks, refused, lost, held, connections];
  const isLoading = all.some(({ loading }) => loading);
  const isFine = !isLoading && all.every(({ error }) => error === undefined) &&
    [asked.items, tasks.items, refused.items, lost.items, held.items, broken, unknown]
      .every(({ length }) => length === 0);
  return (
    <section class="needs panel" aria-label="Needs attention">
      <h2>Needs attention</h2>
      {isLoading && <p class="empty">…</p>}
      {isFine && (
        <p class="fine">
          Nothing. Since yesterday no task has failed, no delivery was rejected and no answer was
          lost. Nothing waits for people.
        </p>
      )}
      <Troubles
        title="Questions"
        troubles={troublesOf(asked.items, question)}
        count={countOf(asked)}
        error={asked.error}
        all={<Link to={["approvals"]}>Show all</Link>}
      />
      <HeldForYou held={held} />
      <Troubles
        title="Failed tasks since yesterday"
        troubles={troublesOf(tasks.items, taskTrouble)}
        count={countOf(tasks)}
        error={tasks.error}
        all={<Link to={["tasks"]} filters={{ state: "failed", since_secs: since }}>Show all</Link>}
      />
      <Troubles
        title="Rejected deliveries since yesterday"
        troubles={troublesOf(refused.items, deliveryTrouble)}
        count={countOf(refused)}
        error={refused.error}
        all={
          <Link to={["deliveries"]} filters={{ outcome: "rejected", since_secs: since }}>
            Show all
          </Link>
        }
      />
      <Troubles
        title="Answers that were not sent"
        troubles={troublesOf(lost.items, messageTrouble)}
        count={countOf(lost)}
        error={lost.error}
        all={<Link to={["connections"]} filters={{ state: "failed" }}>Show all</Link>}
      />
      <Troubles
        title="Broken connections"
        troubles={troublesOf(broken, connectionTrouble)}
        error={connections.error}
      />
      <Troubles title="Requests to unknown paths" troubles={unknown} />
      {unknown.length > 0 && <Command line="svc get deliveries --unknown" />}
    </section>
  );
}

/** Held messages that are shown: the others are listed. */
const HELD_SHOWN = 5;

/** The messages that a person has to send or drop; nothing if there are none. */
function HeldForYou({ held }: { readonly held: Records<Message> }) {
  if (held.items.length === 0 && held.error === undefined) return null;
  return (
    <section aria-label="Held messages">
      <div class="title-row">
        <h3>
          Held messages
          {held.items.length > 0 && <span class="count">{countOf(held)}</span>}
        </h3>
        <Link to={["connections"]} filters={{ state: "held" }}>Show all</Link>
      </div>
      {held.error !== undefined && <Problem error={held.error} />}
      <HeldMessages messages={held.items.slice(0, HELD_SHOWN)} />
    </section>
  );
}

function countOf({ items, more }: Records<unknown>): string {
  return `${items.length}${more === undefined ? "" : "+"}`;
}

function question({ id, task_id, workflow, step, by, ask, opened_at }: ApprovalView): Wrong {
  return {
    what: `${workflow}: ${step}`,
    of: `for ${by.join(", ")}`,
    why: ask,
    to: ["approvals", task_id, step],
    at: opened_at,
    key: id,
  };
}

function taskTrouble(
  { id, project, trigger, workflow, reason, created_at, finished_at }: TaskRecord,
): Wrong {
  return {
    what: workflow,
    of: trigger === workflow || trigger === "" ? "" : `from ${trigger}`,
    why: reason,
    to: ["task", id],
    at: finished_at ?? created_at,
    key: [project, workflow, trigger, reason].join("\n"),
  };
}

/** Numbers and durations in a reason: reasons that differ only in them have the same cause. */
const NUMBERS = /\d+(?:\.\d+)?(?:(?:ms|[smhdw])\b|[smhd]\d+[smhd]\b)?/g;

function deliveryTrouble({ id, project, trigger, reason, received_at }: DeliveryRecord): Wrong {
  return {
    what: trigger === "" ? "no trigger" : trigger,
    of: "",
    why: reason,
    to: ["delivery", id],
    at: received_at,
    key: [project, trigger, reason.replace(NUMBERS, "#")].join("\n"),
  };
}

function messageTrouble(message: Message): Wrong {
  const { id, project, kind, reason, updated_at } = message;
  const to = destination(message) || kind;
  return {
    what: to,
    of: "",
    why: reason,
    to: ["outbox", id],
    at: updated_at,
    key: [project, kind, to, reason].join("\n"),
  };
}

function connectionTrouble({ metadata: { name, project = "" }, status }: Connection): Wrong {
  return {
    what: name,
    of: "",
    why: status.fault ?? "",
    to: ["resource", "connection", project, name],
    at: null,
    key: `${project}/${name}`,
  };
}

/** Requested addresses that no trigger has, with the address that was probably meant. */
function useUnknown(paths: Status["unknown_paths"]): readonly Trouble[] {
  const isGuessed = paths.some(({ did_you_mean }) => did_you_mean !== null);
  const { items } = useResources<Trigger>(isGuessed ? { what: "triggers" } : undefined);
  return paths.map(({ method, path, count, last_at, did_you_mean }) => ({
    count,
    latest: {
      what: `${method} ${path}`,
      of: "",
      why: did_you_mean === null
        ? "no trigger has a similar path"
        : <Meant path={did_you_mean} trigger={findByPath(items, did_you_mean)} />,
      at: last_at,
      key: `${method} ${path}`,
    },
  }));
}

function Meant(
  { path, trigger }: { readonly path: string; readonly trigger: Trigger | undefined },
) {
  const place = <code>{path}</code>;
  if (trigger === undefined) return <>did you mean {place}?</>;
  const { project = "", name } = trigger.metadata;
  return (
    <>
      did you mean <Link to={triggerScreen({ project, name })}>{place}</Link>?
    </>
  );
}
