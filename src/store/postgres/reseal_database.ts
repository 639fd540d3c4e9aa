/**
 * Changes the key of a database that daemons share, while none of them runs.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Resource } from "../../resources/resource.ts";
import type { ControlEvent } from "../audit_records.ts";
import { number, text } from "../sql/columns.ts";
import { recordControl } from "../sql/control_audit.ts";
import { checkServer } from "./database/check_server.ts";
import { Connections, type ConnectOptions, type Session } from "./database/connections.ts";
import { nameOf } from "./database/database_url.ts";
import { changeKeyId, readAbout, refuseOtherKey } from "./database/migrate.ts";
import { SCHEMA_VERSION } from "./database/migrations.ts";
import { loadResources, replaceSealed, resourceVersion } from "./resources/resource_rows.ts";

/** Address of the database. */
export type ConnectTo = Omit<ConnectOptions, "max"> & { readonly clock: WallClock };

/**
 * Id of the key with which a database is sealed; empty where it has none yet.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function readKeyId({ clock, ...to }: ConnectTo): Promise<string> {
  await using connections = new Connections({ ...to, max: 2 });
  await checkServer(connections, clock);
  return (await connections.use(readAbout)).key;
}

/** The sealed values of a database. */
export interface SealedDatabase extends AsyncDisposable {
  /** The database for people: its name and its server. */
  readonly database: string;
  readonly secretStores: readonly Resource[];
  /** Names of the other nodes that share it. */
  readonly otherNodes: readonly string[];
  /**
   * Replaces what is sealed, and the id of its key, in one transaction.
   *
   * @throws {AppError} `refused` while a daemon has a lease or when the key is another one by now,
   * `conflict` when resources were changed since they were read.
   */
  replace(change: KeyChange): Promise<void>;
}

/** A change of the key. */
export interface KeyChange {
  /** Every SecretStore, sealed with the new key. */
  readonly secretStores: readonly Resource[];
  /** Id of the new key. */
  readonly keyId: string;
  /** Row in the audit. */
  readonly record: ControlEvent;
}

/**
 * Reads what is sealed.
 *
 * @param keyId Id of the key that it is sealed with.
 * @throws {AppError} `refused` while a daemon has a lease, or when the database cannot be used;
 * `overloaded` when it cannot be reached.
 */
export async function openSealedDatabase(
  { clock, ...to }: ConnectTo,
  keyId: string,
): Promise<SealedDatabase> {
  await using opening = new AsyncDisposableStack();
  const connections = opening.use(new Connections({ ...to, max: 2 }));
  await checkServer(connections, clock);
  const read = await connections.transaction(async (db) => {
    await refuseOtherVersion(db);
    await refuseOtherKey(db, keyId);
    await refuseWhileDaemonsRun(db);
    const others = await db.all(
      "SELECT name FROM nodes WHERE id <> ? ORDER BY name",
      db.owner.node,
    );
    return {
      version: await resourceVersion(db),
      secretStores: (await loadResources(db)).filter(({ kind }) => kind === "SecretStore"),
      otherNodes: others.map((row) => text(row, "name")),
    };
  });
  const open = opening.move();
  return {
    ...read,
    database: nameOf(connections.address),
    replace: (change) =>
      connections.transaction(async (db) => {
        await db.lock("catalog", "node", "schema");
        await refuseWhileDaemonsRun(db);
        await refuseOtherKey(db, keyId);
        if (await resourceVersion(db) !== read.version) {
          throw new AppError("conflict", "Resources were changed meanwhile: run the command again");
        }
        await replaceSealed(db, change.secretStores);
        await changeKeyId(db, change.keyId);
        await recordControl(db, change.record);
      }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function refuseOtherVersion(db: Session): Promise<void> {
  const { version } = await readAbout(db);
  if (version === SCHEMA_VERSION) return;
  throw new AppError(
    "refused",
    `The database has the schema of another version of svc (${version}, this one knows ${SCHEMA_VERSION}): run "svc init" of the newer one first`,
  );
}

/** A daemon that runs would go on sealing with the old key. */
async function refuseWhileDaemonsRun(db: Session): Promise<void> {
  const rows = await db.all(
    `SELECT name, ceil(extract(epoch FROM lease_until - now()))::float8 AS seconds FROM nodes
     WHERE lease_until > now() ORDER BY name`,
  );
  if (rows.length === 0) return;
  const names = rows.map((row) => `"${text(row, "name")}"`).join(", ");
  const seconds = Math.max(...rows.map((row) => number(row, "seconds")));
  throw new AppError(
    "refused",
    `Daemons run on the database, as node ${names}: stop all of them; the lease of one that was killed is over in ${seconds} s`,
  );
}
