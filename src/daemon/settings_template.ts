/**
 * `daemon.yaml` as `svc init` makes it.
 *
 * @module
 */

import { SETTINGS } from "./settings.ts";

/** The file as `svc init` makes it: every setting with its help, all commented out. */
export function settingsTemplate(): string {
  const entries = SETTINGS.map((setting) => {
    const { name, help, fallbackText, example, type: { choices } } = setting;
    const values = choices === undefined ? "" : `: ${choices.join(", ")}`;
    if (example !== undefined) {
      return `# ${help} (default: ${fallbackText ?? "none"})\n#${name}: ${example}\n`;
    }
    const remark = fallbackText === undefined ? "" : ` # default: ${fallbackText}`;
    return `# ${help}${values}\n#${name}: ${setting.fallback}${remark}\n`;
  });
  return "# Settings of the daemon, read when it starts. A flag of the same name wins over the " +
    'file:\n# "svc daemon --help". Remove the "#" before a setting to change it; "svc status" ' +
    "shows it.\n\n" +
    entries.join("\n");
}
