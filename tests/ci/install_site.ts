/**
 * A place where a test installs: two small releases, an install.sh with their keys, a prefix.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { run, type RunResult } from "../helpers/program.ts";
import { findProgram, missing } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import {
  type Keys,
  keysIn,
  makeKeys,
  makePath,
  packRelease,
  type Path,
  program,
  publicKeys,
  runScript,
  type SmallRelease,
  snapshot,
  writeScript,
} from "./small_release.ts";

/** Why nothing can be installed here. */
export const NOT_LINUX = Deno.build.os === "linux" ? undefined : "its archives are for Linux";
/** Why nothing can be signed and checked here. */
export const NO_SIGNATURES = NOT_LINUX ?? missing("ssh-keygen", "openssl");
/** Why nothing can be downloaded here. */
export const NO_DOWNLOADS = NO_SIGNATURES ??
  (findProgram("curl", "wget") === undefined ? "neither curl nor wget installed" : undefined);

/** Two releases, a script with their keys, and a place to install to. */
export interface Site extends AsyncDisposable {
  /** Everything is below it. */
  readonly path: string;
  readonly keys: Keys | undefined;
  readonly script: string;
  /** Laid out as GitHub's releases are; the newest is 2.0.0. */
  readonly releases: string;
  readonly prefix: string;
  readonly programs: Path;
  /** Directory of a release, for `--from`. */
  readonly of: (version: string) => string;
  /** Packs one more, and makes it the newest. */
  readonly pack: (release: SmallRelease) => Promise<void>;
  /** Runs the script, with `--prefix` and a HOME of its own. */
  readonly install: (...args: readonly string[]) => Promise<RunResult>;
  /** The same in another shell, with other variables. */
  readonly installWith: (
    options: { shell?: readonly string[]; env?: Readonly<Record<string, string>>; stdin?: string },
    ...args: readonly string[]
  ) => Promise<RunResult>;
}

/** What every site is a copy of: the releases, signed and not, and 1.0.0 installed. */
const templates = new Map<boolean, Promise<TempDir>>();

Deno.test.afterAll(async () => {
  for (const made of templates.values()) await (await made)[Symbol.asyncDispose]();
});

async function makeTemplate(signed: boolean): Promise<TempDir> {
  const temp = await tempDir();
  if (signed) await makeKeys(join(temp.path, "keys"));
  const site = await openSite(temp.path, signed, []);
  await Deno.mkdir(join(temp.path, "home"));
  await writeScript(site.script, site.keys && await publicKeys(site.keys));
  await site.pack({ version: "1.0.0", more: { "share/doc/svc/OLD": "gone in 2.0.0" } });
  await site.pack({ version: "2.0.0", more: { "share/doc/svc/NEW": "came in 2.0.0" } });
  return temp;
}

/** Makes one. Nothing is installed in it. */
export async function makeSite(
  { signed = true, tools = ["curl", "wget", "ssh-keygen", "openssl"], busybox = false }: {
    readonly signed?: boolean;
    readonly tools?: readonly string[];
    readonly busybox?: boolean;
  } = {},
): Promise<Site> {
  const made = templates.get(signed) ?? makeTemplate(signed);
  templates.set(signed, made);
  const temp = await tempDir();
  await run("cp", ["-R", `${(await made).path}/.`, temp.path]);
  const site = await openSite(temp.path, signed, tools, busybox);
  return { ...site, [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose]() };
}

async function openSite(
  path: string,
  signed: boolean,
  tools: readonly string[],
  busybox = false,
): Promise<Omit<Site, typeof Symbol.asyncDispose>> {
  const keys = signed ? keysIn(join(path, "keys")) : undefined;
  const script = join(path, "install.sh");
  const releases = join(path, "releases");
  const of = (version: string) => join(releases, `download/v${version}`);
  const pack = async (release: SmallRelease) => {
    await packRelease(of(release.version), { keys, ...release });
    const latest = join(releases, "latest/download");
    await Deno.remove(latest, { recursive: true }).catch(() => {});
    await Deno.mkdir(join(latest, ".."), { recursive: true });
    await run("cp", ["-R", of(release.version), latest]);
  };
  const prefix = join(path, "a prefix", "it's");
  const programs = await makePath(join(path, "programs"), tools, busybox);
  const installWith: Site["installWith"] = ({ shell = ["sh"], env, stdin }, ...args) => {
    const place = args.includes("--prefix") ? [] : ["--prefix", prefix];
    return runScript(
      shell,
      [...stdin === undefined ? [script] : ["-s", "--"], ...place, ...args],
      { PATH: programs.directory, HOME: join(path, "home"), ...env },
      stdin,
    );
  };
  const install: Site["install"] = (...args) => installWith({}, ...args);
  return { path, keys, script, releases, prefix, programs, of, pack, install, installWith };
}

/** A successful run prints no error. */
export function succeeded({ code, stdout, stderr }: RunResult): string {
  deepEqual([code, stderr], [0, ""], stdout);
  return stdout;
}

/** Looks at all that is installed: of one version, and nothing else. */
export async function checkInstalled(prefix: string, version: string): Promise<void> {
  const { stdout } = await run(join(prefix, "bin/svcd"), ["version"]);
  equal(stdout, `svc ${version} (small)\n`);
  const lines = snapshot(prefix);
  const changing = version === "1.0.0" ? "OLD 644 gone in 2.0.0" : "NEW 644 came in 2.0.0";
  deepEqual(lines.filter((line) => !line.startsWith("share/svc/")), [
    "bin/ 755",
    `bin/svc 755 ${program(version)}`,
    "bin/svcd -> svc",
    "share/ 755",
    "share/bash-completion/ 755",
    "share/bash-completion/completions/ 755",
    `share/bash-completion/completions/svc 644 completion of ${version}`,
    "share/doc/ 755",
    "share/doc/svc/ 755",
    `share/doc/svc/LICENSE 644 licence of ${version}`,
    `share/doc/svc/${changing}`,
    "share/man/ 755",
    "share/man/man1/ 755",
    `share/man/man1/svc.1 644 manual of ${version}`,
    "share/man/man1/svcd.1 -> svc.1",
  ]);
  const own = lines.filter((line) => line.startsWith("share/svc/"))
    .filter((line) => !line.startsWith("share/svc/releases-url "));
  deepEqual(own.slice(0, 2), ["share/svc/ 755", "share/svc/channel 644 install.sh\n"]);
  equal(own.length, 3);
  match(own[2] ?? "", /^share\/svc\/manifest 644 /);
}

/** It ended with one sentence. */
export function refused({ code, stdout, stderr }: RunResult, says: RegExp, expected = 1): void {
  match(stderr, /^install\.sh: [^\n]{20,}\n$/, `${stdout}${stderr}`);
  match(stderr.trimEnd(), says);
  equal(code, expected, stderr);
}
