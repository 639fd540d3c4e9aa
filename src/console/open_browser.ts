/**
 * Opens the console in the browser of the person who started it. The link is in a file that only
 * its owner can read: other users can read the arguments of every program.
 *
 * @module
 */

import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { openFile } from "../shell/open_file.ts";
import type { ConsoleAddress } from "./address.ts";

/** How long a browser may take before the link is printed, too. */
const PATIENCE_MS = 5000;

export interface BrowserRun {
  /** The address to open, which contains a ticket. */
  readonly link: string;
  /** Resolves with whether the ticket was used, when it is no longer valid. */
  readonly over: Promise<boolean>;
  /** Directory for the file; the directory for temporary files if it does not exist. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Called when the ticket was not used in time, or nothing could be opened. */
  readonly onUnused: () => void;
}

/** Opens the link in a browser; resolves when the ticket is over and the file is gone. */
export async function openInBrowser(run: BrowserRun): Promise<void> {
  const { over, env, clock, onUnused } = run;
  const late = new AbortController();
  const patience = clock.pause(PATIENCE_MS, late.signal);
  const directory = await makeDirectory(run.directory).catch(() => undefined);
  try {
    if (directory === undefined) return onUnused();
    const path = join(directory, "open.html");
    await Deno.writeTextFile(path, redirectTo(run.link), { mode: 0o600, createNew: true });
    openFile(path, withoutOurs(env));
    if (await Promise.race([over, patience.then(() => false)])) return;
    onUnused();
    await over;
  } catch {
    onUnused();
  } finally {
    late.abort();
    if (directory !== undefined) await Deno.remove(directory, { recursive: true }).catch(() => {});
  }
}

/** A directory that only its owner can look into. */
async function makeDirectory(dir: string): Promise<string> {
  const prefix = "svc-console-";
  try {
    return await Deno.makeTempDir({ dir, prefix });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return await Deno.makeTempDir({ prefix });
    throw error;
  }
}

/** An environment without the variables of svc, such as its token. */
function withoutOurs(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("SVC_")));
}

/** A page that leads on; a link has no characters that mean something in HTML. */
function redirectTo(link: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>svc</title>
<meta http-equiv="refresh" content="0; url=${link}">
<a href="${link}">Open the console</a>
`;
}

/** Whether a browser that is started here is seen by the person at the terminal. */
export function hasOwnScreen(env: (name: string) => string | undefined): boolean {
  if (env("SSH_CONNECTION")) return false;
  return Deno.build.os === "darwin" || Boolean(env("DISPLAY") || env("WAYLAND_DISPLAY"));
}

/**
 * The steps to open the console on the machine at the other end of ssh; `undefined` without ssh.
 */
export function tunnelSteps(
  { host, listensOn }: ConsoleAddress,
  port: number,
  env: (name: string) => string | undefined,
): string | undefined {
  const connection = env("SSH_CONNECTION");
  if (!connection) return undefined;
  const [, , machine = "", sshPort = ""] = connection.split(" ");
  const user = env("USER") ?? "";
  const known = /^[0-9A-Fa-f:.]+$/.test(machine) && /^[\w.-]+$/.test(user);
  const at = known ? `${user}@${machine}` : "THIS-MACHINE";
  const other = known && /^[0-9]+$/.test(sshPort) && sshPort !== "22" ? `-p ${sshPort} ` : "";
  const [far] = listensOn;
  // Also there, no other program may listen at the address of the link: ssh binds all of it, or ends.
  const forwards = listensOn.map((near) =>
    near.includes(":")
      ? `-L '[${near}]:${port}:${far}:${port}'`
      : `-L ${near}:${port}:${far}:${port}`
  );
  const command = ["ssh -N -o ExitOnForwardFailure=yes", ...forwards, other + at].join(" ");
  const steps = `On your own machine, first:\n\n  ${command}\n\n`;
  if (host !== far) return steps;
  return `${steps}On a Mac, before that: sudo ifconfig lo0 alias ${host}\n\n`;
}
