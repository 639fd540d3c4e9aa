/**
 * The sandbox of one attempt: made around its command, with its way to the network and its limits, and
 * taken away when it has ended.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { RegularFile } from "../../base/regular_file.ts";
import { reachedLines } from "../../egress/reached_lines.ts";
import { limitsOf } from "../../resources/limits.ts";
import { findSignal } from "../../shell/pooled_shell.ts";
import type { LimitGroup, LimitName } from "../../shell/cgroups.ts";
import type { ShellCommand, ShellExit } from "../../shell/run_shell.ts";
import { hasBegun, inSandbox } from "../../shell/sandbox.ts";
import type { ReachedHost } from "../../store/task_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { PlannedSandbox } from "../plan.ts";
import { type OpenNetwork, openNetwork } from "../sandbox/sandbox_network.ts";
import {
  findLackOfLimits,
  placesOf,
  sandboxName,
  sandboxVariables,
} from "../sandbox/step_sandbox.ts";
import type { Held } from "../workspace/task_directory.ts";
import type { TaskContext } from "./task_context.ts";

/** A command that has no sandbox yet. */
type Bare = Pick<ShellCommand, "line" | "args" | "stdin" | "cwd" | "env">;

/** A line of bubblewrap about a failure. */
const COMPLAINT = /^bwrap: (.*?)\.?$/m;
/** Characters of standard error that are kept for it. */
const MOST_HEARD = 2000;
/** Bytes of the status; it has some 300. */
const MOST_STATUS = 4096;

/** An attempt that gets a sandbox. */
interface SandboxUser {
  readonly context: TaskContext;
  readonly log: StepLog;
  /** Name of the attempt among those of its task, of digits and `.`. */
  readonly name: string;
}

/** The sandbox of an attempt at a step. */
export class AttemptSandbox {
  readonly #planned: PlannedSandbox;
  readonly #user: SandboxUser;
  readonly #open = new AsyncDisposableStack();
  #held: Held = { root: "" };
  #network: OpenNetwork | undefined;
  #group: LimitGroup | undefined;
  #variables: Readonly<Record<string, string>> = {};
  #status = "";
  #heard = "";

  private constructor(planned: PlannedSandbox, user: SandboxUser) {
    this.#planned = planned;
    this.#user = user;
  }

  /**
   * Opens what is outside of the sandbox: the part of the repository, the way to the network, the group
   * with the limits.
   *
   * @throws {AppError} `invalid` when that is impossible.
   */
  static async open(planned: PlannedSandbox, user: SandboxUser): Promise<AttemptSandbox> {
    const sandbox = new AttemptSandbox(planned, user);
    try {
      await sandbox.#begin();
      return sandbox;
    } catch (error) {
      await sandbox.#open.disposeAsync();
      throw error;
    }
  }

