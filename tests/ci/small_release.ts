/**
 * Releases as `.ci/release` packs them, with a shell script in the place of the program, and what
 * install.sh is run with: shells, a PATH of its own, a server.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { defined } from "../../src/base/defined.ts";
import { ROOT, run, type RunResult } from "../helpers/program.ts";
import { findProgram } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** The variables by which `.ci/sign` finds its keys. */
export type Keys = Readonly<Record<"SVC_RELEASE_SSH_KEY" | "SVC_RELEASE_P256_KEY", string>>;

/** Makes a pair of each kind in a directory that it makes. */
export async function makeKeys(directory: string): Promise<Keys> {
  await Deno.mkdir(directory, { recursive: true });
  const keys = keysIn(directory);
  await succeed("ssh-keygen", [
    "-q",
    "-t",
    "ed25519",
    "-N",
    "",
    "-C",
    "a comment",
    "-f",
    keys.SVC_RELEASE_SSH_KEY,
  ]);
  const p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
  await succeed("openssl", ["genpkey", ...p256, "-out", keys.SVC_RELEASE_P256_KEY]);
  return keys;
}

/** The keys that {@linkcode makeKeys} has made there. */
export function keysIn(directory: string): Keys {
  return {
    SVC_RELEASE_SSH_KEY: join(directory, "ssh"),
    SVC_RELEASE_P256_KEY: join(directory, "p256.pem"),
  };
}

/** What an install.sh knows of its release; each is empty where there is none. */
interface ReleaseFacts {
  readonly url: string;
  /** As `ssh-keygen -y` prints it. */
  readonly sshKey: string;
  /** PEM. */
  readonly p256Key: string;
}

/** Their public halves, as `.ci/seal` takes them out. */
export async function publicKeys(keys: Keys): Promise<Omit<ReleaseFacts, "url">> {
  const p256 = ["-in", keys.SVC_RELEASE_P256_KEY, "-pubout"];
  const [sshKey, p256Key] = await Promise.all([
    succeed("ssh-keygen", ["-y", "-f", keys.SVC_RELEASE_SSH_KEY]),
    succeed("openssl", ["pkey", ...p256]),
  ]);
  return { sshKey, p256Key };
}

/** What differs between releases. */
export interface SmallRelease {
  readonly version: string;
  /** Text of the program, or its bytes; one that prints its version when absent. */
  readonly program?: string | Uint8Array<ArrayBuffer>;
  /** More files, by their path below the prefix. */
  readonly more?: Readonly<Record<string, string>>;
  /** Nobody signs it when absent. */
  readonly keys?: Keys | undefined;
  /** As in the name of the archive; that of Linux on x86-64 when absent. */
  readonly platform?: string;
}

/** What a program prints that is whole: its last line says so. */
export const program = (version: string) =>
  `#!/bin/sh\n# ${"-".repeat(5000)}\necho 'svc ${version} (small)'\n`;

/** Packs a release into a directory that it makes. */
export async function packRelease(directory: string, release: SmallRelease): Promise<void> {
  const { version, keys, platform = "linux-x64" } = release;
  await using temp = await tempDir();
  const name = `svc-${version}-${platform}`;
  const files = {
    "bin/svc": release.program ?? program(version),
    "share/man/man1/svc.1": `manual of ${version}`,
    "share/doc/svc/LICENSE": `licence of ${version}`,
    "share/bash-completion/completions/svc": `completion of ${version}`,
    ...release.more,
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(temp.path, name, path);
    await Deno.mkdir(join(file, ".."), { recursive: true });
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    await Deno.writeFile(file, bytes, { mode: path.startsWith("bin/") ? 0o755 : 0o644 });
  }
  await Deno.symlink("svc", join(temp.path, name, "bin/svcd"));
  await Deno.symlink("svc.1", join(temp.path, name, "share/man/man1/svcd.1"));
  await Deno.mkdir(directory, { recursive: true });
  await succeed("tar", [
    "-czf",
    join(directory, `${name}.tar.gz`),
    "--owner=0",
    "--group=0",
    "--mode=u=rwX,go=rX",
    "-C",
    temp.path,
    name, // whatever the mask is, which tests share
  ]);
  const sums = join(directory, "SHA256SUMS");
  const archive = await Deno.readFile(join(directory, `${name}.tar.gz`));
  const other = `${"0".repeat(64)}  npm/svc-${version}.tgz\n`;
  await Deno.writeTextFile(sums, `${other}${await sha256(archive)}  ${name}.tar.gz\n`);
  await sign(sums, keys);
}

