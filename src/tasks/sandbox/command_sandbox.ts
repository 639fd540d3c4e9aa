/**
 * The sandbox of one command, an attempt at a step or one that a person asks for: made around it, with its
 * way to the network and its limits, and taken away when it has ended.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { RegularFile } from "../../base/regular_file.ts";
import type { RuntimeFiles } from "../../base/runtime_files.ts";
import { reachedLines } from "../../egress/reached_lines.ts";
import type { Limit } from "../../egress/limit.ts";
import { limitsOf } from "../../resources/limits.ts";
import { findSignal } from "../../shell/pooled_shell.ts";
import type { LimitGroup, LimitName } from "../../shell/cgroups.ts";
import type { ShellCommand, ShellExit } from "../../shell/run_shell.ts";
import { hasBegun, inSandbox } from "../../shell/sandbox.ts";
import type { ReachedHost } from "../../store/task_records.ts";
import type { PlannedSandbox } from "../plan.ts";
import type { InheritedEnv } from "../step/inherited_env.ts";
import type { Held } from "../workspace/task_directory.ts";
import { LimitWatch } from "./limit_watch.ts";
import { type NetworkHost, type OpenNetwork, openNetwork } from "./sandbox_network.ts";
import type { SessionHome } from "./session_homes.ts";
import {
  findLackOfLimits,
  MCP_CONFIG_PATH,
  placesOf,
  type SandboxHost,
  sandboxName,
  sandboxVariables,
  sessionPath,
} from "./step_sandbox.ts";

/** The parts of a daemon with which commands get their sandboxes. */
export interface CommandSandboxHost extends SandboxHost, NetworkHost {
  readonly inherited: InheritedEnv;
}

/** A command that has no sandbox yet. */
type Bare = Pick<ShellCommand, "line" | "args" | "stdin" | "cwd" | "env">;

/** A command in its sandbox, and the file in which bubblewrap reports. */
type InSandbox = Bare & { readonly status: string };

/** A line of bubblewrap about a failure. */
const COMPLAINT = /^bwrap: (.*?)\.?$/m;
/** Characters of standard error that are kept for it. */
const MOST_HEARD = 2000;
/** Bytes of the status; it has some 300. */
const MOST_STATUS = 4096;

/** One command that gets a sandbox. */
export interface SandboxUser {
  /** Names it among all of this daemon, by letters, digits, `-` and `.`. */
  readonly id: string;
  /** Project whose secrets are the keys of APIs. */
  readonly project: string;
  /** Its directory, which the sandbox takes over: what git needs there is closed with it. */
  readonly held: Held;
  readonly files: Pick<RuntimeFiles, "directories" | "make" | "makeOnDisk">;
  /** Takes a line for each host that is refused, and at the end for each that was reached. */
  readonly note: (line: string) => void | Promise<void>;
  /** The home directory of its session, which nothing else uses meanwhile. */
  readonly session?: SessionHome;
}

/** The sandbox of one command. */
export class CommandSandbox {
  readonly #planned: PlannedSandbox;
  readonly #user: SandboxUser;
  readonly #host: CommandSandboxHost;
  readonly #open = new AsyncDisposableStack();
  readonly #watch: LimitWatch;
  #network: OpenNetwork | undefined;
  #group: LimitGroup | undefined;
  #variables: Readonly<Record<string, string>> = {};
  #mcpConfig: string | undefined;
  #status = "";
  #heard = "";

  private constructor(planned: PlannedSandbox, user: SandboxUser, host: CommandSandboxHost) {
    this.#planned = planned;
    this.#user = user;
    this.#host = host;
    this.#watch = this.#open.use(new LimitWatch(host.clock));
  }

  /**
   * Opens what is outside of the sandbox: the way to the network, the group with the limits.
   *
   * @throws {AppError} `invalid` when that is impossible.
   */
  static async open(
    planned: PlannedSandbox,
    user: SandboxUser,
    host: CommandSandboxHost,
  ): Promise<CommandSandbox> {
    const sandbox = new CommandSandbox(planned, user, host);
    try {
      await sandbox.#begin();
      return sandbox;
    } catch (error) {
      await sandbox.#open.disposeAsync();
      throw error;
    }
  }

