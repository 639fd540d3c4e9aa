/**
 * `svc service status`.
 *
 * @module
 */

import type { Status } from "../../api/status_operations.ts";
import { rfc3339, systemClock } from "../../base/clock.ts";
import { dataDirAt } from "../../base/data_dir.ts";
import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { findService } from "../../service/service_lookup.ts";
import type { ServiceManager, ServiceState } from "../../service/service_state.ts";
import { findProgramVersion } from "../../service/program_version.ts";
import { commandLines } from "../../service/steps.ts";
import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { namedScope, serviceHost, SYSTEM } from "../service_host.ts";
import { statusWithin } from "../status_within.ts";
import { printable } from "../terminal_text.ts";

/** Exit code of a service whose daemon does not run, as of `svc status`. */
const NOT_RUNNING = 3;
const ANSWER_WITHIN_MS = 5000;

export const command: Command = defineCommand({
  help:
    "Shows whether svc is installed as a service, starts by itself and runs, since when, which " +
    "version, and where its data is: your own service, or the system's if you have none. Exit " +
    "3 if it does not run, 4 if there is no service. svc status asks the daemon itself.",
  options: [SYSTEM, OUTPUT_TEXT_JSON],
  examples: [
    "svc service status",
    "svc service status --system",
    "svc service status -o json | svc tool payload-extract --path state",
  ],
  async run(context) {
    const { io } = context;
    const host = serviceHost(io);
    const { manager, state } = await findService(host, namedScope(context));
    if (state === undefined) {
      throw new AppError(
        "not_found",
        `There is no ${manager.service} here: "svc service install" makes one`,
      );
    }
    const { dataDir, program, pid } = state;
    const daemon = dataDir === undefined || pid === undefined ? undefined : await ask(io, dataDir);
    const facts = {
      manager,
      state,
      runs: daemon?.pid === pid ? daemon?.version : undefined,
      installed: program === undefined ? undefined : await findProgramVersion(host, program),
    };
    if (context.options.output === "json") io.out(factsJson(facts));
    else io.out(factsText(facts));
    for (const warning of await manager.warnings()) io.err(`warning: ${warning}\n`);
    return state.state === "running" ? 0 : NOT_RUNNING;
  },
});

/** The facts about the service that are printed. */
interface Facts {
  readonly manager: ServiceManager;
  readonly state: ServiceState;
  /** Version of the running daemon; `undefined` if it does not answer this user. */
  readonly runs: string | undefined;
  /** Version of the installed program, which the next start would run. */
  readonly installed: string | undefined;
}

/** The status of the daemon, if it answers this user. */
async function ask(io: Io, path: string): Promise<Status | undefined> {
  const dataDir = dataDirAt(path);
  using client = io.connect({ socket: dataDir.socket, dataDir });
  return await statusWithin(client, ANSWER_WITHIN_MS).catch(() => undefined);
}

function factsJson({ manager, state, runs, installed }: Facts): string {
  return jsonText({
    service: manager.service,
    scope: manager.scope,
    file: state.file,
    made_by: state.author,
    enabled: state.isEnabled,
    state: state.state,
    pid: state.pid ?? null,
    since: state.since === undefined ? null : rfc3339(state.since),
    restarts: state.restarts,
    program: state.program ?? null,
    program_version: installed ?? null,
    running_version: runs ?? null,
    data_dir: state.dataDir ?? null,
  });
}

function factsText({ manager, state, runs, installed }: Facts): string {
  const { author, isEnabled, program, dataDir, file } = state;
  const scope = manager.scope === "system" ? "of the system" : "of your user";
  const from = author === "svc" ? "" : `, by ${author}`;
  const lines: readonly (readonly [string, string])[] = [
    ["service", `${manager.service}, ${scope} (${file}${from})`],
    [
      "enabled",
      isEnabled ? "yes" : `no, so it does not start by itself: ${commandLines(manager.start)}`,
    ],
    ["state", stateText(state)],
    ["program", `${program ?? "not known"}${installed === undefined ? "" : `, svc ${installed}`}`],
    ...runs === undefined ? [] : [["running", runningText(runs, installed, manager)] as const],
    ["data", dataDir ?? "not known"],
  ];
  return lines.map(([name, text]) => `${`${name}:`.padEnd(10)}${printable(text)}\n`).join("");
}

function stateText({ state, pid, since, restarts }: ServiceState): string {
  const again = restarts === 0 ? "" : `, started again ${restarts} times by itself`;
  if (state === "starting") return `starting${again}: see svc service logs`;
  if (state === "failed") return "failed: see svc service logs";
  if (state === "stopped") return "stopped";
  const lasts = since === undefined
    ? ""
    : ` since ${rfc3339(since)} (${shortDuration(systemClock.now() - since)})`;
  return `running${lasts}${pid === undefined ? "" : `, process ${pid}`}${again}`;
}

function runningText(runs: string, installed: string | undefined, manager: ServiceManager): string {
  if (installed === undefined || installed === runs) return `svc ${runs}`;
  return `svc ${runs}; restart it to run ${installed}: ${commandLines(manager.restart)}`;
}
