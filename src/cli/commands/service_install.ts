/**
 * `svc service install`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { Status } from "../../api/status_operations.ts";
import { systemClock } from "../../base/clock.ts";
import { type DataDir, dataDirAt } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { openManager, usualScope } from "../../service/service_lookup.ts";
import type { Scope, ServiceHost } from "../../service/host.ts";
import { type InstallPlan, pathForService, planInstall } from "../../service/install.ts";
import type { ServiceManager, ServiceOptions, ServiceState } from "../../service/service_state.ts";
import { carryOut, commandLine, plainWord } from "../../service/steps.ts";
import { type Command, type Context, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { namedScope, refuseUnlessRoot, serviceHost, SYSTEM } from "../service_host.ts";
import { statusWithin } from "../status_within.ts";

/** The data directory of a service of the system. */
const SYSTEM_DATA_DIR = "/var/lib/svc";

/**
 * How long a daemon may take to its first answer, and the time between two requests, in
 * milliseconds.
 */
const [READY_WITHIN_MS, POLL_MS] = [60_000, 250];
/** After so many restarts a daemon counts as failed. */
const MOST_RESTARTS = 2;
/** Lines of the log that are printed after a failure. */
const LOG_LINES = 15;

const OPTIONS = [
  SYSTEM,
  {
    flags: "--data-dir <dir>",
    help: `data directory (default: $SVC_DATA_DIR, else ~/.svc, or ${SYSTEM_DATA_DIR} as root)`,
  },
  { flags: "--run-as <user>", help: "user that a system service runs as (default: svc)" },
  {
    flags: "--hardened",
    help: "give a system service no devices and fewer system calls (hardening.conf)",
  },
  { flags: "--dry-run", help: "print the unit and what would be done, but change nothing" },
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help:
    "Installs the daemon as a service that starts by itself: systemd, or launchd on macOS. As " +
    "root, it installs a system service that runs as its own user (svc) with its data in " +
    "/var/lib/svc; otherwise one for your user, with your current data directory and PATH. " +
    "Waits until the daemon answers. Running it again updates the service, leaves its data in " +
    "place, and restarts it only if something changed.",
  options: OPTIONS,
  examples: [
    "svc service install",
    "svc service install --dry-run",
    "sudo svc service install",
    "sudo svc service install --run-as deploy --data-dir /srv/svc",
  ],
  async run(context) {
    const { io } = context;
    const host = serviceHost(io);
    const scope = namedScope(context) ?? usualScope(host);
    refuseWrong(context, host, scope);
    const manager = await openManager(host, scope);
    const isDry = context.options.dryRun;
    if (!isDry) refuseUnlessRoot(scope, host, "install");
    const now = await manager.look();
    const options = optionsOf(context, host, { scope, now });
    const dirs = dataDirAt(options.dataDir);
    using client = io.connect({ socket: dirs.socket, dataDir: dirs });
    const daemon = await findDaemon(client);
    const request = { manager, options, now, daemon, version: VERSION };
    const plan = await planInstall(request, host);
    if (daemon === undefined && now?.pid === undefined) await refuseTakenPorts(dirs, io);
    const isJson = context.options.output === "json";
    if (isDry) return io.out(isJson ? planJson(plan) : planText(plan));
    const status = await bringUp(plan, { client, manager, host, io });
    const isChanged = plan.steps.length > 0;
    if (isJson) return io.out(resultJson({ manager, options, status, isChanged }));
    io.out(resultText({ manager, options, status, isChanged }));
    for (const warning of await manager.warnings()) io.err(`warning: ${warning}\n`);
  },
});

/**
 * Refuses options with which no service can be installed.
 *
 * @throws {AppError} `usage`, or `refused` where this program is none that a service could run.
 */
function refuseWrong(context: Context<typeof OPTIONS>, host: ServiceHost, scope: Scope): void {
  const [user, isHardened] = [context.options.runAs, context.options.hardened];
  if (scope === "user" && (user !== undefined || isHardened)) {
    const option = user === undefined ? "--hardened" : "--run-as";
    throw new AppError("usage", `${option} is for a system service: run this with sudo`);
  }
  if (user !== undefined && !/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) {
    throw new AppError("usage", `--run-as takes the name of a user, not "${user}"`);
  }
  if (host.program === undefined) {
    throw new AppError(
      "refused",
      'svc runs from its sources here, and a service runs a program: "make compile" builds ' +
        "dist/svc; put that where programs are (/usr/local/bin), and run it",
    );
  }
}

/** The options of the service; those that the command line leaves out stay as they are. */
function optionsOf(
  context: Context<typeof OPTIONS>,
  { program = "", env }: ServiceHost,
  { scope, now }: { readonly scope: Scope; readonly now: ServiceState | undefined },
): ServiceOptions {
  const own = now?.author === "svc" ? now : undefined;
  const user = context.options.runAs ?? (scope === "system" ? own?.user : undefined);
  const isSaid = context.options.dataDir !== undefined;
  const isUsual = !isSaid && scope === "system" && !env("SVC_DATA_DIR");
  const dataDir = (isSaid ? undefined : own?.dataDir) ??
    (isUsual ? SYSTEM_DATA_DIR : context.dir().root);
  const path = scope === "user" ? pathForService(env("PATH") ?? "", dataDir) : undefined;
  return {
    program,
    dataDir,
    ...defined({ user, path }),
    ...context.options.hardened ? { hardened: true } : {},
  };
}

