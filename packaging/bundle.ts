/**
 * Bundles `svc` into a directory that `deno compile` takes: `cli.ts`, the Workers, the pages of `docs/`,
 * and a `deno.json` that says where the Workers are. The same sources make the same bytes, on any machine, provided that
 * `DENO_DIR` lies at the same place below the checkout: the bundler derives names from that path.
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
  // One packed file, which only svc docs reads: see what is embedded costs, below.
  const pages = brotliCompressSync(JSON.stringify(await readFolder("docs")));
  await Deno.writeFile(join(directory, PACKED), pages);
  const paths = [...filesIn(directory)];
  await Promise.all(paths.filter((path) => path.endsWith(".js")).map(minify));
  // The program has the time of each file in it.
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

/** The bundler says before each file in a chunk where it is from, a package's in `DENO_DIR`. */
const START_OF_FILE = /^(?=\/\/ (?:src\/|cli\.ts|\.deno\/)|export \{)/m;
const FILE_OF_PACKAGE =
  /^(\/\/ \.deno\/.*\n(?:(?:import [^;]*|var \w+ = __toESM\(.*\));\n)*)([^]*)$/;
/** What makes a module of a text, whose outermost names esbuild shortens, too. */
const MODULE_SYNTAX = /^(?:import|export|await)\b|\bimport\.meta\b/m;

/**
 * What is embedded costs every start, used or not: 1.6 ms of processor time a megabyte. Our names stay
 * as they are, so that a stack trace can be read. A package's file loses those within its functions:
 * esbuild leaves the outermost ones, by which the other files of the chunk know it, in what has neither
 * imports nor exports.
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
