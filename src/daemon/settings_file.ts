/**
 * `daemon.yaml` in the data directory: settings under the names of the flags.
 *
 * @module
 */

import { resolve } from "node:path";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { readRegularText } from "../base/regular_file.ts";
import { formatFinding, parseManifest } from "../resources/manifest.ts";
import { compileSchema } from "../resources/validate.ts";
import type { SettingValue } from "./setting_type.ts";
import { faultsIn, NONE, type Setting, SETTINGS } from "./settings.ts";

/**
 * The settings in the file at `path`, by name; none where there is no file.
 *
 * @throws {AppError} `refused` when it cannot be read; `invalid` with every mistake and its place.
 */
export function readSettingsFile(path: string, dataDir: string): ReadonlyMap<string, SettingValue> {
  const text = readIfThere(path);
  const { documents: [document, second], errors, warnings } = parseManifest(path, text);
  const wrong = [...errors, ...warnings];
  if (second !== undefined) wrong.push(`${second.locate([])}: This is one document: remove "---"`);
  if (document !== undefined) {
    const findings = schema.check(document.value);
    wrong.push(...findings.map((finding) => formatFinding(document, finding)));
  }
  const found = new Map<string, SettingValue>();
  if (wrong.length === 0 && document !== undefined) {
    const values = document.value as Readonly<Record<string, SettingValue>>;
    for (const setting of SETTINGS.filter(({ name }) => Object.hasOwn(values, name))) {
      const value = values[setting.name] ?? "";
      const place = document.locate([setting.name]);
      wrong.push(...faultsIn(setting, value).map((why) => `${place}: ${setting.name} ${why}`));
      const isPath = setting.type.kind === "path";
      found.set(setting.name, isPath ? resolve(dataDir, String(value)) : value);
    }
  }
  if (wrong.length === 0) return found;
  throw new AppError("invalid", `The settings of the daemon are not valid:\n${wrong.join("\n")}`);
}

function readIfThere(path: string): string {
  try {
    return readRegularText(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return "";
    throw new AppError("refused", `Cannot read "${path}": ${fileFault(cause)}`, { cause });
  }
}

const schema = compileSchema({
  type: "object",
  properties: Object.fromEntries(SETTINGS.map((setting) => [setting.name, schemaOf(setting)])),
  additionalProperties: false,
});

/** Texts may be {@linkcode NONE} as they are; of the other types, only counts have settings that do. */
function schemaOf({ type: { kind, schema }, orNone }: Setting): object {
  if (kind !== "count" || orNone !== true) return schema;
  return { anyOf: [schema, { enum: [NONE] }], title: `${schema["title"]}, or ${NONE}` };
}
