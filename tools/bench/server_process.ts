/**
 * Servers other than svc, each in its own process, which ends with the measurement.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { ROOT } from "../../tests/helpers/program.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** The webhook pipeline of svc without a store. */
export function startPipelineWithoutStore(): Promise<ServerProcess> {
  const entry = fileURLToPath(new URL("./no_store_baseline.ts", import.meta.url));
  return startServer(Deno.execPath(), {
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
  });
}

/** Starts a program that prints its address first. */
export async function startServer(
  command: string,
  options: Pick<Deno.CommandOptions, "args" | "cwd" | "env">,
): Promise<ServerProcess> {
  const child = new Deno.Command(command, {
    ...options,
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
      await endProcess(child);
      await reader.cancel();
    },
  };
}

/** Ends a server by force, and waits for its end. */
export async function endProcess(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch {
    // ended already
  }
  await child.status;
}
