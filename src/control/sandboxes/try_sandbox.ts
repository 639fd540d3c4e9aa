/**
 * `sandbox.try`: all that a sandbox needs, held ready for as long as the caller runs a command in it by
 * hand. The caller starts the command, which so has its terminal. Keys of APIs stay here: the daemon
 * serves the way to the network as it does for a step.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import type { Input } from "../../api/operations.ts";
import type { TryLine, TryStart } from "../../api/sandbox_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import { limitsOf } from "../../resources/limits.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";
import { CommandSandbox, type CommandSandboxHost } from "../../tasks/sandbox/command_sandbox.ts";
import { findLack } from "../../tasks/sandbox/step_sandbox.ts";
import { directoryFault } from "../../tasks/workspace/directory_fault.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { auditedLines } from "../records/audited_lines.ts";
import { ChangeSignal } from "../records/changes.ts";
import { findSandbox, type ShowHost } from "./show_sandbox.ts";

/** What a command in a sandbox is given. */
export interface TryHost extends ShowHost, CommandSandboxHost, Pick<AuditLog, "startAudited"> {
  readonly newId: NewId;
  readonly runtime: Pick<RuntimeDirectory, "path" | "filesOf">;
  readonly catalog: ShowHost["catalog"];
  readonly umask: number;
}

/** Time between two lines where nothing is refused. */
const KEEPALIVE_MS = 20_000;

/**
 * Holds a sandbox until the caller leaves.
 *
 * @throws {AppError} `not_found`; `invalid` when the sandbox cannot be made; `overloaded` when it cannot
 * be audited.
 */
export function trySandbox(
  input: Input<"sandbox.try">,
  caller: Caller,
  host: TryHost,
  signal: AbortSignal,
): AsyncGenerator<TryStart | TryLine> {
  const target = input.name === undefined ? "sandbox" : `sandbox/${input.name}`;
  const what = { operation: "sandbox.try", targets: [target], caller };
  return auditedLines(what, () => hold(input, host, signal), host);
}

async function* hold(
  input: Input<"sandbox.try">,
  host: TryHost,
  signal: AbortSignal,
): AsyncGenerator<TryStart | TryLine> {
  const { project = DEFAULT_PROJECT } = input;
  const { catalog, sandboxes, inherited, clock, umask } = host;
  const found = findSandbox(input, catalog);
  const lack = findLack(found.spec, await sandboxes.support());
  if (lack !== undefined) {
    throw new AppError(
      "invalid",
      `The sandbox cannot be made: ${lack.why}. To have one: ${lack.cure}`,
    );
  }
  const root = await findDirectory(input, host);
  const id = `try-${host.newId()}`;
  await using files = host.runtime.filesOf(id);
  const output = await files.make("output");
  const refused: string[] = [];
  const change = new ChangeSignal();
  const note = (line: string) => {
    refused.push(line);
    change.send();
  };
  const { memory: _memory, pids: _pids, cpu: _cpu, ...spec } = found.spec;
  const planned = { ...found, spec: { ...spec, control: false } }; // this is no run
  const user = { id, project, held: { root }, files, note };
  const sandbox = await CommandSandbox.open(planned, user, host);
  try {
    const env = { ...inherited.variables, ...sandbox.variables, SVC_OUTPUT: output };
    const bare = { line: 'exec "$@"', args: input.command, cwd: root, env };
    const { line, args = [], env: outside, status } = await sandbox.around(bare, { output, umask });
    yield {
      run: { line, args, env: outside, status },
      notes: limitsOf(found.spec) === undefined ? [] : ["its limits hold for steps only, not here"],
    };
    while (!signal.aborted) {
      if (refused.length === 0) await change.wait(KEEPALIVE_MS, clock, signal);
      yield { refused: refused.splice(0) };
    }
  } finally {
    await sandbox.close();
  }
}

/**
 * The directory that is the workspace of the command.
 *
 * @throws {AppError} `not_found` for an unknown Workspace; `invalid` for what is no directory.
 */
async function findDirectory(
  { directory = "", workspace, project = DEFAULT_PROJECT }: Input<"sandbox.try">,
  { catalog, resolvePath }: TryHost,
): Promise<string> {
  const found = workspace === undefined
    ? undefined
    : catalog.find<WorkspaceSpec>("Workspace", project, workspace);
  if (workspace !== undefined && found === undefined) {
    throw new AppError("not_found", `No Workspace "${workspace}" in project "${project}"`);
  }
  const path = found === undefined ? directory : resolvePath(found.spec.path);
  if (!isAbsolute(path)) throw new AppError("invalid", `The path "${path}" is not absolute`);
  const fault = await directoryFault(path);
  if (fault !== undefined) throw new AppError("invalid", fault);
  return path;
}
