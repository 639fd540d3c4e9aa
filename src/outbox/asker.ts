/**
 * The person whose event started a task.
 *
 * @module
 */

import { isJsonObject } from "../base/json.ts";

/** The sender of an event. */
export interface Asker {
  /** Empty if it is none that GitHub gives. */
  readonly login: string;
  readonly id: string;
  readonly isBot: boolean;
}

/** Logins at GitHub; in the payload of an event stands what its sender wrote. */
const LOGIN = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?(?:\[bot\])?$/;

/** Who caused an event; `undefined` if it does not say. */
export function askerOf(payload: unknown): Asker | undefined {
  const sender = isJsonObject(payload) ? payload["sender"] : undefined;
  if (!isJsonObject(sender)) return undefined;
  const { login, id, type } = sender;
  if (typeof login !== "string" || typeof id !== "number") return undefined;
  const isBot = type !== undefined && type !== "User" || login.endsWith("[bot]");
  return { login: LOGIN.test(login) ? login : "", id: String(id), isBot };
}
