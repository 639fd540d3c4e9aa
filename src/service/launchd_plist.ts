/**
 * The property list by which launchd starts svc on macOS, as text: an agent of one user, or a daemon
 * of the system.
 *
 * @module
 */

import { defined } from "../base/defined.ts";

/** Name of the job. */
export const LABEL = "svcd";

/** In every property list of svc: a file without it is not from svc. */
export const PLIST_MARK = "<!-- Made by svc. -->";

/** What differs between jobs. Paths are absolute. */
export interface PlistOptions {
  /** Whether the system starts it, or the session of one user. */
  readonly scope: "system" | "user";
  /** Path of `svc`. */
  readonly program: string;
  readonly dataDir: string;
  /** File that its log is added to. */
  readonly log: string;
  /** Who it runs as; only for a daemon of the system. */
  readonly user?: string;
  /** Where steps look for programs; launchd's own, which is short, when absent. */
  readonly path?: string;
}

/** What launchd runs: it knows no command that comes before another. */
const LINE = '"$0" init && exec "$0" daemon';

/** The text of the property list. */
export function launchdPlist(options: PlistOptions): string {
  const { scope, program, dataDir, log, user = "svc", path } = options;
  const environment = { SVC_DATA_DIR: dataDir, ...defined({ PATH: path }) };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    PLIST_MARK,
    '<plist version="1.0">',
    "<dict>",
    ...entry("Label", string(LABEL)),
    ...entry("ProgramArguments", [
      "<array>",
      ...["/bin/sh", "-c", LINE, program].map((one) => `  ${string(one)}`),
      "</array>",
    ]),
    ...entry("EnvironmentVariables", [
      "<dict>",
      ...Object.entries(environment).flatMap(([name, value]) => entry(name, string(value))),
      "</dict>",
    ]),
    ...scope === "system" ? entry("UserName", string(user)) : [],
    ...entry("RunAtLoad", "<true/>"),
    ...entry("KeepAlive", ["<dict>", ...entry("SuccessfulExit", "<false/>"), "</dict>"]),
    ...entry("ThrottleInterval", "<integer>2</integer>"),
    ...entry("ExitTimeOut", "<integer>20</integer>"),
    ...entry("SoftResourceLimits", [
      "<dict>",
      ...entry("NumberOfFiles", "<integer>65536</integer>"),
      "</dict>",
    ]),
    ...entry("StandardOutPath", string(log)),
    ...entry("StandardErrorPath", string(log)),
    "</dict>",
    "</plist>",
    "",
  ].join("\n");
}

function entry(key: string, value: string | readonly string[]): readonly string[] {
  return [`  <key>${text(key)}</key>`, ...[value].flat().map((line) => `  ${line}`)];
}

function string(value: string): string {
  return `<string>${text(value)}</string>`;
}

function text(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
