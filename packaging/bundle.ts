/**
 * Bundles `svc` into a directory for `deno compile`: `cli.ts`, the Workers, the pages of `docs/`,
 * and a `deno.json` that names the Workers. The same sources give the same bytes on any machine if
 * `DENO_DIR` is at the same place below the checkout, because the bundler derives names from that
 * path.
 *
 * @module
 */

import * as esbuild from "esbuild";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { PACKED, readFolder } from "../src/docs/pages.ts";
import { readWorkers } from "./workers.ts";

/** Bundles the sources of the current directory into a new directory. */
async function bundle(directory: string): Promise<void> {
  const workers = await readWorkers();
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--code-splitting",
      "--outdir",
      directory,
      "cli.ts",
      ...workers.map(([, path]) => path),
    ],
    stdout: "null",
  }).output();
  if (!success) throw new Error("The sources cannot be bundled (see above)");
  const moved = workers.map(([name, path]) => [name, path.replace(/\.ts$/, ".js")]);
  const config = {
    imports: Object.fromEntries(moved),
    lock: false,
    nodeModulesDir: "none",
    workspace: [], // it lies below the root of one, and is no member
  };
  await Deno.writeTextFile(join(directory, "deno.json"), JSON.stringify(config));
  // All pages are one packed file, because embedded bytes cost time at every start (see below).
  const pages = brotliCompressSync(JSON.stringify(await readFolder("docs")));
  await Deno.writeFile(join(directory, PACKED), pages);
  const paths = [...filesIn(directory)];
  await Promise.all(paths.filter((path) => path.endsWith(".js")).map(minify));
  // The program contains the time of each file.
  const time = Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? 0);
  for (const path of paths) await Deno.utime(path, time, time);
}

function* filesIn(directory: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = join(directory, name);
    if (isDirectory) yield* filesIn(path);
    else yield path;
  }
}

/**
 * The comment of the bundler before each file of a chunk: its path, which for packages is in
 * `DENO_DIR`.
 */
const START_OF_FILE = /^(?=\/\/ (?:src\/|cli\.ts|\.deno\/)|export \{)/m;
const FILE_OF_PACKAGE =
  /^(\/\/ \.deno\/.*\n(?:(?:import [^;]*|var \w+ = __toESM\(.*\));\n)*)([^]*)$/;
/** Syntax of a module: in a module, esbuild shortens the outermost names too. */
const MODULE_SYNTAX = /^(?:import|export|await)\b|\bimport\.meta\b/m;

/**
 * Embedded bytes cost processor time at every start, used or not: 1.6 ms a megabyte. The names of
 * svc's files are kept, so that a stack trace is readable. In the file of a package, only names
 * within functions are shortened: in a text without imports and exports, esbuild keeps the
 * outermost names, which other files of the chunk use.
 */
async function minify(path: string): Promise<void> {
  const files = (await Deno.readTextFile(path)).split(START_OF_FILE);
  const shortened = await Promise.all(files.map(async (text) => {
    const [, imports, body] = FILE_OF_PACKAGE.exec(text) ?? [];
    if (imports === undefined || body === undefined || MODULE_SYNTAX.test(body)) return text;
    const { code } = await esbuild.transform(body, { target: "esnext", minifyIdentifiers: true });
    return imports + code;
  }));
  const { code } = await esbuild.transform(shortened.join(""), {
    format: "esm",
    target: "esnext",
    legalComments: "none",
    minifySyntax: true,
    minifyWhitespace: true,
  });
  await Deno.writeTextFile(path, code);
}

if (import.meta.main) {
  const [directory = ""] = Deno.args;
  try {
    await bundle(directory);
  } finally {
    await esbuild.stop();
  }
}
