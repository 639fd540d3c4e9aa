/**
 * Bundles `svc` into a directory that `deno compile` takes: `cli.ts`, the Workers, and a `deno.json`
 * that says where the Workers are. The same sources make the same bytes, on any machine, provided that
 * `DENO_DIR` lies at the same place below the checkout: the bundler derives names from that path.
 *
 * @module
 */

import * as esbuild from "esbuild";
import { join } from "node:path";
import { readWorkers } from "./workers.ts";

/** Bundles the sources of the current directory into a new directory. */
async function bundle(directory: string): Promise<void> {
  const workers = await readWorkers();
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--code-splitting", "--outdir", directory, "cli.ts"],
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

/** The bundler says before each file in a chunk where it is from. */
const FILE_OF_OURS = /^\/\/ (src\/|cli\.ts)/m;

/**
 * What is embedded costs every start, used or not: 1.6 ms of processor time a megabyte. Our names stay
 * as they are, so that a stack trace can be read; a chunk that is of packages alone loses its own.
 */
async function minify(path: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  const { code } = await esbuild.transform(text, {
    format: "esm",
    target: "esnext",
    legalComments: "none",
    minifySyntax: true,
    minifyWhitespace: true,
    minifyIdentifiers: !FILE_OF_OURS.test(text),
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
