/**
 * `make console`: `svc console` with the page bundled anew whenever a file of it changes; reload the
 * tab to see it. Only from a checkout: the program itself serves nothing from disk.
 *
 * @module
 */

import { join } from "node:path";
import { terminal } from "../src/cli/io.ts";
import { consoleCommand } from "../src/cli/commands/console.ts";
import { runCommand } from "../src/cli/run.ts";
import type { FindAsset } from "../src/console/assets.ts";
import { bundleArguments, mediaType, PAGE, style } from "./embed.ts";

/** Files that are served as they are; the others are made of the sources. */
const PLAIN = new Set(["index.html", "icon.svg"]);

const made = await Deno.makeTempDir();
const bundling = new Deno.Command(Deno.execPath(), {
  args: [...bundleArguments(made), "--watch", "--sourcemap=inline"],
  stdout: "null",
}).spawn();

async function read(name: string): Promise<Uint8Array<ArrayBuffer>> {
  if (name === "style.css") return new TextEncoder().encode(await style());
  return await Deno.readFile(join(PLAIN.has(name) ? PAGE : made, name));
}

const findAsset: FindAsset = async (name) => {
  try {
    return { type: mediaType(name), body: await read(name), gzip: false };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
};

addEventListener("unload", () => {
  bundling.kill();
  Deno.removeSync(made, { recursive: true });
});
const command = consoleCommand(findAsset);
Deno.exitCode = await runCommand("console", command, Deno.args, terminal());
