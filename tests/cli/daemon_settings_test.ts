/**
 * `daemon.yaml`: what the file may say, and what is said of one that is wrong.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, throws } from "node:assert/strict";
import type { SettingValue } from "../../src/daemon/setting_type.ts";
import { SETTINGS } from "../../src/daemon/settings.ts";
import { readSettingsFile } from "../../src/daemon/settings_file.ts";
import { settingsTemplate } from "../../src/daemon/settings_template.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** The settings in a file of this text. */
async function read(text: string): Promise<Record<string, SettingValue>> {
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/daemon.yaml`, text);
  return Object.fromEntries(readSettingsFile(`${dir.path}/daemon.yaml`, "/data"));
}

Deno.test("the file of svc init says nothing as it is, and all the defaults without the marks", async () => {
  deepEqual(await read(settingsTemplate()), {});
  const all = await read(settingsTemplate().replace(/^#(?=[a-z])/gm, ""));
  deepEqual(Object.keys(all), SETTINGS.map(({ name }) => name));
  for (const setting of SETTINGS) {
    if (setting.example !== undefined) continue;
    deepEqual(all[setting.name], setting.fallback, setting.name);
  }
});

Deno.test("a file that is not there, empty or all remarks sets nothing", async () => {
  deepEqual([...readSettingsFile("/nowhere/daemon.yaml", "/data")], []);
  deepEqual(await read(""), {});
  deepEqual(await read("# workers: 3\n"), {});
});

Deno.test("values are of their type, and paths start at the data directory", async () => {
  const text = "workers: 3\nmetrics: true\nstep-env: [A, B]\nplugin-root: plugins\n" +
    "webhook-tls-cert: /etc/tls.crt\nlog-format: json\n";
  deepEqual(await read(text), {
    "workers": 3,
    "metrics": true,
    "step-env": ["A", "B"],
    "plugin-root": "/data/plugins",
    "webhook-tls-cert": "/etc/tls.crt",
    "log-format": "json",
  });
});

Deno.test("a setting for a limit takes none for no limit", async () => {
  for (const name of ["step-timeout", "task-timeout", "keep-tasks-for", "keep-bodies-for"]) {
    for (const value of ["90m", "none", 3600]) {
      deepEqual(await read(`${name}: ${value}\n`), { [name]: value });
    }
  }
  deepEqual(await read("keep-tasks: none\n"), { "keep-tasks": "none" });
});

Deno.test("docs/settings.md has every setting in its table, with its default, and no other", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/settings.md", import.meta.url));
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const cells = rows.map((row) => row.split("|").map((cell) => cell.trim()));
  const names = cells.flatMap(([, cell = ""]) => cell.replaceAll("`", "").split(", "));
  deepEqual(names, SETTINGS.map(({ name }) => name));
  for (const { name, fallback, fallbackText, type } of SETTINGS) {
    if (fallback === undefined || fallbackText !== undefined || type.kind === "list") continue;
    const [, , said = ""] = cells.find(([, cell]) => cell === `\`${name}\``) ?? [];
    ok(said.replaceAll("`", "").startsWith(String(fallback)), `${name}: ${said}`);
  }
});

/** Files that are refused, and what is said. */
const WRONG: readonly [text: string, says: RegExp][] = [
  ["workrs: 3", /daemon\.yaml:1:1: .*"workrs", did you mean "workers"/],
  ["metrics: true\nworkers: 0", /daemon\.yaml:2:1: .*a whole number from 1 to 10000/],
  ["workers: two", /daemon\.yaml:1:1: .*a whole number/],
  ["workers:", /daemon\.yaml:1:1: .*a whole number.*found nothing/],
  ["step-env: TOKEN", /daemon\.yaml:1:1: .*found a text of 5 characters/],
  ["log-level: loud", /daemon\.yaml:1:1: .*debug, info, warn, error/],
  ["webhook-bind: here", /daemon\.yaml:1:1: webhook-bind takes HOST:PORT or none, not "here"/],
  ["trusted-proxy: [10.0.0.0/8, x]", /trusted-proxy takes addresses or CIDR ranges, not "x"/],
  ["lease: 9s", /lease takes 10s to 10m, not "9s"/],
  ["node-labels: [gpu, a b]", /node-labels takes names such as gpu, not "a b"/],
  ["lease: 9", /lease takes 10s to 10m, not "9"/],
  ["step-timeout: true", /Expected a duration: whole seconds, .* found the boolean true/],
  ["step-timeout: soon", /step-timeout takes a duration such as 90m, or none, not "soon"/],
  ["task-timeout: -1", /task-timeout takes a duration such as 12h, or none, not "-1"/],
  ["step-timeout: 0", /step-timeout takes a duration such as 90m, or none, not "0"/],
  ["keep-tasks-for: 0", /keep-tasks-for takes 1m to 36500d, or none, not "0"/],
  ["keep-tasks: 0", /keep-tasks.*a whole number from 1 to 1000000000, or none/],
  ["keep-tasks: many", /a whole number from 1 to 1000000000, or none/],
  ["lease: 601s", /lease takes 10s to 10m/],
  ["slack-api-url: http://example.com", /slack-api-url takes https:\/\/HOST\/PATH/],
  ["workers: 1\nworkers: 2", /daemon\.yaml:2:/],
  ["workers: 1\n---\nworkers: 2", /This is one document/],
  ["[workers]", /daemon\.yaml:1:1: /],
  ["workers: [", /daemon\.yaml:/],
  ["data-dir: /x", /Unknown field "data-dir"/],
];

for (const [text, says] of WRONG) {
  Deno.test(`daemon.yaml with ${JSON.stringify(text)} is refused`, async () => {
    await using dir = await tempDir();
    const path = `${dir.path}/daemon.yaml`;
    await Deno.writeTextFile(path, text);
    throws(() => readSettingsFile(path, "/data"), (error: Error) => {
      match(error.message, /^The settings of the daemon are not valid:\n/);
      match(error.message, says);
      return true;
    });
  });
}

Deno.test("every mistake of a file is said at once", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/daemon.yaml`;
  await Deno.writeTextFile(path, "workers: 0\nmetrics: 1\nnothing: x\n");
  throws(() => readSettingsFile(path, "/data"), (error: Error) => {
    ok(error.message.split("\n").length === 4, error.message);
    return true;
  });
});