/** Signs a list of sums anew, or takes its signatures away. */
export async function sign(sums: string, keys: Keys | undefined): Promise<void> {
  await succeed(join(ROOT, ".ci/sign"), [sums], keys);
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function succeed(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { env });
  equal(code, 0, stderr);
  return stdout.trim();
}

/** Writes an install.sh with these keys and this address; the keys and address of none when absent. */
export async function writeScript(file: string, facts: Partial<ReleaseFacts> = {}): Promise<void> {
  const { url, sshKey, p256Key } = { url: "", sshKey: "", p256Key: "", ...facts };
  const text = await succeed(join(ROOT, ".ci/install-script"), [url, sshKey, p256Key]);
  await Deno.writeTextFile(file, `${text}\n`);
}

/** All that install.sh calls and every base system has. */
const BASE = (
  "bash cat chmod cp dd df find getconf grep gzip head id ldd ln mkdir mktemp mv readlink " +
  "rm rmdir sed sh sha256sum sleep sort sync tail tar tr uname"
).split(" ");

/** What it calls beside that, where it is there. */
export type Tool = "curl" | "wget" | "ssh-keygen" | "openssl";

/** A PATH of one directory. */
export interface Path {
  readonly directory: string;
  /** Puts a shell script in the place of a program; empty text takes the program away. */
  fake(name: string, text: string): Promise<void>;
}

/**
 * Makes a PATH in a directory: links to what install.sh may call and every base system has, and to
 * these tools.
 *
 * @param busybox whether the former are busybox's.
 */
export async function makePath(
  directory: string,
  tools: readonly string[],
  busybox = false,
): Promise<Path> {
  await Deno.remove(directory, { recursive: true }).catch(() => {});
  await Deno.mkdir(directory);
  const box = busybox ? findProgram("busybox") : undefined;
  for (const name of [...BASE, ...tools]) {
    const isBoxed = box !== undefined && !["bash", "getconf", "ldd"].includes(name) &&
      !["curl", "ssh-keygen", "openssl"].includes(name);
    const found = isBoxed ? box : findProgram(name);
    if (found !== undefined) Deno.symlinkSync(found, join(directory, name));
  }
  return {
    directory,
    async fake(name, text) {
      const file = join(directory, name);
      await Deno.remove(file).catch(() => {});
      if (text !== "") await Deno.writeTextFile(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    },
  };
}

/** The shells under which install.sh has to work, each as it is started. */
export const SHELLS: readonly (readonly [name: string, ...options: string[]])[] = [
  ["sh"],
  ["dash"],
  ["busybox", "sh"],
  ["bash", "--posix"],
  ["bash"],
];

/** Runs a script in this shell. */
export function runScript(
  shell: readonly string[],
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin?: string,
): Promise<RunResult> {
  const [name = "", ...options] = shell;
  return run(findProgram(name) ?? name, [...options, ...args], {
    env,
    ...defined({ stdin }),
  });
}

/** All that is in a directory, as text to compare: what it is, its mode, its content. */
export function snapshot(directory: string, above = ""): readonly string[] {
  let entries;
  try {
    entries = [...Deno.readDirSync(join(directory, above))];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  return entries.toSorted((a, b) => a.name < b.name ? -1 : 1).flatMap((entry) => {
    const path = join(above, entry.name);
    const full = join(directory, path);
    if (entry.isSymlink) return [`${path} -> ${Deno.readLinkSync(full)}`];
    const mode = ((Deno.lstatSync(full).mode ?? 0) & 0o7777).toString(8);
    if (entry.isDirectory) return [`${path}/ ${mode}`, ...snapshot(directory, path)];
    return [`${path} ${mode} ${Deno.readTextFileSync(full)}`];
  });
}

/** A server on loopback. */
export interface ReleaseServer extends AsyncDisposable {
  readonly url: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
}

/** What is answered to a path in the place of the file; undefined for the file itself. */
export type Answer = (path: string) => Response | undefined;

/**
 * Serves a directory laid out as GitHub's releases are, below `/releases`: `latest/download/FILE` and
 * `download/vX.Y.Z/FILE`.
 */
export function serveReleases(directory: string, answer: Answer = () => undefined): ReleaseServer {
  const asked: string[] = [];
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen() {},
      onError: () => new Response("", { status: 500 }),
    },
    async (request) => {
      const path = new URL(request.url).pathname.replace(/^\/releases\//, "");
      asked.push(path);
      const other = answer(path);
      if (other !== undefined) return other;
      try {
        return new Response(await Deno.readFile(join(directory, path)));
      } catch {
        return new Response("Not Found", { status: 404 });
      }
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/releases`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
