/**
 * An Agent whose command can be run by hand, as a step without a task would run it: in the sandbox that
 * such a step gets, with the environment of the Agent, in an empty directory.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import { agent as agentKind, type AgentSpec } from "../../resources/agent.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { SandboxSpec } from "../../resources/sandbox.ts";
import type { LimitName } from "../../shell/cgroups.ts";
import {
  type OutputStream,
  runShell,
  type ShellCommand,
  type ShellExit,
} from "../../shell/run_shell.ts";
import type { ReachedHost } from "../../store/task_records.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import {
  DEFAULT_SANDBOX,
  type PlannedAgent,
  plannedAgent,
  type PlannedSandbox,
  sandboxOf,
} from "../../tasks/plan.ts";
import { ATTEMPT_MARK } from "../../tasks/run/prepare_attempt.ts";
import { CommandSandbox, type CommandSandboxHost } from "../../tasks/sandbox/command_sandbox.ts";
import { type Choice, chooseSandbox } from "../../tasks/sandbox/step_sandbox.ts";
import { deliverPrompt } from "../../tasks/step/prompt_delivery.ts";
import { type EnvSources, fillEnv } from "../../tasks/step/step_env.ts";
import { removeTree } from "../../tasks/workspace/remove_tree.ts";
import type { ToolHost } from "../../tasks/workspace/run_tool.ts";
import { findResource } from "../resources/queries.ts";

/** What the command of an Agent is run with. */
export interface AgentsHost extends CommandSandboxHost, ToolHost {
  readonly newId: NewId;
  readonly runtime: Pick<RuntimeDirectory, "path" | "filesOf">;
  readonly evaluator: EnvSources["evaluator"];
  readonly store: Pick<TurnStore, "noteLimit">;
}

/** A command, and how long it may take. */
export interface AgentCommand extends Pick<ShellCommand, "line" | "args" | "onOutput"> {
  /** Delivered as the Agent wants it. */
  readonly prompt?: string;
  /** Whether it does without the network of its sandbox, and so without the secrets that this needs. */
  readonly isOffline?: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How a command ended. */
export interface AgentRun {
  /** A text says why its sandbox could not be made. */
  readonly exit: ShellExit | string;
  /** The limits of the sandbox that were reached. */
  readonly limits: readonly LimitName[];
  /** Hosts that were refused, and those that were reached, a line each. */
  readonly notes: readonly string[];
  readonly network: readonly ReachedHost[] | undefined;
}

/** Time between TERM and KILL. */
const GRACE_MS = 1000;
/** Most lines about the network that are kept. */
const MAX_NOTES = 10;

/** One Agent. */
export class AgentScene {
  readonly host: AgentsHost;
  readonly spec: AgentSpec;
  readonly agent: PlannedAgent;
  readonly project: string;
  /** The version of its program that its package was tried with. */
  readonly triedVersion: string | undefined;
  /** Whether it is asked something. */
  readonly asks: boolean;
  #choice: Promise<Choice> | undefined;

  /** @throws {AppError} `not_found`. */
  constructor({ name, project = DEFAULT_PROJECT, prompt }: Input<"agent.check">, host: AgentsHost) {
    const { spec, metadata } = findResource(agentKind, { name, project }, host.catalog) as Resource<
      AgentSpec
    >;
    this.host = host;
    this.spec = spec;
    this.project = project;
    this.agent = plannedAgent(name, spec);
    this.triedVersion = metadata.annotations?.["tried-version"];
    this.asks = prompt;
  }

  /**
   * The sandbox of a step of its own, and what is said of that; without one of its Agent, the default one.
   *
   * @throws {AppError} `invalid` when the step would not run; `overloaded` when nobody knows yet.
   */
  choose(): Promise<Choice> {
    return this.#choice ??= this.#choose();
  }

  async #choose(): Promise<Choice> {
    const find = <Spec>(kind: string, name: string) => {
      const found = this.host.catalog.find<Spec>(kind, this.project, name);
      if (found !== undefined) return found.spec;
      throw new AppError("invalid", `${kind} "${name}" does not exist, apply it`);
    };
    const sandbox = sandboxOf(this.spec.sandbox, find) ?? DEFAULT_SANDBOX;
    return await chooseSandbox(
      { sandbox },
      { hasAgent: true, hasSession: false },
      this.host.sandboxes,
    );
  }

