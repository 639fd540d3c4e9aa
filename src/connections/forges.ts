/**
 * The forges, and what a payload of any of them says.
 *
 * @module
 */

import type { ForgeName } from "../base/forge_names.ts";
import type { Asker, Forge, ForgeSubject, NewComment } from "./api/forge.ts";
import { GITHUB } from "./github/forge.ts";
import { GITLAB } from "./gitlab/forge.ts";

/** REGISTRY of the forges. */
export const FORGES_BY_NAME: Readonly<Record<ForgeName, Forge>> = {
  github: GITHUB,
  gitlab: GITLAB,
};
const ALL = Object.values(FORGES_BY_NAME);

/** What the event of a payload is about; `undefined` for a payload of no forge, or of two. */
export function findSubject(payload: unknown): ForgeSubject | undefined {
  return only(ALL.flatMap((forge) => forge.findSubject(payload) ?? []));
}

/** Who caused the event of a payload; `undefined` if it does not say. */
export function findAsker(payload: unknown): Asker | undefined {
  return only(ALL.flatMap((forge) => forge.findAsker(payload) ?? []));
}

/** The new comment of a person that a payload is about; `undefined` if it is about anything else. */
export function findNewComment(
  payload: unknown,
): (NewComment & { readonly forge: ForgeName }) | undefined {
  return only(ALL.flatMap((forge) => {
    const comment = forge.findNewComment(payload);
    return comment === undefined ? [] : { ...comment, forge: forge.name };
  }));
}

/** A payload that two forges can read is of none: what it is about would depend on who reads it. */
function only<Value>(found: readonly Value[]): Value | undefined {
  return found.length === 1 ? found[0] : undefined;
}
