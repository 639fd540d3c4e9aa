/**
 * The change of files that a command hands over to the daemon: its options, and the steps before
 * anything is sent. Whether the task may do it at all is asked first, so that no work is in vain.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { QueuedChange } from "../api/change_operations.ts";
import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { ForgeName } from "../base/forge_names.ts";
import { keepCommit, packChange } from "../git/pack_change.ts";
import type { Context } from "./command.ts";
import type { OptionDefinition } from "./option.ts";

/** The options that say what is handed over. */
export const CHANGE = [
  { flags: "--all", help: "all files as they are, but nothing that .gitignore names" },
  {
    flags: "--commit <rev>",
    help: "the files of this commit (default: what is committed since the task began)",
  },
  {
    flags: "--onto <rev>",
    help: "commit at which the change begins (default: where the worktree of the task began)",
  },
] as const satisfies readonly OptionDefinition[];

/** What a change is for. */
export interface ChangePurpose {
  /** The task, in any way in which the daemon finds it. */
  readonly task: string;
  readonly forge: ForgeName;
  readonly output: "pull" | "push";
  /** Name of the pull, if the command line has one. */
  readonly key?: string | undefined;
}

/** A change, and the whole id of its task; dispose it once it is sent. */
export interface HandedChange extends AsyncDisposable {
  readonly input: { readonly task: string; readonly start: string; readonly tree: string };
  readonly sending: { readonly attachment: Uint8Array<ArrayBuffer>; readonly signal: AbortSignal };
  /**
   * Keeps the commit that svc has made of it in the repository, where that can be written: it is queued
   * whether or not.
   */
  keep(commit: { readonly commit: string; readonly object: string }): Promise<void>;
}

/**
 * Packs the change in the working tree around the current directory.
 *
 * @throws {AppError} `refused` where the task may not do it, or there is nothing to hand over.
 */
export async function readChange(
  context: Pick<Context<typeof CHANGE>, "io" | "options">,
  { client, signal, purpose }: {
    readonly client: Client;
    readonly signal: AbortSignal;
    readonly purpose: ChangePurpose;
  },
): Promise<HandedChange> {
  const { all, commit = "HEAD", onto } = context.options;
  if (all && context.options.commit !== undefined) {
    throw new AppError("usage", "--all and --commit exclude each other");
  }
  const { task, start } = await askFirst(client, purpose);
  if (all && start === undefined) await checkOwnDirectory(client, task);
  const of = all ? { all } as const : { commit };
  const host = {
    directory: Deno.cwd(),
    env: context.io.environment(),
    clock: systemClock,
    signal,
  };
  const change = await packChange({ start: onto ?? start, of }, host);
  return {
    input: { task, start: change.start, tree: change.tree },
    sending: { attachment: change.pack, signal },
    async keep(commit) {
      await keepCommit({ pack: change.pack, ...commit }, host).catch((error) => {
        if (!(error instanceof AppError)) throw error;
      });
    },
    [Symbol.asyncDispose]: () => change[Symbol.asyncDispose](),
  };
}

/** The whole id of the task, and where its change begins; throws where it may not make one. */
async function askFirst(
  client: Client,
  { task, forge, output, key }: ChangePurpose,
): Promise<{ readonly task: string; readonly start: string | undefined }> {
  const may = await client.call(`${forge}.may`, { task });
  const found = may.outputs.find((one) => one.output === output);
  if (found === undefined) {
    const rule = may.refused.find((one) => one.output === output)?.why;
    throw new AppError(
      "refused",
      rule ?? `may.${forge}.${output} is not in Workflow "${may.workflow}" of this task`,
    );
  }
  const isOver = found.left === 0 && (output === "push" || key !== undefined);
  if (isOver && !found.used.includes(key ?? "")) {
    const used = output === "push" ? `${found.used.length}` : found.used.join(", ");
    const remedy = output === "push" ? "" : `: renew one with --key ${found.used[0]}`;
    throw new AppError(
      "refused",
      `may.${forge}.${output} of Workflow "${may.workflow}" allows ${found.max} in a task, and this ` +
        `one has used ${used}${remedy}`,
    );
  }
  return { task: may.task_id, start: may.start ?? undefined };
}

/** In a directory that tasks and people share lie files of others, which are nobody's to publish. */
async function checkOwnDirectory(client: Client, id: string): Promise<void> {
  const { isolation, workspace } = await client.call("task.workspace", { id });
  if (isolation !== "shared") return;
  throw new AppError(
    "refused",
    `--all takes every file, and Workspace "${workspace}" is shared with others: name a commit with ` +
      '--commit, or set "isolation: worktree" in the Workspace',
  );
}

/** What a change is, in the line that says that it is queued. */
export function changeText(
  { branch, base, files, added, removed }: QueuedChange,
): string {
  const way = [branch, base].filter((name) => name !== null).join(" → ");
  const size = files === 0
    ? "no file has changed since it was sent last"
    : `${files === 1 ? "1 file" : `${files} files`}, +${added} −${removed}`;
  return [way, size].filter((part) => part !== "").join(", ");
}
