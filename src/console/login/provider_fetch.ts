/**
 * How the packages that speak with providers reach them: through the door of svc for other servers. No
 * redirect is followed, an answer is short, and a provider that is slow does not keep a login forever.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { send } from "../../http/send.ts";

/** How long a provider may take for one answer. */
const TIMEOUT_MS = 10_000;
/** Sets of keys and descriptions of providers have a few kilobytes. */
const MAX_BYTES = 256 * 1024;

/** What the packages ask with: the part of `fetch` that they use. */
export type ProviderFetch = (
  url: string,
  options: {
    readonly method?: string | undefined;
    readonly headers?: Headers | Record<string, string> | undefined;
    readonly body?: unknown;
  },
) => Promise<Response>;

/** A `fetch` over the door. It rejects with an {@linkcode AppError} `unreachable`. */
export function providerFetch(clock: Clock): ProviderFetch {
  return async (url, { method = "GET", headers = {}, body }) => {
    const answer = await send(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    }, clock);
    if (!answer.answered) throw away(answer.message);
    if (answer.cut) throw away(`its answer has more than ${MAX_BYTES} bytes`);
    const hasBody = ![204, 205, 304].includes(answer.status);
    const { status, headers: answered } = answer;
    return new Response(hasBody ? answer.text : null, { status, headers: answered });
  };
}

/** The refusal while a provider cannot be asked: who is in stays in. */
export function away(reason: string, cause?: unknown): AppError {
  const message = "The login provider does not answer as it should: try again in a moment";
  return new AppError("unreachable", message, { reason, cause });
}

/** The refusal of what a provider, or somebody in its place, has said. */
export function notBelieved(reason: string, cause?: unknown): AppError {
  return new AppError("unauthorized", "The login was refused: log in again", { reason, cause });
}
