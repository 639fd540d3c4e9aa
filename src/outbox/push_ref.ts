/**
 * A commit of a message onto its branch at a forge.
 *
 * @module
 */

import { pushRef } from "../git/smart_http.ts";
import { apiUrlOf } from "../resources/connection.ts";
import type { ForgeSending } from "./forge_access.ts";
import type { NotSent } from "./message_kind.ts";

/** What came of a push: another look is worth while if the branch has moved. */
export type Pushed =
  | { readonly result: "done" | "moved" }
  | { readonly result: "not"; readonly notSent: NotSent };

/** Pushes the pack of a message; the branch has to be `old` before. */
export async function pushCommit(
  sending: ForgeSending,
  { branch, old, commit }: {
    readonly branch: string;
    readonly old: string;
    readonly commit: string;
  },
): Promise<Pushed> {
  const { connection, forge, repository, token, host, message, wrote } = sending;
  const remote = forge.gitRemote(apiUrlOf(connection.spec), repository, await token());
  wrote();
  const pack = host.readContent(message.id, "pack");
  const pushed = await pushRef(
    { ...remote, signal: host.signal },
    { ref: `refs/heads/${branch}`, old, new: commit, pack },
    host.clock,
  );
  if (pushed.result === "done" || pushed.result === "moved") return { result: pushed.result };
  const { result, reason, mayHaveArrived, afterSecs } = pushed;
  if (result === "refused") return { result: "not", notSent: { result, reason, mayHaveArrived } };
  const pause = afterSecs === undefined ? {} : { afterSecs };
  return { result: "not", notSent: { result, reason, mayHaveArrived, ...pause } };
}
