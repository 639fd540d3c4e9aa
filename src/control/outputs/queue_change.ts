/**
 * The commit that svc makes of a change, and the message that brings it out.
 *
 * @module
 */

import type { InheritedEnv } from "../../tasks/step/inherited_env.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { defined } from "../../base/defined.ts";
import type { ForgeWords } from "../../base/forge_names.ts";
import { AppError } from "../../base/errors.ts";
import type { CheckedChange } from "../../git/change.ts";
import { openPackedChange } from "../../git/packed_change.ts";
import type { LeaksHost } from "../../outputs/leaks.ts";
import type { Draft } from "../../outbox/message_kind.ts";
import { ANSWER_KEY } from "../../outbox/marker.ts";
import type { Outbox } from "../../outbox/outbox.ts";
import { coAuthor, commitMessage } from "../../outbox/pull_text.ts";
import { apiUrlOf } from "../../resources/connection.ts";
import type { ChangePlace, PlaceHost } from "./change_place.ts";
import type { JudgedChange } from "./judge_change.ts";
import { queuedAs } from "./queued.ts";

/** What queueing a change needs. */
export interface ChangeHost extends PlaceHost, LeaksHost {
  readonly clock: PlaceHost["clock"];
  readonly outbox: Pick<Outbox, "enqueue">;
  readonly inherited: InheritedEnv;
  readonly dirs: Pick<DataDir, "run">;
}

/** A change as a caller hands it over. */
export interface GivenChange {
  readonly start: string;
  readonly tree: string;
  /** Path of the file with its pack. */
  readonly pack: string;
}

/** Opens a change in a repository of its own, which goes when the result is disposed. */
export async function openChange(
  change: GivenChange,
  /** Ends its reading, also that after this has returned. */
  signal: AbortSignal,
  { inherited, dirs, clock }: ChangeHost,
): Promise<CheckedChange> {
  await Deno.mkdir(dirs.run, { recursive: true, mode: 0o700 });
  return await openPackedChange(change, {
    path: inherited.variables["PATH"] ?? "",
    dir: dirs.run,
    clock,
    signal,
  });
}

/** Makes the commit of a change, on top of the commit at which it starts. */
export async function commitChange(
  change: CheckedChange,
  { place, message }: {
    readonly place: ChangePlace<"pull" | "push">;
    readonly message: string;
  },
  { clock, markers }: ChangeHost,
): Promise<string> {
  const { task, forge, repository, own, asker, isChecked, connection } = place;
  const api = apiUrlOf(connection.spec);
  const author = { userId: own?.userId ?? "", login: own?.login || "svc" };
  const trailers = [
    markers.makeTrailers(
      { forge: forge.name, project: task.project, repository, tree: change.tree },
      task.id,
    ),
    ...isChecked && asker !== undefined && asker.login !== "" && !asker.isBot
      ? [coAuthor(asker.login, forge.mailOf({ userId: asker.id, login: asker.login }, api))]
      : [],
  ];
  return await change.commit({
    parent: change.start,
    author: { name: author.login, email: forge.mailOf(author, api) },
    at: Math.floor(clock.now() / 1000) * 1000,
    message: commitMessage({ message, trailers }),
  });
}

/** A change of which a message is made. */
export interface QueuedCommit {
  readonly change: CheckedChange;
  readonly commit: string;
  readonly judged: JudgedChange;
}

/** Stores a message with its commit; returns what the caller hears of it. */
export async function queueCommit(
  draft: Draft,
  { change, commit, judged }: QueuedCommit,
  { outbox }: ChangeHost,
) {
  const pack: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of change.pack(commit)) pack.push(piece);
  const content = { pack, patch: piecesOf(judged.patch) };
  const [id = ""] = await outbox.enqueue([{
    ...draft,
    content,
    ...defined({ held: judged.held }),
  }]);
  return {
    ...queuedAs(draft, id, judged.held),
    sha: commit,
    files: judged.files,
    added: judged.added,
    removed: judged.removed,
  };
}

/** Stores a message without a commit; returns what the caller hears of it. */
export async function queueText(
  draft: Draft,
  { forge, limits: { hold }, task: { workflow } }: ChangePlace<"pull">,
  { outbox }: ChangeHost,
) {
  const held = hold === "always"
    ? `may.${forge.name}.pull of Workflow "${workflow}" holds every change`
    : undefined;
  const [id = ""] = await outbox.enqueue([{ ...draft, ...defined({ held }) }]);
  return queuedAs(draft, id, held);
}

const PIECE = 1024 * 1024;

/** The parts of some bytes, each with memory of its own: the store takes it over. */
function piecesOf(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
  const count = Math.ceil(bytes.length / PIECE);
  return Array.from({ length: count }, (_, at) => bytes.slice(at * PIECE, (at + 1) * PIECE));
}

/**
 * Checks the key of a pull.
 *
 * @throws {AppError} `invalid`.
 */
export function checkKey(key: string, { pull }: ForgeWords): void {
  if (ANSWER_KEY.test(key)) return;
  const form = "letters, digits, and . _ / - after the first, at most 253";
  throw new AppError("invalid", `"${key}" cannot be the key of a ${pull}: use ${form}`);
}
