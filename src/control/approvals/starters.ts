/**
 * Who has made a task run: who sent its event, or had svc repeat it. An approval with `fourEyes` is for
 * somebody else. Whatever cannot be known has a name and no identity: nobody is known to be somebody else.
 *
 * @module
 */

import { findPerson, isStill } from "../../auth/persons.ts";
import { defined } from "../../base/defined.ts";
import { FORGE_WORDS } from "../../base/forge_names.ts";
import { findAsker, findSubject } from "../../connections/forges.ts";
import { MANUAL } from "../../intake/pipeline/fire.ts";
import { payloadOf } from "../../outbox/origin.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Starter } from "../../store/approval_records.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { identityAt } from "./forge_user.ts";

/** The tasks and deliveries in which it is looked for. */
export type StartersStore = DeliveryStore & TaskStore;

/** The store, and who people are. */
interface StartersHost {
  readonly store: StartersStore;
  readonly catalog: Catalog;
}

/** Most earlier tasks that are read. */
const MAX_ANCESTORS = 64;

/** Sources that nobody stands behind: what they see or when they fire was applied. */
const OF_NOBODY: ReadonlySet<string> = new Set(["cron", "task"]);

/** Everybody who has made a task run. */
export async function findStarters(taskId: string, host: StartersHost): Promise<Starter[]> {
  const found: Starter[] = [];
  let at: string = taskId;
  for (let left = MAX_ANCESTORS; at !== ""; left--) {
    const [task] = await host.store.findTasks(at);
    if (task === undefined || left === 0) {
      found.push({ did: "started", called: `the one who started task ${at}` });
      break;
    }
    if (task.retryOf !== "") {
      const by = task.retriedBy ?? { called: `the one who retried task ${task.retryOf}` };
      found.push({ did: "retried", ...asItIsNow(by, task.createdAt, host.catalog) });
    }
    const { deliveryId } = task;
    const stored = deliveryId === "" ? undefined : await host.store.readDelivery(deliveryId);
    if (deliveryId !== "") found.push(...await ofDelivery(deliveryId, stored, host));
    at = task.retryOf || (isOwnEvent(task, stored) ? "" : task.parentId);
  }
  return found;
}

/** Who did something at a time, in milliseconds since the epoch. */
function asItIsNow(
  { called, person }: { readonly called: string; readonly person?: string },
  at: number,
  catalog: Catalog,
): Omit<Starter, "did"> {
  if (person === undefined) return { called };
  return isStill(person, at, catalog) ? { called, person } : { called, isGone: true };
}

/**
 * Whether a task was started by an event of its own in a conversation: the tasks before it there have not
 * caused it. Those above a child, and what a task follows that the end of another one started, have.
 */
function isOwnEvent({ conversation, rootId }: Task, stored: StoredDelivery | undefined): boolean {
  return conversation !== undefined && rootId === "" && stored !== undefined &&
    stored.delivery.source !== "task";
}

async function ofDelivery(
  id: string,
  stored: StoredDelivery | undefined,
  host: StartersHost,
): Promise<Starter[]> {
  if (stored === undefined) return [{ did: "started", called: `the one who sent delivery ${id}` }];
  const { redeliveryOf, follows, by } = stored.delivery.detail;
  if (redeliveryOf === undefined) return sendersOf(stored, host.catalog);
  const before = await host.store.readDelivery(redeliveryOf);
  if (follows !== undefined && before === undefined) return sendersOf(stored, host.catalog);
  const first = await ofDelivery(redeliveryOf, before, host);
  if (follows !== undefined) return first; // svc itself took it up again
  const asker = by ?? { called: `the one who redelivered delivery ${redeliveryOf}` };
  const { receivedAt } = stored.delivery;
  return [{ did: "redelivered", ...asItIsNow(asker, receivedAt, host.catalog) }, ...first];
}

/** Who sent the event of a delivery; nobody where what svc sees or when it fires was applied. */
function sendersOf(stored: StoredDelivery, catalog: Catalog): Starter[] {
  const { source, receivedAt, detail: { redeliveryOf, by } } = stored.delivery;
  const asked: Starter[] = by === undefined
    ? []
    : [{ did: "started", ...asItIsNow(by, receivedAt, catalog) }];
  const isMade = asked.length > 0 && (redeliveryOf === undefined || source === MANUAL);
  // Who has svc fire or sign an event may put any user into it.
  return isMade || OF_NOBODY.has(source) ? asked : [...asked, senderOf(stored, catalog)];
}

function senderOf(stored: StoredDelivery, catalog: Catalog): Starter {
  const { delivery } = stored;
  const payload = payloadOf(stored);
  const asker = isSigned(delivery) ? findAsker(payload) : undefined;
  const subject = findSubject(payload);
  if (asker === undefined || subject === undefined || asker.id === "") {
    const how = delivery.source === MANUAL
      ? "the one who fired it by hand"
      : "the one who sent its event";
    return { did: "started", called: how };
  }
  const identity = identityAt(asker.id, { delivery, payload }, catalog);
  const called = `${asker.login || "a user"} at ${FORGE_WORDS[subject.forge].title}`;
  const person = identity === undefined ? undefined : findPerson(catalog, identity)?.name;
  return { did: "started", called, ...defined({ identity, person }) };
}

/** Whether somebody has vouched for the payload: a secret that is sent along proves none. */
const isSigned = ({ via, source, detail }: Delivery) =>
  via === "http" && source !== MANUAL && detail.signed?.payload === "all";
