/**
 * The target of a message of a Notification, as the Notification is at present: a secret that was
 * rotated and an address that was corrected count from the next try.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { NotificationSpec, NotificationTarget } from "../resources/notification.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";

/**
 * The target of a message.
 *
 * @throws {AppError} `not_found` if the Notification no longer has it.
 */
export function targetOf(
  { project, target: { notification, to } }: Pick<OutboxMessage, "project" | "target">,
  catalog: Catalog,
): NotificationTarget {
  const resource = catalog.find<NotificationSpec>("Notification", project, String(notification));
  const target = resource?.spec.to[Number(to) - 1];
  if (target !== undefined) return target;
  const what = resource === undefined ? "no longer exists" : `no longer has a target ${to}`;
  throw new AppError("not_found", `Notification "${notification}" ${what}`);
}

/**
 * A value of a SecretStore.
 *
 * @throws {AppError} `refused`, which says how to set it.
 */
export function secretOf(
  project: string,
  { fromSecret: { store, key } }: {
    readonly fromSecret: { readonly store: string; readonly key: string };
  },
  catalog: Catalog,
): string {
  const data = catalog.find<SecretStoreSpec>("SecretStore", project, store)?.spec.data ?? {};
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  if (value !== undefined) return value;
  throw new AppError(
    "refused",
    `SecretStore "${store}" has no key "${key}": set it with svc secret set ${store} ${key}`,
  );
}
