/**
 * `svc tool payload-extract`: runs in plugin scripts, so it loads little.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { findText } from "../../base/bytes.ts";
import { findRawNumber, isJsonObject, parseOwnJson, toJson } from "../../base/json.ts";
import { type Command, defineCommand } from "../command.ts";
import { readInput } from "../read_file.ts";

export const command: Command = defineCommand({
  help: "Reads JSON from standard input and prints the value at a dotted path: text as it is, " +
    "everything else as JSON. A number in the path is an index of a list. Exit 1 and no output " +
    "if the value does not exist. In a SecretStore, a path not found from the root is looked " +
    "up under spec.data. Needs no daemon.",
  options: [{
    flags: "--path <dotted.path>",
    help: "path, such as repository.owner.login or commits.0.id",
  }],
  examples: [
    'svc tool payload-extract --path repository.full_name < "$SVC_PAYLOAD_FILE"',
    "svc describe secretstore/github -o json | svc tool payload-extract --path webhook_secret",
  ],
  async run(context) {
    const path = context.options.path;
    if (path === undefined || path === "") {
      throw new AppError("usage", "Give the path: --path a.b.c");
    }
    const text = findText(await readInput(context.io));
    if (text === undefined) throw new AppError("invalid", "Standard input is not UTF-8");
    const value = findValue(parseOwnJson(text), path);
    if (value === undefined) return 1;
    context.io.out(`${typeof value === "string" ? value : toJson(value)}\n`);
    return 0;
  },
});

function findValue(document: unknown, path: string): unknown {
  const found = walk(document, path.split("."));
  if (found !== undefined || !isJsonObject(document) || document["kind"] !== "SecretStore") {
    return found;
  }
  const data = walk(document, ["spec", "data"]);
  // A key of a store may itself hold dots.
  return walk(data, [path]) ?? walk(data, path.split("."));
}

/** Own properties only: `constructor` and `__proto__` are no fields of a document. */
function walk(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => {
    if (typeof inner !== "object" || inner === null || findRawNumber(inner) !== undefined) {
      return undefined;
    }
    if (Array.isArray(inner) && !/^(0|[1-9][0-9]{0,9})$/.test(key)) return undefined;
    return Object.hasOwn(inner, key) ? (inner as Record<string, unknown>)[key] : undefined;
  }, value);
}
