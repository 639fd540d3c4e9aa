/**
 * A PostgreSQL for one test, which may change its settings.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { until } from "./until.ts";

/** A server that goes away with the test. */
export interface PrivateServer extends AsyncDisposable {
  /** Port on 127.0.0.1, beside the socket. */
  readonly port: number;
  /** The address of a database over its socket, as a user of it; its superuser is `svc`. */
  url(database?: string, user?: string): string;
  /** Runs statements as its superuser. */
  sql<T>(work: (db: Session) => Promise<T>): Promise<T>;
  /** Runs a script as the user of the server, in the directory of its data. */
  shell(script: string): Promise<void>;
  /** Changes a setting that needs no restart. */
  set(name: string, value: string): Promise<void>;
  /** Kills the server. */
  crash(): Promise<void>;
  /** Starts it again after a crash. */
  start(): Promise<void>;
}

/**
 * Starts a server.
 *
 * @throws {Error} when that cannot be done here; `.ci/cluster` has said why.
 */
export async function startPostgres(): Promise<PrivateServer> {
  const port = freePort();
  const cluster = new Deno.Command(fileURLToPath(new URL("../../.ci/cluster", import.meta.url)), {
    args: [`port = ${port}`, "listen_addresses = '127.0.0.1'"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = cluster.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  if (value === "") throw new Error("no PostgreSQL can be started here");
  const orders = cluster.stdin.getWriter();
  const order = async (what: string) => {
    await orders.write(new TextEncoder().encode(`${what}\n`));
    const answer = await reader.read();
    if (answer.value?.trim() !== what) throw new Error(`PostgreSQL did not ${what}`);
  };
  const url = (database = "postgres", user = "svc") => {
    const address = new URL(value.trim());
    address.searchParams.set("port", String(port));
    address.username = user;
    address.pathname = `/${database}`;
    return address.href;
  };
  const sql = async <T>(work: (db: Session) => Promise<T>) => {
    await using connections = new Connections({
      url: url(),
      owner: { node: "tests", run: "tests" },
      max: 1,
    });
    return await connections.use(work);
  };
  return {
    port,
    url,
    sql,
    shell: (script) =>
      sql((db) => db.exec(`COPY (SELECT 1) TO PROGRAM $$cat >/dev/null\n${script}$$`)),
    async set(name, value) {
      await sql((db) => db.exec(`ALTER SYSTEM SET ${name} = '${value}'`));
      await sql((db) => db.exec("SELECT pg_reload_conf()"));
      await until(`${name} = ${value}`, async () => {
        const row = await sql((db) => db.get(`SELECT current_setting('${name}') AS value`));
        return row?.["value"] === value ? true : undefined;
      });
    },
    crash: () => order("crash"),
    start: () => order("start"),
    async [Symbol.asyncDispose]() {
      await orders.close();
      await reader.cancel();
      await cluster.status;
    },
  };
}

/** A port on which no program listens. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
