/**
 * What one would take instead of svc: Debian's `webhook`, which stores nothing, and receivers that
 * store each request before their answer, in `peers/`. Node.js and Express come from the npm
 * registry into `.deno/`, in the versions below; Go and SQLite's library must be installed.
 *
 * @module
 */

import { join } from "node:path";
import { freePort } from "../../tests/helpers/postgres_server.ts";
import { ROOT } from "../../tests/helpers/program.ts";
import { tempDir } from "../../tests/helpers/temp_dir.ts";
import { until } from "../../tests/helpers/until.ts";
import { endProcess, type ServerProcess, startServer } from "./server_process.ts";
import { SECRET } from "./site.ts";

export const PEERS = ["webhook", "node", "go", "express"] as const;
export type Peer = typeof PEERS[number];
/** Starts a peer with an empty database. */
export type StartPeer = () => Promise<ServerProcess>;

/** Versions from the npm registry. */
const [NODE, EXPRESS] = ["24.11.1", "5.3.0"];
const CACHE = join(ROOT, ".deno/peers");
const HEADER = "X-Webhook-Signature";

/** Finds, fetches and builds the peers; says of each that is missing why. */
export async function findPeers(
  note: (text: string) => void,
): Promise<Readonly<Partial<Record<Peer, StartPeer>>>> {
  const found: Partial<Record<Peer, StartPeer>> = {};
  const fetched = fetchFromNpm();
  for (
    const [peer, find] of Object.entries({
      webhook: findWebhook,
      node: async () => receiver(await fetched, "group_commit.mjs"),
      go: buildGo,
      express: async () => receiver(await fetched, "commit_each.mjs"),
    })
  ) {
    try {
      found[peer as Peer] = await find();
    } catch (error) {
      note(`SKIPPED: the peer ${peer}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return found;
}

/** The directory with Node.js and Express. */
async function fetchFromNpm(): Promise<string> {
  const directory = join(CACHE, `node-${NODE}-express-${EXPRESS}`);
  if (await isThere(directory)) return directory;
  const processor = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  await Deno.mkdir(CACHE, { recursive: true });
  const fresh = await Deno.makeTempDir({ dir: CACHE });
  const packages = [`node-${Deno.build.os}-${processor}@${NODE}`, `express@${EXPRESS}`];
  const flags = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
  await succeed("npm", ["install", "--prefix", fresh, ...flags, "--loglevel=error", ...packages]);
  const [bare = ""] = packages.map((name) => name.replace(/@.*/, ""));
  await Deno.symlink(`node_modules/${bare}/bin/node`, `${fresh}/node`);
  await Deno.rename(fresh, directory);
  return directory;
}

function receiver(fetched: string, script: string): StartPeer {
  return () =>
    withDirectory((directory) =>
      startServer(join(fetched, "node"), {
        args: [
          "--no-warnings", // of its SQLite, which Node.js calls experimental
          join(ROOT, "tools/bench/peers", script),
          directory,
          SECRET,
          HEADER.toLowerCase(),
        ],
        cwd: fetched,
      })
    );
}

async function buildGo(): Promise<StartPeer> {
  const program = join(CACHE, "group_commit");
  const source = join(ROOT, "tools/bench/peers/group_commit.go");
  await Deno.mkdir(CACHE, { recursive: true });
  await succeed("go", ["build", "-o", program, source], { CGO_ENABLED: "1" });
  return () =>
    withDirectory((directory) => startServer(program, { args: [directory, SECRET, HEADER] }));
}

async function findWebhook(): Promise<StartPeer> {
  await succeed("webhook", ["-version"]);
  return startWebhook;
}

/** It checks the same signature, runs `/bin/true` and stores nothing. */
function startWebhook(): Promise<ServerProcess> {
  return withDirectory(async (directory) => {
    const match = {
      type: "payload-hmac-sha256",
      secret: SECRET,
      parameter: { source: "header", name: HEADER },
    };
    const hook = { id: "accept", "execute-command": "/bin/true", "trigger-rule": { match } };
    await Deno.writeTextFile(`${directory}/hooks.json`, JSON.stringify([hook]));
    const port = freePort();
    await using opening = new AsyncDisposableStack();
    const child = new Deno.Command("webhook", {
      args: [
        ["-hooks", `${directory}/hooks.json`],
        ["-ip", "127.0.0.1", "-port", String(port)],
        ["-urlprefix", "webhook"],
      ].flat(),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    opening.defer(() => endProcess(child));
    const url = `http://127.0.0.1:${port}`;
    await until("the peer", async () => {
      const response = await fetch(url).catch(() => undefined);
      await response?.body?.cancel();
      return response === undefined ? undefined : true;
    });
    const open = opening.move();
    return { url, pid: child.pid, [Symbol.asyncDispose]: () => open.disposeAsync() };
  });
}

/** Starts a server with a directory of its own, where data directories are, too. */
async function withDirectory(
  start: (directory: string) => Promise<ServerProcess>,
): Promise<ServerProcess> {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(await tempDir());
  const { url, pid } = opening.use(await start(path));
  const open = opening.move();
  return { url, pid, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** @throws {Error} when the command is not installed, or fails. */
async function succeed(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const options: Deno.CommandOptions = { args: [...args], env: { ...env }, stdin: "null" };
  const { success, stderr } = await output(command, options);
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim().split("\n").at(-1));
}

async function output(command: string, options: Deno.CommandOptions): Promise<Deno.CommandOutput> {
  try {
    return await new Deno.Command(command, options).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Error(`${command} is not installed`);
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