  /** Notes that the Agent has just worked: a limit that was noted of it is over. */
  async noteWorks(): Promise<void> {
    const { clock, store } = this.host;
    const now = clock.now();
    await store.noteLimit(
      { project: this.project, agent: this.agent.name, until: now, reason: "" },
      now,
    );
  }

  /** A command that helps, in the project of the Agent. */
  command(words: string): string {
    return this.project === DEFAULT_PROJECT ? words : `${words} --project ${this.project}`;
  }

  /** What its sandbox reaches; nothing where there is none. */
  async network(): Promise<SandboxSpec["network"]> {
    const choice = await this.choose();
    return "sandbox" in choice ? choice.sandbox.spec.network : undefined;
  }

  /** The variables of the Agent, and the names of those that have no value here. */
  async fillEnv(): Promise<{ env: Record<string, string>; left: readonly string[] }> {
    const { host: { evaluator, catalog }, project, agent } = this;
    const scope = { variables: {}, share: agent.name };
    const env: Record<string, string> = {};
    const left: string[] = [];
    for (const [name, value] of Object.entries(agent.env)) {
      try {
        Object.assign(
          env,
          await fillEnv([{ [name]: value }], scope, { evaluator, catalog, project }),
        );
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        left.push(name);
      }
    }
    return { env, left };
  }

  /**
   * Runs a command to its end. Nothing of it is left then, also when `signal` has ended it.
   *
   * @throws {AppError} `invalid` or `overloaded` when it cannot be started.
   */
  async run(command: AgentCommand): Promise<AgentRun> {
    const { line, args, prompt, timeoutMs, signal } = command;
    const { host, project, agent } = this;
    const id = `ask-${host.newId()}`; // as long as that of a step, for the path of its socket
    await using files = host.runtime.filesOf(id);
    const root = await files.makeDirectory("work");
    const output = await files.makeOnDisk("output");
    const notes: string[] = [];
    const note = (text: string) => void (notes.length < MAX_NOTES && notes.push(text));
    const planned = await this.#sandboxFor(command);
    const sandbox = planned &&
      await CommandSandbox.open(planned, { id, project, held: { root }, files, note }, host);
    let exit: ShellExit | string;
    let limits: readonly LimitName[] = [];
    try {
      const toFile = (bytes: Uint8Array) => files.make("prompt", bytes);
      const { env: promptEnv, ...delivered } = prompt === undefined
        ? { env: {} }
        : await deliverPrompt(prompt, { by: agent.promptDelivery, toFile });
      const env = {
        ...host.inherited.variables,
        ...sandbox?.variables,
        ...(await this.fillEnv()).env,
        ...promptEnv,
        SVC_OUTPUT: output,
        [ATTEMPT_MARK]: id,
      };
      const bare = { line, ...defined({ args }), ...delivered, cwd: root, env };
      const held = await sandbox?.around(bare, { output, umask: host.umask }) ?? bare;
      const over = await runShell({
        ...held,
        stopOnError: true,
        umask: host.umask,
        graceMs: GRACE_MS,
        timeoutMs,
        signal,
        onOutput(stream: OutputStream, chunk: Uint8Array) {
          if (stream === "err") sandbox?.hear(chunk);
          return command.onOutput(stream, chunk);
        },
      }, host);
      exit = sandbox?.endOf(over) ?? over;
    } finally {
      limits = await sandbox?.close() ?? [];
      // What was in a sandbox has ended with it.
      if (sandbox === undefined) await host.groups.endMarked(ATTEMPT_MARK, id);
      await removeTree([root], {}, host).catch((error) =>
        host.log.warn("a directory of svc agent check is left", { path: root, error })
      );
    }
    return { exit, limits, notes, network: sandbox?.network };
  }

  /** The sandbox of a command that is no run, and so cannot call svc. */
  async #sandboxFor({ isOffline }: AgentCommand): Promise<PlannedSandbox | undefined> {
    const choice = await this.choose();
    if (!("sandbox" in choice)) return undefined;
    const spec: SandboxSpec = { ...choice.sandbox.spec, control: false };
    return { ...choice.sandbox, spec: isOffline === true ? { ...spec, network: "none" } : spec };
  }
}