/**
 * The status of the daemon that answers, if one does.
 *
 * @throws {AppError} `refused` when one is there and does not answer: it may have everything.
 */
async function findDaemon(client: Client): Promise<Status | undefined> {
  try {
    const status = await statusWithin(client, READY_WITHIN_MS);
    if (status !== undefined) return status;
  } catch (error) {
    if (error instanceof AppError && /^(unreachable|forbidden)$/.test(error.code)) return undefined;
    throw error;
  }
  const seconds = READY_WITHIN_MS / 1000;
  throw new AppError(
    "refused",
    `The daemon there has not answered for ${seconds} seconds: see its log, or stop it`,
  );
}

/** Refuses addresses on which another program listens, and names it. */
async function refuseTakenPorts(dirs: DataDir, io: Io): Promise<void> {
  const { addressesToBind } = await import("../../daemon/bind_addresses.ts");
  const { readSettingsFile } = await import("../../daemon/settings_file.ts");
  const { openOwnPlace } = await import("../../doctor/own_place.ts");
  const { ports } = await import("../../doctor/ports.ts");
  const addresses = () => addressesToBind(readSettingsFile(dirs.settings, dirs.root));
  await using place = openOwnPlace({ dirs, env: io.env, clock: systemClock, stepEnv: [] });
  const found = await ports.look({ ...place, addresses });
  const failed = found.find(({ result }) => result === "failed");
  if (failed !== undefined) throw new AppError("refused", failed.message);
}

/** The parts with which {@linkcode bringUp} waits for the daemon. */
interface Startup {
  readonly client: Client;
  readonly manager: ServiceManager;
  readonly host: ServiceHost;
  readonly io: Io;
}

/**
 * Carries a plan out, and waits for the daemon that the manager runs to answer.
 *
 * @throws {AppError} `refused`, after the last lines of its log, when it does not come up.
 */
async function bringUp({ steps }: InstallPlan, waiting: Startup): Promise<Status> {
  const { manager, host, io } = waiting;
  await carryOut(steps.slice(0, -1), host);
  // If the start fails, the log of the service says why, better than its manager does.
  const fault = await carryOut(steps.slice(-1), host).then(() => undefined, messageOfRefusal);
  const status = fault === undefined ? await untilReady(waiting) : undefined;
  if (status !== undefined) return status;
  const { out } = await host.run(manager.logs({ lines: LOG_LINES, follow: false }));
  io.err(out);
  throw new AppError(
    "refused",
    `${manager.service} is installed, and its daemon does not come up: see its log above ` +
      '(more: "svc service logs"); "svc service uninstall" removes it',
    fault === undefined ? {} : { details: [fault] },
  );
}

function messageOfRefusal(error: unknown): string {
  if (error instanceof AppError) return error.message;
  throw error;
}

/** The daemon that the manager runs, once it answers; `undefined` when it does not come up. */
async function untilReady({ client, manager }: Startup): Promise<Status | undefined> {
  const start = systemClock.monotonicMs();
  for (; systemClock.monotonicMs() - start < READY_WITHIN_MS; await systemClock.pause(POLL_MS)) {
    const state = await manager.look();
    const status = state?.pid === undefined ? undefined : await findDaemon(client);
    if (status !== undefined && status.pid === state?.pid) return status;
    if (state === undefined || state.state === "failed") break;
    if (state.state === "starting" && state.restarts >= MOST_RESTARTS) break;
  }
  return undefined;
}

/**
 * The plan as text: first the files, then the steps as comments, so that the text is a valid unit
 * file.
 */
function planText({ files, steps }: InstallPlan): string {
  const shown = files.map(({ write, text }) => `# ${write}\n${text}\n`).join("");
  if (steps.length === 0) return `${shown}# Nothing to do: it is installed, and runs\n`;
  return `${shown}# What would be done:\n${
    steps.map((step) => `#   ${commandLine(step)}\n`).join("")
  }`;
}

function planJson({ files, steps }: InstallPlan): string {
  return jsonText({
    files: files.map(({ write, text }) => ({ path: write, text })),
    commands: steps.map(commandLine),
  });
}

/** The result of the installation. */
interface Result {
  readonly manager: ServiceManager;
  readonly options: ServiceOptions;
  readonly status: Status;
  readonly isChanged: boolean;
}

function resultJson({ manager, options, status, isChanged }: Result): string {
  return jsonText({
    service: manager.service,
    scope: manager.scope,
    file: manager.file,
    changed: isChanged,
    program: options.program,
    data_dir: options.dataDir,
    pid: status.pid,
    version: status.version,
    webhook_url: status.webhook_url,
  });
}

function resultText({ manager, options, status, isChanged }: Result): string {
  const { service, file, scope } = manager;
  const listens = status.webhook_url === null
    ? "without webhooks"
    : `webhooks at ${status.webhook_url}`;
  const sudo = scope === "system" ? "sudo " : "";
  const dir = plainWord(options.dataDir);
  const did = isChanged ? "runs, and starts by itself" : "is installed already, and runs";
  return `${service} ${did}: svc ${status.version}, process ${status.pid}, ${listens}\n\n` +
    [
      ["its file", file],
      ["its data", options.dataDir],
      ["settings", `${options.dataDir}/daemon.yaml`],
      ["go on with", `${sudo}svc status --data-dir ${dir}`],
      ["", "svc service status, svc service logs"],
    ].map(([name = "", text]) => `  ${(name && `${name}:`).padEnd(12)}${text}\n`).join("");
}
