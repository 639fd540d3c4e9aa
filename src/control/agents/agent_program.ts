/**
 * The program of an Agent as its sandbox has it: where it is, and what it says of its version. It is asked
 * once, within a time limit, and what it prints is not trusted.
 *
 * @module
 */

import { dirname } from "node:path";
import { plainOutput } from "../../base/output_text.ts";
import { programOf } from "../../resources/shell_line.ts";
import { Capture } from "../../shell/capture.ts";
import type { ShellExit } from "../../shell/run_shell.ts";
import { namedPaths } from "../../tasks/sandbox/sandbox_paths.ts";
import { explainLack, findProgram } from "../../tasks/step/program.ts";
import type { AgentScene } from "./agent_scene.ts";

/** What is known of a program. */
export type ProgramAnswer =
  /** Its name is not in the command line, or it lies in the directory of a step. */
  | { readonly is: "unknown"; readonly why: string; readonly isLocal: boolean }
  | { readonly is: "missing"; readonly why: string }
  | {
    readonly is: "there";
    /** Where the shell finds it, on one line. */
    readonly path: string;
    readonly exit: ShellExit;
    /** Whether it printed so much that it was ended. */
    readonly isEndless: boolean;
    /** The beginnings of what it printed. */
    readonly out: string;
    readonly err: string;
  };

/** Longest time for the answer: some agents need seconds to start on a busy machine. */
export const VERSION_MS = 30_000;
/** Most bytes that it may print. */
const MOST_BYTES = 64 * 1024;

/** Finds the program named `$1`, says where, and asks it for its version. */
const ASK = [
  'case $1 in "~/"*) set -- "$HOME/${1#??}" ;; esac',
  'program=$(command -v -- "$1") || exit 127',
  `printf '%s\\n' "$program"`,
  'exec "$program" --version',
].join("; ");

/**
 * Asks the program of an Agent for its version, without the network where that cannot be had.
 *
 * @throws {AppError} when its sandbox cannot be made.
 */
export async function askProgram(
  scene: AgentScene,
  { isOffline, signal }: { readonly isOffline: boolean; readonly signal: AbortSignal },
): Promise<ProgramAnswer> {
  const program = programOf(scene.agent.command);
  if (program === undefined) {
    const why = "the command line does not tell which one it starts";
    return { is: "unknown", why, isLocal: false };
  }
  if (program.includes("/") && !/^(\/|~\/)/.test(program)) {
    return { is: "unknown", why: `"${program}" lies in the directory of the step`, isLocal: true };
  }
  const [out, err] = [new Capture(MOST_BYTES), new Capture(MOST_BYTES)];
  const enough = new AbortController();
  const { exit } = await scene.run({
    line: ASK,
    args: [program],
    isOffline,
    timeoutMs: VERSION_MS,
    signal: AbortSignal.any([signal, enough.signal]),
    onOutput(stream, chunk) {
      const capture = stream === "out" ? out : err;
      capture.add(chunk);
      if (capture.overflowed) enough.abort();
    },
  });
  if (typeof exit === "string") return { is: "missing", why: exit };
  const [, path = "", printed = ""] = /^([^\n]+)\n(.*)$/s.exec(text(out)) ?? [];
  if (path === "") return { is: "missing", why: await whyMissing(program, scene) };
  return {
    is: "there",
    path: plainOutput(path, 300),
    exit,
    isEndless: enough.signal.aborted,
    out: printed,
    err: text(err),
  };
}

const VERSION = /(?<![\w.])v?(\d{1,9}\.\d{1,9}[\w.+-]{0,50})/;

/** The first version number in a text of a program; `undefined` if there is none. */
export function findVersion(printed: string): string | undefined {
  return VERSION.exec(plainOutput(printed, 2000))?.[1]?.replace(/[.+-]+$/, "");
}

function text(capture: Capture): string {
  return new TextDecoder().decode(capture.bytes());
}

/** Why a sandbox does not have a program, and what helps. */
async function whyMissing(program: string, scene: AgentScene): Promise<string> {
  const { host, agent } = scene;
  const { PATH: inherited = "" } = host.inherited.variables;
  const path = (await scene.fillEnv()).env["PATH"] ?? inherited;
  const written = program.startsWith("~/") ? host.resolvePath(program) : program;
  const found = await findProgram(written, { cwd: "/", path });
  if (found === undefined) return explainLack(written, path);
  const choice = await scene.choose();
  if (!("sandbox" in choice)) return `"${program}" cannot be run`;
  const { name, spec } = choice.sandbox;
  const { mounts } = await host.sandboxes.support();
  const there = [...mounts, ...await namedPaths(spec, host)].map(({ at }) => at);
  const real = await Deno.realPath(found).catch(() => found);
  const lacking = [...new Set([dirname(found), dirname(real)])].filter((folder) =>
    !there.some((at) => folder === at || folder.startsWith(`${at}/`))
  );
  if (lacking.length === 0) return `"${found}" cannot be run in the sandbox`;
  const edit = name === undefined ? `svc edit agent/${agent.name}` : `svc edit sandbox/${name}`;
  return `"${found}" is not in the sandbox: add ${lacking.join(" and ")} to its read ` +
    `(${scene.command(edit)})`;
}