  /** Variables of the command, under those of manifests. */
  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  async #begin(): Promise<void> {
    const { inherited, sandboxes } = this.#host;
    const { held } = this.#user;
    if (held.git !== undefined) this.#open.defer(held.git.close);
    const network = await this.#openNetwork();
    this.#group = await this.#makeGroup();
    const { PATH: path = "" } = inherited.variables;
    this.#variables = {
      ...sandboxVariables({ home: sandboxes.home, path, ...held }),
      ...network,
    };
  }

  /** Opens the way to the network, if it has rules; gives the variables that lead to it. */
  async #openNetwork(): Promise<Readonly<Record<string, string>>> {
    const { id, project, note } = this.#user;
    const use = {
      // Not among the files of the command, where another one could use the same way.
      path: join(this.#host.dirs.sandbox, id),
      project,
      onRefused: (line: string) => void note(line),
      onAnswer: (limit: Limit | undefined) => this.#watch.hear(limit),
    };
    const network = await openNetwork(this.#planned, use, this.#host);
    if (network === undefined) return {};
    this.#network = network;
    this.#open.use(network.served);
    return network.variables;
  }

  async #makeGroup(): Promise<LimitGroup | undefined> {
    const limits = limitsOf(this.#planned.spec);
    if (limits === undefined) return undefined;
    const cgroups = await this.#host.sandboxes.cgroups();
    const lack = findLackOfLimits(limits, cgroups);
    if (lack !== undefined) {
      const cannot = `the limits of ${sandboxName(this.#planned)} cannot be enforced`;
      throw new AppError("invalid", `${cannot}: ${lack.why}. ${lack.cure}`);
    }
    if ("why" in cgroups) return undefined; // is a lack, above
    return await cgroups.make(this.#user.id.replaceAll(".", "-"), limits);
  }

  /**
   * Puts a file into the sandbox that starts `svc mcp`; returns its path there. It has a run token, so
   * it does not lie among the files of the task, which other steps of it can read.
   */
  async putMcpConfig(content: Uint8Array): Promise<string> {
    const { sandbox: directory } = this.#host.dirs;
    const path = join(directory, `${this.#user.id}.mcp`);
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    this.#open.defer(() => Deno.remove(path).catch(() => {}));
    await Deno.writeFile(path, content, { mode: 0o600, createNew: true });
    this.#mcpConfig = path;
    return MCP_CONFIG_PATH;
  }

  /**
   * The same command in the sandbox.
   *
   * @throws {AppError} `invalid` when a path of its Sandbox cannot be had.
   */
  async around(
    { cwd, env, ...command }: Bare,
    { output, umask }: { readonly output: string; readonly umask: number },
  ): Promise<InSandbox> {
    const { id, held, files, session } = this.#user;
    const support = await this.#host.sandboxes.support();
    this.#status = await files.makeOnDisk(`sandbox.${id}`);
    const more = defined({
      egress: this.#network?.path,
      sessionHome: session?.path,
      mcpConfig: this.#mcpConfig,
    });
    const step = { held, files, output, ...more };
    const places = await placesOf(this.#planned, step, this.#host, support);
    await session?.open({ home: this.#host.sandboxes.home, mounts: places.mounts });
    const at = session === undefined ? cwd : sessionPath(cwd, held.root);
    const line = { ...command, cwd: at, env: { ...env }, umask, stopOnError: true };
    if (this.#planned.spec.control === false) delete line.env["SVC_RUN_TOKEN"];
    const cgroup = defined({ cgroup: this.#group?.procs });
    const status = this.#status;
    return { ...inSandbox(line, { ...places, ...cgroup, status }), status };
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
   * Closes what was opened, and takes what the command has committed into its repository. Gives the
   * limits that were reached.
   *
   * @throws {AppError} `invalid` when it cannot be taken.
   */
  async close(): Promise<readonly LimitName[]> {
    const reached = await this.#group?.end() ?? [];
    for (const line of reachedLines(this.#network?.served.report() ?? [])) {
      await this.#user.note(line);
    }
    await this.#open.disposeAsync();
    return reached;
  }

  /** What its APIs answer, as far as limits go; `undefined` if svc adds no key and sees nothing of it. */
  get limits(): Pick<LimitWatch, "limit" | "seen" | "signal"> | undefined {
    const { network } = this.#planned.spec;
    return typeof network === "object" && network.inject !== undefined ? this.#watch : undefined;
  }

  /** What the command has reached, and what it was refused; `undefined` if its network has no rules. */
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

/** The beginning of a file that the command may have written to. */
function startOfFile(path: string): string {
  using file = RegularFile.open(path, { noLink: true });
  const buffer = new Uint8Array(MOST_STATUS);
  return new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer)));
}
