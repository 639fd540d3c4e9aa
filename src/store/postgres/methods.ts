/**
 * Every method of the store that is not part of a batch (`batched.ts`), by name: a transaction of
 * its own where it writes.
 *
 * @module
 */

import type { Store, StoreMethod } from "../store.ts";
import type { Batched } from "./batched.ts";
import type { Session } from "./database/connections.ts";

/** A method of {@linkcode Store} as it runs in a session. */
type Inside<Name extends StoreMethod> = (
  db: Session,
  ...args: Parameters<Store[Name]>
) => ReturnType<Store[Name]>;

/** The methods by name. */
export const METHODS: { readonly [Name in Exclude<StoreMethod, Batched>]?: Inside<Name> } = {
  // resources
  // deliveries
  // chat
  // tasks
  // outbox
  // connections
  // audit
  // ids and size
};
