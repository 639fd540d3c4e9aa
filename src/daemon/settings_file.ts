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
import { findWrong, NONE, type Setting, SETTINGS, type SettingValue } from "./settings.ts";

/** The file as `svc init` makes it: every setting with its help, all commented out. */
export function settingsTemplate(): string {
  const entries = SETTINGS.map((setting) => {
    const { name, help, fallback, otherwise, example, choices, takes } = setting;
    const values = choices === undefined ? "" : `: ${choices.join(", ")}`;
    const remark = fallback !== undefined || takes === "switch"
      ? ""
      : ` (default: ${otherwise ?? "none"})`;
    const value = otherwise === undefined || fallback === undefined
      ? fallback ?? example ?? "false"
      : `${fallback} # default: ${otherwise}`;
    return `# ${help}${values}${remark}\n#${name}: ${value}\n`;
  });
  return "# Settings of the daemon, read when it starts. A flag of the same name wins over the " +
    'file:\n# "svc daemon --help". Remove the "#" before a setting to change it; "svc status" ' +
    "shows it.\n\n" +
    entries.join("\n");
}

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
      for (const text of [value].flat()) {
        const why = findWrong(setting, String(text));
        if (why !== undefined) {
          wrong.push(`${document.locate([setting.name])}: ${setting.name} ${why}`);
        }
      }
      found.set(setting.name, setting.takes === "path" ? resolve(dataDir, String(value)) : value);
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

function schemaOf(
  { takes, choices, range: [minimum, maximum] = [0, 0], orNone = false }: Setting,
): object {
  switch (takes) {
    case "count": {
      const count = {
        type: "integer",
        minimum,
        maximum,
        title: `a whole number from ${minimum} to ${maximum}`,
      };
      if (!orNone) return count;
      return { anyOf: [count, { enum: [NONE] }], title: `${count.title}, or ${NONE}` };
    }
    case "duration":
      return {
        type: ["integer", "string"],
        minLength: 1,
        title: 'a duration: whole seconds, or text such as "12h"',
      };
    case "switch":
      return { type: "boolean" };
    case "list":
      return { type: "array", items: { type: "string", minLength: 1 } };
    default:
      return choices === undefined ? { type: "string", minLength: 1 } : { enum: [...choices] };
  }
}
