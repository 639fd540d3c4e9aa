/**
 * Looks for what resources need of the machine, in the environment of the tasks that will need it.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import type {
  DirectoryNeed,
  NodesNeed,
  ProgramNeed,
  SandboxNeed,
  WatchedNeed,
} from "../../resources/machine_needs.ts";
import type { SandboxSupport } from "../../shell/sandbox_probe.ts";
import { explainLack, hasProgram } from "../step/program.ts";
import { directoryFault, isDirectory } from "./directory_fault.ts";
import { findRepository } from "./git_worktree.ts";
import type { ToolHost } from "./run_tool.ts";
import type { WrittenPlaces } from "./written_places.ts";

/** A need, with the path and the nodes of its workspace in place of its name. */
export type ResolvedNeed =
  | DirectoryNeed
  | Omit<WatchedNeed, "workspace"> & Pick<DirectoryNeed, "path" | "nodes">
  | ProgramNeed
  | NodesNeed
  | SandboxNeed;

/** The environment of the tasks, and the nodes on which they run. */
export interface MachineHost extends ToolHost {
  readonly resolvePath: ResolvePath;
  /** The sandboxes of this machine. */
  readonly sandboxes: {
    readonly support: () => Promise<SandboxSupport>;
    readonly written: Pick<WrittenPlaces, "check">;
  };
  /** The names by which a Workspace may name this node; absent where the daemon is the only one. */
  readonly shared?: { readonly names: readonly string[] };
}

/** The machine on which the tasks run. */
export class Machine {
  readonly #host: MachineHost;

  /** Looks with the environment that steps inherit. */
  constructor(host: MachineHost) {
    this.#host = host;
  }

  /**
   * The missing thing and its remedy, as a sentence without its end; `undefined` when all is there.
   * Takes as long as the disk takes; `signal` ends the processes it has started.
   */
  async faultOf(need: ResolvedNeed, signal: AbortSignal): Promise<string | undefined> {
    if (need.needs === "program") return await this.#programFault(need.name);
    if (need.needs === "nodes") return this.#nodesFault(need.nodes);
    if (need.needs === "sandbox") return await this.#sandboxFault(need);
    if (!this.#runsTasksOf(need)) return undefined;
    const path = this.#host.resolvePath(need.path);
    const fault = await directoryFault(path);
    if (fault !== undefined) {
      return isAbsolute(need.path) || need.path.startsWith("~")
        ? fault
        : `${fault} (a relative path starts at the data directory)`;
    }
    if (need.needs === "watched") return await watchedFault(join(path, need.below));
    return need.repository ? await this.#repositoryFault(path, signal) : undefined;
  }

  /** Whether tasks in a workspace run here; what they need elsewhere cannot be looked for. */
  #runsTasksOf({ nodes }: Pick<DirectoryNeed, "nodes">): boolean {
    const { shared } = this.#host;
    return nodes === undefined || shared === undefined ||
      nodes.some((node) => shared.names.includes(node));
  }

  #nodesFault(nodes: readonly string[]): string | undefined {
    if (this.#host.shared !== undefined) return undefined;
    return `Tasks in this workspace run on this machine, not only on ${nodes.join(", ")}: a ` +
      "daemon without PostgreSQL is the only node";
  }

  async #repositoryFault(path: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { common } = await findRepository(path, { host: this.#host, signal });
      await this.#host.sandboxes.written.check(path, common);
      return undefined;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  }

  async #sandboxFault({ rules, optional }: SandboxNeed): Promise<string | undefined> {
    const { fault, networkFault } = await this.#host.sandboxes.support();
    const found = fault ?? (rules ? networkFault : undefined);
    if (found === undefined) return undefined;
    const effect = optional
      ? "The steps run without a sandbox on this machine"
      : "The sandbox cannot be made on this machine, so the steps fail";
    return `${effect}: ${found.why}. To have one: ${found.cure}`;
  }

  async #programFault(name: string): Promise<string | undefined> {
    const { PATH: path = "" } = this.#host.inherited.variables;
    const program = name.startsWith("~/") ? this.#host.resolvePath(name) : name;
    return await hasProgram(program, { cwd: "/", path }) ? undefined : explainLack(program, path);
  }
}

async function watchedFault(path: string): Promise<string | undefined> {
  if (await isDirectory(path)) return undefined;
  return `The directory "${path}" does not exist yet: until then, this glob matches nothing`;
}
