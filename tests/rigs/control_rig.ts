/**
 * A daemon inside the test's own process, on a data directory of its own: its control plane is
 * spoken to over its real socket.
 *
 * @module
 */

import { type Client, connect } from "../../src/api/client.ts";
import type { Output } from "../../src/api/operations.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { createLog } from "../../src/base/log.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { attemptWith } from "../../src/cli/attempt.ts";
import { PROGRAM } from "../../src/cli/run.ts";
import { type Daemon, startDaemon } from "../../src/daemon.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { createDatabase } from "../../src/store/sqlite/create_database.ts";
import { DENO_DIR } from "../helpers/program.ts";
import { OFFLINE } from "../helpers/settings.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { sign } from "./webhook_rig.ts";
import { within } from "../helpers/within.ts";

/** A daemon and a client of it. */
export interface ControlRig extends AsyncDisposable {
  readonly dirs: DataDir;
  readonly client: Client;
  readonly logged: string[];
  /** Applies manifests, each as a file of its own: `0.yaml`, `1.yaml`, … */
  apply(...texts: readonly string[]): Promise<Output<"apply">>;
  /** Sends any request to the socket. */
  raw(path: string, init?: RequestInit): Promise<{ status: number; json: Record<string, unknown> }>;
  /** POSTs a signed body to a webhook. */
  post(trigger: string, body: string): Promise<Record<string, unknown>>;
  /** Starts a second daemon on the same directory. */
  startAnother(): Promise<AsyncDisposable>;
  /** Ends the daemon and starts another on the same directory. */
  restart(): Promise<void>;
}

/** Starts a daemon; `prepare` may change the data directory before. */
export async function controlRig(
  prepare?: (dirs: DataDir) => Promise<void>,
  clock: Clock = systemClock,
): Promise<ControlRig> {
  const temp = await tempDir();
  const dirs = dataDirAt(temp.path);
  // Not `initDataDir`: it changes the file mode mask of the whole process, other tests included.
  const folders = [
    dirs.controlPlane,
    `${dirs.root}/secrets`,
    dirs.scripts,
    dirs.bin,
    dirs.logs,
    dirs.run,
  ];
  for (const path of [...folders, `${dirs.workspaces}/default`]) {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  }
  await Deno.writeTextFile(dirs.secretKey, newKeyFile(), { mode: 0o600 });
  await createDatabase(dirs.database, []);
  await prepare?.(dirs);
  const logged: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock,
    write: (line) => void logged.push(line),
  });
  const start = () =>
    startDaemon({
      dir: dirs,
      clock,
      log,
      settings: { ...OFFLINE, workers: 2, webhookBind: { hostname: "127.0.0.1", port: 0 } },
      umask: 0o022,
      attempt: attemptWith(PROGRAM),
      env: (name) => ({ PATH: "/usr/bin:/bin", HOME: "/nonexistent", DENO_DIR })[name],
    });
  let daemon: Daemon;
  try {
    daemon = await start();
  } catch (error) {
    await temp[Symbol.asyncDispose]();
    throw error;
  }
  const client = connect({ socket: dirs.socket });
  const http = Deno.createHttpClient({ proxy: { transport: "unix", path: dirs.socket } });
  return {
    dirs,
    client,
    logged,
    apply: (...texts) =>
      client.call("apply", {
        files: texts.map((text, index) => ({ name: `${index}.yaml`, text })),
        dry_run: false,
      }),
    async raw(path, init = {}) {
      const response = await fetch(`http://svc${path}`, { method: "POST", ...init, client: http });
      return { status: response.status, json: await response.json().catch(() => ({})) };
    },
    async post(trigger, body) {
      const url = `${daemon.webhookUrl}/webhook/${trigger}`;
      const response = await fetch(url, { method: "POST", body, headers: sign(body) });
      return { http: response.status, ...await response.json() };
    },
    startAnother: start,
    async restart() {
      await within(15_000, daemon[Symbol.asyncDispose]());
      daemon = await start();
    },
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      http.close();
      await within(15_000, daemon[Symbol.asyncDispose]());
      await temp[Symbol.asyncDispose]();
    },
  };
}

/** What differs from the usual test. */
export interface ControlTestOptions {
  /** May change the data directory before the daemon starts. */
  readonly prepare?: (dirs: DataDir) => Promise<void>;
  /** Why it cannot run here; it can when absent. */
  readonly skip?: string | undefined;
}

/**
 * A test with a daemon of its own. Connections of `fetch` and of the daemon that are about to close
 * would look like leaks.
 */
export function controlTest(
  name: string,
  body: (rig: ControlRig) => Promise<void>,
  { prepare, skip }: ControlTestOptions = {},
): void {
  Deno.test({
    ...skippable(name, skip),
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using rig = await controlRig(prepare);
      await body(rig);
    },
  });
}
