/**
 * Copies of the checkout in which a test may build.
 *
 * @module
 */

import { join } from "node:path";
import { ROOT, run } from "../helpers/program.ts";

/** What builds and releases are made of. */
const SOURCES = [
  "cli.ts",
  "deno.json",
  "deno.lock",
  ".ci",
  "src",
  "console",
  "packaging",
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "docs",
  "install.sh",
];

/** Copies the sources, and the packages they are built with, into a directory that it makes. */
export async function copyCheckout(to: string): Promise<void> {
  await Deno.mkdir(join(to, ".deno"), { recursive: true });
  await run("cp", ["-R", ...SOURCES.map((name) => join(ROOT, name)), to]);
  await run("cp", ["-R", join(ROOT, ".deno/cache"), join(to, ".deno")]);
}

/** The variables by which a build finds what it cannot download, and more. */
export function buildEnvironment(
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const given = ["SVC_SHARED", "DENORT_BIN"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.assign({ SVC_DENO: Deno.execPath() }, Object.fromEntries(given), more);
}
