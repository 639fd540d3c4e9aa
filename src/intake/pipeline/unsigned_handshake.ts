/**
 * Handshakes that a platform does not sign. They are answered only for a trigger of that platform, and
 * start nothing.
 *
 * @module
 */

import { unauthorized } from "../../base/errors.ts";
import { findParameter } from "../../base/form.ts";
import type { Handshake } from "../../platforms/platform.ts";
import { senderOf } from "./signing.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { AuthenticateHost } from "./authenticate.ts";
import { findStore, signingKeys } from "./signing_keys.ts";
import { checkAddress } from "./check_origin.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";

/**
 * The answer to an unsigned handshake; `undefined` for any other request.
 *
 * @throws {AppError} `unauthorized` if the platform authenticates its handshakes and this one fails,
 * or its address may not send.
 */
export function findUnsigned(
  { method, body, headers, url, context }: ReceivedDelivery,
  trigger: ActiveTrigger,
  { catalog }: Pick<AuthenticateHost, "catalog">,
): Handshake | undefined {
  const { webhook } = trigger;
  const { platform, signing } = senderOf(trigger);
  const unsigned = platform?.unsignedHandshake;
  if (unsigned?.method !== method) return undefined;
  const store = findStore(trigger, catalog);
  const answer = unsigned.answer({
    body,
    header: (name) => Object.hasOwn(headers, name) ? headers[name] : undefined,
    signatureHeader: signing.options.signatureHeader,
    query: (name) => findParameter(url, name),
  }, store === undefined ? [] : signingKeys(store));
  if (answer === undefined) return undefined;
  context.handshakeMethod = method;
  checkAddress(webhook, context.remote);
  if ("refused" in answer) throw unauthorized(answer.refused);
  return answer;
}
