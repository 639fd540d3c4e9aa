/**
 * svc as a service of systemd, through `systemctl`.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { ProgramLine } from "../shell/ask_program.ts";
import { findAt, findFile, homeOf, type Scope, type ServiceHost } from "./host.ts";
import type { Author, ServiceManager, ServiceOptions, ServiceState } from "./service_state.ts";
import type { Step } from "./steps.ts";
import {
  HARDENING,
  hardeningDropIn,
  stateDirectory,
  systemdUnit,
  UNIT,
  UNIT_MARK,
} from "./systemd_unit.ts";

/** The user that runs the system's daemon. */
export const SERVICE_USER = "svc";

/** The properties that `systemctl show` prints. */
const PROPERTIES = [
  "LoadState",
  "FragmentPath",
  "UnitFileState",
  "ActiveState",
  "SubState",
  "MainPID",
  "NRestarts",
  "ActiveEnterTimestamp",
  "ExecStart",
  "Environment",
  "User",
];

/** The systemd of the system, or of the user. */
export function systemd(host: ServiceHost, scope: Scope): ServiceManager {
  const isSystem = scope === "system";
  const systemctl = (...args: string[]): ProgramLine => [
    "systemctl",
    ...isSystem ? [] : ["--user"],
    ...args,
  ];
  const config = isSystem ? "/etc" : host.env("XDG_CONFIG_HOME") || `${homeOf(host)}/.config`;
  const units = `${config}/systemd/${scope}`;
  const file = `${units}/${UNIT}`;
  const dropIn = `${units}/${UNIT}.d/${HARDENING}`;
  const steps = (...lines: ProgramLine[]): Step[] => lines.map((run) => ({ run }));
  const reload = systemctl("daemon-reload");
  return {
    scope,
    service: UNIT,
    file,
    files: (options) => [
      {
        write: file,
        text: systemdUnit({ ...options, scope, environmentFile: `${config}/svc/environment` }),
      },
      ...options.hardened === true ? [{ write: dropIn, text: hardeningDropIn() }] : [],
    ],
    async look() {
      const asked = systemctl("show", UNIT, `--property=${PROPERTIES.join(",")}`);
      const { code, out, err } = await host.run(asked);
      if (code !== 0) throw cannotAsk(host, scope, err);
      return await stateOf(readProperties(out), { host, file });
    },
    prepare: (options) => isSystem ? prepareSystem(host, options) : Promise.resolve([]),
    apply: (now) =>
      steps(
        reload,
        systemctl("enable", UNIT),
        systemctl(now === undefined || now.state === "stopped" ? "start" : "restart", UNIT),
      ),
    start: steps(systemctl("enable", "--now", UNIT)),
    restart: steps(systemctl("restart", UNIT)),
    async remove() {
      const text = await findFile(host, dropIn);
      return [
        ...steps(systemctl("disable", "--now", UNIT)),
        ...text?.includes(UNIT_MARK) === true
          ? [{ remove: dropIn, withDirectory: true } as const]
          : [],
        { remove: file },
        ...steps(reload),
      ];
    },
    logs: ({ lines, follow }) => [
      "journalctl",
      ...isSystem ? [`--unit=${UNIT}`] : ["--quiet", `--user-unit=${UNIT}`],
      `--lines=${lines}`,
      ...follow ? ["--follow"] : ["--no-pager"],
    ],
    warnings: async () =>
      isSystem || await lingers(host) ? [] : [
        'It stops when you log out, and does not start with the system: "loginctl ' +
        'enable-linger" keeps it running',
      ],
  };
}

/** The user, and the data directory where systemd does not make it. */
async function prepareSystem(
  host: ServiceHost,
  { user = SERVICE_USER, dataDir }: ServiceOptions,
): Promise<readonly Step[]> {
  const { code } = await host.run(["id", "-u", user]);
  if (code !== 0 && user !== SERVICE_USER) {
    throw new AppError("refused", `There is no user "${user}": make it, or leave --run-as out`);
  }
  const isThere = await findAt(host, dataDir) !== undefined;
  // Its home is its data directory: agents keep their logins there, and /home is hidden from it.
  const add: ProgramLine = [
    "useradd",
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir",
    dataDir,
    "--shell",
    "/usr/sbin/nologin",
    user,
  ];
  const make: ProgramLine = ["install", "-d", "-m", "0700", "-o", user, dataDir];
  return [
    ...code === 0 ? [] : [{ run: add }],
    ...isThere || stateDirectory(dataDir) !== undefined ? [] : [{ run: make }],
  ];
}

/** Whether the user's services run on without a session; true where that cannot be known. */
async function lingers(host: ServiceHost): Promise<boolean> {
  const { out } = await host.run(["loginctl", "show-user", String(host.uid), "--property=Linger"]);
  return !out.includes("Linger=no");
}

function cannotAsk(host: ServiceHost, scope: Scope, err: string): AppError {
  const said = err.trim().split("\n")[0] ?? "";
  const cure = scope === "system"
    ? "see systemctl status"
    : 'log in as this user directly, not with su or sudo; or run "loginctl enable-linger ' +
      `${host.env("USER") ?? host.uid}" as root, which starts that user's service manager`;
  return new AppError("refused", `systemd cannot be asked (${said}): ${cure}`);
}

/** `NAME=VALUE` lines by their names. */
function readProperties(out: string): ReadonlyMap<string, string> {
  return new Map(
    out.split("\n").map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
}

async function stateOf(
  properties: ReadonlyMap<string, string>,
  { host, file }: { readonly host: ServiceHost; readonly file: string },
): Promise<ServiceState | undefined> {
  const of = (name: string) => properties.get(name) ?? "";
  // One that was written and not loaded yet is there, too.
  const path = of("FragmentPath") || file;
  const text = await findFile(host, path);
  if (text === undefined && of("LoadState") === "not-found") return undefined;
  const [pid, since] = [Number(of("MainPID")), timeOf(of("ActiveEnterTimestamp"))];
  const program = / path=(.*?) ; argv\[\]=/.exec(of("ExecStart"))?.[1];
  const dataDir = variableIn(of("Environment"), "SVC_DATA_DIR");
  const state = STATES[of("ActiveState")] ?? "stopped";
  return {
    file: path,
    author: authorOf(path, text),
    isEnabled: of("UnitFileState").startsWith("enabled"),
    state,
    ...pid > 0 ? { pid } : {},
    ...since === undefined || state !== "running" ? {} : { since },
    restarts: Number(of("NRestarts")) || 0,
    ...defined({ program, dataDir }),
    ...of("User") === "" ? {} : { user: of("User") },
  };
}

const STATES: Readonly<Record<string, ServiceState["state"]>> = {
  active: "running",
  reloading: "running",
  activating: "starting",
  failed: "failed",
};

function authorOf(path: string, text: string | undefined): Author {
  if (/^(\/usr)?\/lib\//.test(path)) return "a package";
  return text?.includes(UNIT_MARK) === true ? "svc" : "somebody else";
}

/** The time in `Tue 2026-11-24 18:50:27 UTC`. */
function timeOf(text: string): number | undefined {
  const [, day, time] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/.exec(text) ?? [];
  return day === undefined ? undefined : Date.parse(`${day}T${time}Z`);
}

/** A variable of `A=1 "B=2 3"`; of several of that name the last, as that of a drop-in. */
function variableIn(list: string, name: string): string | undefined {
  let value: string | undefined;
  for (const [, quoted, plain] of list.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)) {
    const word = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "";
    if (word.startsWith(`${name}=`)) value = word.slice(name.length + 1);
  }
  return value;
}
