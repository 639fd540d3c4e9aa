/**
 * What every forge answers alike about a repository, and how it is read.
 *
 * @module
 */

import { type JsonObject, objectIn, textIn } from "../../base/json.ts";
import {
  type Asker,
  type CheckedText,
  type ForgeUser,
  mustBeOk,
  type RepositoryFacts,
  type RepositoryHost,
} from "./forge.ts";
import { timeOf } from "./rest_client.ts";

type Call = RepositoryHost["call"];

/** The facts of the repository with this path in the API. */
export async function readFacts(repository: string, call: Call): Promise<RepositoryFacts> {
  const { data, headers } = mustBeOk(await call({ path: repository }));
  const facts = objectIn(data);
  const at = timeOf(headers);
  return {
    defaultBranch: textIn(facts["default_branch"]),
    isArchived: facts["archived"] === true,
    ...at === undefined ? {} : { at },
  };
}

/** A text as it is now; `undefined` if it is gone. */
export async function readText(
  { path, field }: CheckedText,
  { repository, call }: { readonly repository: string; readonly call: Call },
): Promise<string | undefined> {
  const answer = await call({ path: `${repository}${path}` });
  if (!answer.ok && (answer.status === 404 || answer.status === 410)) return undefined;
  const text = field.reduce<unknown>((at, name) => objectIn(at)[name], mustBeOk(answer).data);
  return typeof text === "string" ? text : undefined;
}

/** Whether a comment is as it was when it was written: a new one has one time for both. */
export function isAsWritten({ created_at: created, updated_at: updated }: JsonObject): boolean {
  return typeof created === "string" && created !== "" && created === updated;
}

/** The user who sent an event or wrote a text. */
export function userOf({ id, login }: Asker): ForgeUser {
  return { userId: id, login };
}

/** The address of a page, which goes to a terminal; empty for anything else. */
export function pageIn(value: unknown): string {
  return typeof value === "string" && /^https?:\/\/[!-~]{1,500}$/.test(value) ? value : "";
}
