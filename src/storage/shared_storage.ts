/**
 * Opens a PostgreSQL that several daemons share. The daemon then hears what the others store, and its
 * processes end when it may no longer run them.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { keyIdOf } from "../secrets/keyring.ts";
import { startGuard } from "../shell/guard.ts";
import { ENDLESS, LEASE_MS, reliableMs } from "../store/lease.ts";
import { nameOf, placeOf } from "../store/postgres/database/database_url.ts";
import { toAddress } from "../store/postgres/database/driver_config.ts";
import { Hints } from "../store/postgres/hints/hints.ts";
import { openPostgresStore, type PostgresStore } from "../store/postgres/open_store.ts";
import { HeldLease } from "./held_lease.ts";
import { addressOf, type SharedDatabase } from "./shared_database.ts";
import type { Storage, StorageOptions } from "./storage.ts";

/**
 * Opens the database, and the store over it.
 *
 * @throws {AppError} as `openStorage`.
 */
export async function openSharedStorage(
  { url: stored, node: { id, name } }: SharedDatabase,
  dir: DataDir,
  options: StorageOptions,
): Promise<Storage> {
  const { env, run, clock, daemon, leaseMs = LEASE_MS, labels = [] } = options;
  const url = addressOf(stored, env);
  const address = toAddress(url, env);
  const onSecret = (secret: string) => daemon?.know(secret);
  if (address.password !== undefined) onSecret(url);
  const place = placeOf(address);
  const shared = { database: nameOf(address), names: [id, name, ...labels] };
  const forStore = {
    ...options,
    url,
    onSecret,
    owner: { node: id, run },
    name,
    leaseMs,
    labels,
    keyId: await keyIdOf(await readKeyFile(dir.secretKey)),
  };
  await using opening = new AsyncDisposableStack();
  if (daemon === undefined) {
    const store = opening.use(await openPostgresStore(forStore));
    return toStorage(store, opening.move(), { nodeName: name, lease: ENDLESS, shared });
  }
  const silenceMs = reliableMs(leaseMs);
  const guard = opening.use(startGuard({ silenceMs })); // disposed after everything that it guards
  const lease = new HeldLease({ ...daemon, clock, guard, place, reliableMs: silenceMs });
  const store = opening.use(await openPostgresStore({ ...forStore, listener: lease }));
  opening.use(new Hints({ ...daemon, env, clock, url, onSecret }));
  return toStorage(store, opening.move(), { nodeName: name, lease, guard, shared });
}

const toStorage = (
  store: PostgresStore,
  open: AsyncDisposable,
  running: Pick<Storage, "nodeName" | "lease" | "guard" | "shared">,
): Storage => ({
  ...running,
  store,
  logs: store.logs,
  [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
});
