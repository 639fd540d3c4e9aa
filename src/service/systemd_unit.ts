/**
 * The systemd unit `svcd.service` as text, for packages, `svc service install` and the
 * documentation: whatever starts svc under systemd has its unit from here.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** Name of the unit. */
export const UNIT = "svcd.service";

/** In every unit of svc: a file without it is not from svc. */
export const UNIT_MARK = "# Made by svc.";

/** Directory of the system's data directories, which systemd makes by itself. */
const STATE = "/var/lib/";

/** What differs between units. Paths are absolute. */
export interface UnitOptions {
  /** Whether the system starts it, or the service manager of one user. */
  readonly scope: "system" | "user";
  /** Path of `svc`. */
  readonly program: string;
  /** Data directory; below `/var/lib`, a unit of the system makes it. */
  readonly dataDir: string;
  /** Who it runs as; `svc` when absent. Only for a unit of the system, as a user's runs as that one. */
  readonly user?: string;
  /** File with variables for steps, which need not be there. */
  readonly environmentFile: string;
  /** Where steps look for programs; the service manager's own when absent. */
  readonly path?: string;
  /** Addresses of the documentation, such as `man:svc(1)`, where they are installed. */
  readonly documentation?: readonly string[];
}

/** The unit of a package: its paths are those of every distribution. */
export const PACKAGE_UNIT: UnitOptions = {
  scope: "system",
  program: "/usr/bin/svc",
  dataDir: "/var/lib/svc",
  environmentFile: "/etc/svc/environment",
  documentation: ["man:svc(1)", "file:///usr/share/doc/svc/docs/operations.md"],
};

/**
 * The text of the unit.
 *
 * @throws {AppError} `invalid` when a path holds what no line of a unit can.
 */
export function systemdUnit(options: UnitOptions): string {
  const isSystem = options.scope === "system";
  const edit = `systemctl ${isSystem ? "" : "--user "}edit svcd`;
  return [
    `${UNIT_MARK} To change it, run "${edit}": your lines then survive upgrades.`,
    "[Unit]",
    "Description=svc, webhooks to workflows",
    ...options.documentation === undefined
      ? []
      : [`Documentation=${options.documentation.join(" ")}`],
    ...isSystem ? ["Wants=network-online.target", "After=network-online.target"] : [],
    "",
    "[Service]",
    "Type=exec",
    ...isSystem ? userLines(options) : [],
    `Environment=${word(`SVC_DATA_DIR=${options.dataDir}`)}`,
    "# Saves memory: one malloc arena for all threads.",
    "Environment=MALLOC_ARENA_MAX=1",
    ...options.path === undefined ? [] : [
      "# Where steps find programs: the PATH of the shell that ran svc service install.",
      `Environment=${word(`PATH=${options.path}`)}`,
    ],
    "# Variables for steps, if step-env names them: ANTHROPIC_API_KEY=…, HTTPS_PROXY=…",
    `EnvironmentFile=-${line(options.environmentFile)}`,
    `ExecStartPre=${command(options.program)} init`,
    `# Settings: ${options.dataDir}/daemon.yaml`,
    `ExecStart=${command(options.program)} daemon`,
    "Restart=on-failure",
    "RestartSec=2",
    "# Only the daemon gets SIGTERM; it then stops its steps in order.",
    "KillMode=mixed",
    "TimeoutStopSec=20",
    "LimitNOFILE=65536",
    "# Control groups below the service's own: for Sandboxes that set memory, pids or cpu.",
    "Delegate=memory pids cpu",
    ...isSystem ? protection(options) : [
      "# Steps can do whatever this user can. To keep them away from your files, install svc for the",
      "# system, where it has its own user: sudo svc service install",
    ],
    "",
    "[Install]",
    `WantedBy=${isSystem ? "multi-user" : "default"}.target`,
    "",
  ].join("\n");
}

/** Who it runs as, and what that user has. */
function userLines({ user = "svc", dataDir }: UnitOptions): readonly string[] {
  const state = stateDirectory(dataDir);
  return [
    `User=${user}`,
    ...state === undefined ? [] : [`StateDirectory=${state}`, "StateDirectoryMode=0700"],
    "# Files that live as long as a step or plugin, in memory; a user's service has such a directory.",
    "RuntimeDirectory=svc",
    "RuntimeDirectoryMode=0700",
  ];
}

/** What systemd is to make below `/var/lib`; `undefined` where the data directory lies elsewhere. */
export function stateDirectory(dataDir: string): string | undefined {
  const name = dataDir.startsWith(STATE) ? dataDir.slice(STATE.length) : "";
  return /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(name) ? name : undefined;
}

/** What keeps steps from the rest of the system, and lets agents and bubblewrap work. */
function protection({ dataDir }: UnitOptions): readonly string[] {
  const isState = stateDirectory(dataDir) !== undefined;
  return [
    "# The limits below apply to steps and plugins too: remove those that get in their way.",
    "ProtectSystem=strict",
    "# For workspaces and backups elsewhere: ReadWritePaths=/srv/repos /backup",
    ...isState ? [] : [`ReadWritePaths=${word(dataDir)}`],
    "# Hides /home, and so agents in ~/.local and logins in ~/.claude: to use them, ProtectHome=no.",
    `ProtectHome=${/^\/(home|root|run\/user)(\/|$)/.test(dataDir) ? "no" : "yes"}`,
    "PrivateTmp=yes",
    "# Only svc can read what steps write; to let others read it, use 0022.",
    "UMask=0077",
    "ProtectKernelModules=yes",
    "ProtectHostname=yes",
    "# Each of these prevents sudo: if a step calls it, remove them all.",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "RestrictSUIDSGID=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictRealtime=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
    "# Left out, because no sandbox (bubblewrap) can be made under them: RestrictNamespaces,",
    "# ProtectKernelTunables, ProtectKernelLogs, ProtectProc, ProcSubset. ProtectControlGroups is left",
    "# out because limits of a Sandbox need control groups, MemoryDenyWriteExecute because svc itself",
    "# does not start with it.",
  ];
}

/** Name of the optional drop-in, in `svcd.service.d`. */
export const HARDENING = "hardening.conf";

/** The text of a drop-in that is stricter than every daemon can be. */
export function hardeningDropIn(): string {
  return [
    `${UNIT_MARK} Stricter than svcd.service, for daemons whose steps do not need what it blocks.`,
    "[Service]",
    "# No devices except /dev/null and the like: steps cannot use the GPU.",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "# bubblewrap needs @mount, svc needs @pkey. Other calls fail with EPERM; without the second line",
    "# they would kill the calling program, even svc.",
    "SystemCallFilter=@system-service @mount @pkey",
    "SystemCallErrorNumber=EPERM",
    "",
  ].join("\n");
}

/** One word that systemd reads back as it is. */
function word(text: string): string {
  return /[\s']/.test(text) ? `"${line(text)}"` : line(text);
}

/** The rest of a line, which systemd takes without quotes. */
function line(text: string): string {
  // deno-lint-ignore no-control-regex -- a unit may hold no control character
  if (/[\x00-\x1f\x7f"\\]/.test(text)) {
    throw new AppError(
      "invalid",
      `${JSON.stringify(text)} is not allowed in a systemd unit: use another path`,
    );
  }
  return text.replaceAll("%", "%%");
}

/** The program of a command line, in which systemd looks for variables. */
function command(path: string): string {
  if (!path.includes("$")) return word(path);
  throw new AppError("invalid", `"${path}" has a "$", which systemd replaces: use another path`);
}
