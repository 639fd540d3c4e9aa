/**
 * The sandbox of one attempt: made around its command, and taken away when it has ended.
 *
 * @module
 */

import { readRegularText } from "../../base/regular_file.ts";
import type { RuntimeFiles } from "../../base/runtime_files.ts";
import type { ShellCommand, ShellExit } from "../../shell/run_shell.ts";
import { hasBegun, inSandbox } from "../../shell/sandbox.ts";
import type { PlannedSandbox } from "../plan.ts";
import { placesOf, sandboxVariables } from "../sandbox/step_sandbox.ts";
import type { Held } from "../workspace/task_directory.ts";
import type { RunHost, TaskContext } from "./task_context.ts";

/** A command that has no sandbox yet. */
type Bare = Pick<ShellCommand, "line" | "args" | "stdin" | "cwd" | "env">;

/** A line of bubblewrap about a failure. */
const COMPLAINT = /^bwrap: (.*?)\.?$/m;
/** Characters of standard error that are kept for it. */
const MOST_HEARD = 2000;

/** The sandbox of an attempt at a step. */
export class AttemptSandbox {
  /** Variables of the step, under those of manifests. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #planned: PlannedSandbox;
  readonly #held: Held;
  readonly #host: RunHost;
  readonly #files: RuntimeFiles;
  #status = "";
  #heard = "";

  private constructor(planned: PlannedSandbox, held: Held, { host, files }: TaskContext) {
    this.variables = sandboxVariables({ home: host.sandboxes.home, ...held });
    this.#planned = planned;
    this.#held = held;
    this.#host = host;
    this.#files = files;
  }

  /**
   * Prepares the directory of the task for a sandbox.
   *
   * @throws {AppError} `invalid` when that is impossible.
   */
  static async open(planned: PlannedSandbox, context: TaskContext): Promise<AttemptSandbox> {
    const { host, directory, claimed: { task }, signals } = context;
    const tools = { signal: signals.stop, taskId: task.id };
    const held = await host.directories.hold(directory, tools);
    return new AttemptSandbox(planned, held, context);
  }

  /**
   * The same command in the sandbox; `name` is that of the attempt among the files of the task.
   *
   * @throws {AppError} `invalid` when a path of its Sandbox cannot be had.
   */
  async around(
    { cwd, env, ...command }: Bare,
    { output, umask, name }: {
      readonly output: string;
      readonly umask: number;
      readonly name: string;
    },
  ): Promise<Bare> {
    const { sandboxes } = this.#host;
    const support = await sandboxes.support();
    this.#status = await this.#files.make(`sandbox.${name}`);
    const step = { cwd, held: this.#held, files: this.#files, output };
    const places = await placesOf(this.#planned, step, this.#host, support);
    const line = { ...command, cwd, env: { ...env }, umask, stopOnError: true };
    if (this.#planned.spec.control === false) delete line.env["SVC_RUN_TOKEN"];
    return inSandbox(line, { ...places, status: this.#status });
  }

  /** Takes what is printed to standard error, where bubblewrap complains before anything else is. */
  hear(chunk: Uint8Array): void {
    if (this.#heard.length >= MOST_HEARD) return;
    this.#heard += new TextDecoder().decode(chunk.subarray(0, MOST_HEARD));
  }

  /** Why the command never ran in the sandbox; `undefined` if it did, or was ended before. */
  findFault({ code, endedFor, killedBy }: ShellExit): string | undefined {
    if (code === 0 || endedFor !== undefined || killedBy !== undefined) return undefined;
    if (hasBegun(readRegularText(this.#status))) return undefined;
    const [, complaint = "bubblewrap ended"] = COMPLAINT.exec(this.#heard) ?? [];
    return `its sandbox cannot be made: ${complaint}`;
  }

  /**
   * Takes what the step has committed into its repository.
   *
   * @throws {AppError} `invalid` when that is impossible.
   */
  async close(): Promise<void> {
    await this.#held.git?.close();
  }
}