  /** Variables of the step, under those of manifests. */
  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  async #begin(): Promise<void> {
    const { context: { host, directory, claimed: { task }, signals } } = this.#user;
    const tools = { signal: signals.stop, taskId: task.id };
    const held = await host.directories.hold(directory, tools);
    this.#held = held;
    if (held.git !== undefined) this.#open.defer(held.git.close);
    const network = await this.#openNetwork();
    this.#group = await this.#makeGroup();
    const { PATH: path = "" } = host.inherited.variables;
    this.#variables = {
      ...sandboxVariables({ home: host.sandboxes.home, path, ...held }),
      ...network,
    };
  }

  /** Opens the way to the network, if it has rules; gives the variables that lead to it. */
  async #openNetwork(): Promise<Readonly<Record<string, string>>> {
    const { context: { host, claimed: { task } }, log, name } = this.#user;
    const use = {
      // Not among the files of the task, where another step of it could use the same way.
      path: join(host.dirs.sandbox, `${task.id}.${name}`),
      project: task.project,
      onRefused: (line: string) => void log.note(line),
    };
    const network = await openNetwork(this.#planned, use, host);
    if (network === undefined) return {};
    this.#network = network;
    this.#open.use(network.served);
    return network.variables;
  }

  async #makeGroup(): Promise<LimitGroup | undefined> {
    const { context: { host, claimed: { task } }, name } = this.#user;
    const limits = limitsOf(this.#planned.spec);
    if (limits === undefined) return undefined;
    const cgroups = await host.sandboxes.cgroups();
    const lack = findLackOfLimits(limits, cgroups);
    if (lack !== undefined) {
      const cannot = `the limits of ${sandboxName(this.#planned)} cannot be enforced`;
      throw new AppError("invalid", `${cannot}: ${lack.why}. ${lack.cure}`);
    }
    if ("why" in cgroups) return undefined; // is a lack, above
    return await cgroups.make(`${task.id}-${name.replace(".", "-")}`, limits);
  }

  /**
   * The same command in the sandbox.
   *
   * @throws {AppError} `invalid` when a path of its Sandbox cannot be had.
   */
  async around(
    { cwd, env, ...command }: Bare,
    { output, umask }: { readonly output: string; readonly umask: number },
  ): Promise<Bare> {
    const { context: { host, files }, name } = this.#user;
    const support = await host.sandboxes.support();
    this.#status = await files.makeOnDisk(`sandbox.${name}`);
    const egress = defined({ egress: this.#network?.path });
    const step = { held: this.#held, files, output, ...egress };
    const places = await placesOf(this.#planned, step, host, support);
    const line = { ...command, cwd, env: { ...env }, umask, stopOnError: true };
    if (this.#planned.spec.control === false) delete line.env["SVC_RUN_TOKEN"];
    const cgroup = defined({ cgroup: this.#group?.procs });
    return inSandbox(line, { ...places, ...cgroup, status: this.#status });
  }

  /** Takes what is printed to standard error, where bubblewrap complains before anything else is. */
  hear(chunk: Uint8Array): void {
    if (this.#heard.length >= MOST_HEARD) return;
    this.#heard += new TextDecoder().decode(chunk.subarray(0, MOST_HEARD));
  }

  /** How the command itself ended, from how bubblewrap did; a text says why it never ran. */
  endOf(exit: ShellExit): ShellExit | string {
    const { code, endedFor, killedBy } = exit;
    if (code === 0 || endedFor !== undefined || killedBy !== undefined) return exit;
    const status = startOfFile(this.#status);
    if (hasBegun(status)) return { ...exit, ...defined({ killedBy: findSignal(code, status) }) };
    const [, complaint = "bubblewrap ended"] = COMPLAINT.exec(this.#heard) ?? [];
    return `its sandbox cannot be made: ${complaint}`;
  }

  /**
   * Closes what was opened, and takes what the step has committed into its repository. Gives the limits
   * that were reached.
   *
   * @throws {AppError} `invalid` when it cannot be taken.
   */
  async close(): Promise<readonly LimitName[]> {
    const reached = await this.#group?.end() ?? [];
    for (const line of reachedLines(this.#network?.served.report() ?? [])) {
      await this.#user.log.note(line);
    }
    await this.#open.disposeAsync();
    return reached;
  }

  /** What the step has reached, and what it was refused; `undefined` if its network has no rules. */
  get network(): readonly ReachedHost[] | undefined {
    return this.#network?.served.report().map((one) => ({
      host: one.host,
      requests: one.requests,
      refused: one.refused,
      sentBytes: one.sentBytes,
      receivedBytes: one.receivedBytes,
      ...defined({ tokensIn: one.tokens?.input, tokensOut: one.tokens?.output }),
    }));
  }
}

/** The beginning of a file that the step may have written to. */
function startOfFile(path: string): string {
  using file = RegularFile.open(path, { noLink: true });
  const buffer = new Uint8Array(MOST_STATUS);
  return new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer)));
}
