/**
 * `svc integration show`: the guide of a package, its files, or one of them.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { AppError } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import {
  type IntegrationPackage,
  PACKAGE_NAMES,
  packageNamed,
} from "../../integrations/packages.ts";
import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help: "Prints the guide of an integration package: how to set the platform up, which events it " +
    "handles, how to try it. --file prints one of its files instead, --unpack writes all of " +
    "them into a directory, to be changed and applied with svc apply -f. Needs no daemon.",
  arguments: [{
    name: "<name>",
    help: "name of the package, see svc integration list",
    complete: PACKAGE_NAMES,
  }],
  options: [
    { flags: "--file <path>", help: "print this file of it instead" },
    { flags: "--unpack <dir>", help: "write its files into this directory, new or empty" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc integration show github",
    "svc integration show github --file workflow-push.yaml",
    "svc integration show github --unpack ./github && svc apply -f ./github",
  ],
  async run(context) {
    const { io } = context;
    const pack = packageNamed(context.argument(0));
    const [path, directory] = [context.options.file, context.options.unpack];
    if (path !== undefined && directory !== undefined) {
      throw new AppError("usage", "Give either --file or --unpack");
    }
    const json = context.options.output === "json";
    if (directory !== undefined) {
      const written = await unpack(pack, directory);
      const lines = written.map((file) => `${file}\n`).join("");
      return io.out(json ? jsonText(written) : lines);
    }
    if (json && path === undefined) {
      const { packageView } = await import("../../integrations/package_resources.ts");
      return io.out(jsonText(packageView(pack)));
    }
    io.out(fileOf(pack, path ?? "README.md"));
  },
});

function fileOf({ name, files }: IntegrationPackage, path: string): string {
  const found = files.find((file) => file.path === path);
  if (found !== undefined) return found.text;
  const paths = files.map((file) => file.path).join(", ");
  throw new AppError(
    "not_found",
    `Package "${name}" has no file "${path}": its files are ${paths}`,
  );
}

/** Writes every file; returns their paths. */
async function unpack(pack: IntegrationPackage, directory: string): Promise<string[]> {
  const written: string[] = [];
  try {
    await Deno.mkdir(directory, { recursive: true });
    for await (const { name } of Deno.readDir(directory)) {
      throw new AppError("conflict", `"${directory}" holds "${name}": name a new directory`);
    }
    for (const { path, text } of pack.files) {
      const file = join(directory, path);
      await Deno.mkdir(dirname(file), { recursive: true });
      await Deno.writeTextFile(file, text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
      written.push(file);
    }
    return written;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("invalid", `Cannot write "${directory}": ${fileFault(cause)}`, { cause });
  }
}
