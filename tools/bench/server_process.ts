/**
 * Servers other than svc, each in its own process, which ends with the measurement.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { freePort } from "../../tests/helpers/postgres_server.ts";
import { ROOT } from "../../tests/helpers/program.ts";
import { tempDir } from "../../tests/helpers/temp_dir.ts";
import { until } from "../../tests/helpers/until.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** The webhook pipeline of svc without a store. */
export async function startPipelineWithoutStore(): Promise<ServerProcess> {
  const entry = fileURLToPath(new URL("./no_store_baseline.ts", import.meta.url));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      "--unstable-worker-options",
      "--config",
      join(ROOT, "deno.json"),
      entry,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value = new Uint8Array() } = await reader.read();
  const url = new TextDecoder().decode(value).trim();
  return {
    url,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      await end(child);
      await reader.cancel();
    },
  };
}

/** The version of Debian's `webhook`; `undefined` if it is not installed. */
export async function findPeer(): Promise<string | undefined> {
  try {
    const { stdout } = await new Deno.Command("webhook", { args: ["-version"] }).output();
    return new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Debian's `webhook`, which checks the same signature, runs `/bin/true` and stores nothing. */
export async function startPeer(secret: string, header: string): Promise<ServerProcess> {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const match = {
    type: "payload-hmac-sha256",
    secret,
    parameter: { source: "header", name: header },
  };
  const hook = { id: "accept", "execute-command": "/bin/true", "trigger-rule": { match } };
  const hooks = await dir.write("hooks.json", JSON.stringify([hook]));
  const port = freePort();
  const child = new Deno.Command("webhook", {
    args: ["-hooks", hooks, "-ip", "127.0.0.1", "-port", String(port), "-urlprefix", "webhook"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  opening.defer(() => end(child));
  const url = `http://127.0.0.1:${port}`;
  await until("the peer", async () => {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    return response === undefined ? undefined : true;
  });
  const open = opening.move();
  return { url, pid: child.pid, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

async function end(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch {
    // ended already
  }
  await child.status;
}
