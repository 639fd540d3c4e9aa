/**
 * Takes an event from GitHub's log of deliveries instead of a request, through the same pipeline, for
 * every trigger of its endpoint.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { ActiveTrigger } from "./admission/triggers.ts";
import { authenticate, type AuthenticateHost } from "./pipeline/authenticate.ts";
import { type AuthenticatedDelivery, vouchedBy } from "./pipeline/authenticated_delivery.ts";
import { decideForAll } from "./pipeline/decide_for_all.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import { body as bodyOf, type PipelineMode, SIGNED_REQUEST } from "./pipeline/pipeline.ts";
import { matchTriggers, recordForAll, type WebhookHost } from "./webhook.ts";

/** An event of the log. */
export interface PulledEvent {
  readonly project: string;
  readonly endpoint: string;
  /** Name of the Connection whose token read it. */
  readonly connection: string;
  /** Headers of its request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Takes an event; it is on disk when the promise resolves. An event that is refused for good is
 * recorded as rejected.
 *
 * @throws {AppError} `overloaded`, `rate_limited` or `internal` if a later try may succeed;
 * `not_found` if no trigger has the endpoint.
 */
export async function takePulled(
  { project, endpoint, connection, headers, body }: PulledEvent,
  host: WebhookHost,
): Promise<void> {
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote: "" });
  const bytes = utf8(body);
  context.cameWith(headers);
  context.bodyBytes = bytes.length;
  const received: ReceivedDelivery = { method: "POST", body: bytes, headers, url: "", context };
  const receivers = host.triggers.at({ project, trigger: endpoint });
  try {
    const first = matchTriggers(receivers, context);
    if (bytes.length > host.limits.maxBytes) {
      throw new AppError("too_large", `The body has more than ${host.limits.maxBytes} bytes`);
    }
    const decision = await decideForAll(received, first, modeOf(connection), host);
    if (decision.handshake === undefined) await recordForAll(received, decision.all, host);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (TEMPORARY.has(error.code)) throw error;
    const reason = error.reason || error.message;
    const end = { outcome: "rejected", status: error.status, reason } as const;
    for (const own of context.each(host.newId)) {
      host.rejections.add(own.toDelivery(end), { ...received, context: own });
    }
  }
}

/** Codes of refusals that may be gone in a minute. */
const TEMPORARY: ReadonlySet<string> = new Set(["overloaded", "rate_limited", "internal"]);

function modeOf(connection: string): PipelineMode {
  return {
    authenticate: (delivery, trigger, host) =>
      signedOrVouched(delivery, { trigger, connection, host }),
    body: bodyOf,
    findHandshake: SIGNED_REQUEST.findHandshake,
  };
}

/**
 * The log mostly has the bytes that were signed. If it writes them in another way, the API vouches for
 * them, unless the trigger demands more of a sender than a signature.
 */
async function signedOrVouched(
  delivery: ReceivedDelivery,
  { trigger, connection, host }: {
    readonly trigger: ActiveTrigger;
    readonly connection: string;
    readonly host: AuthenticateHost;
  },
): Promise<AuthenticatedDelivery> {
  const { allowFrom, crdRef, secret } = trigger.webhook;
  const isPlain = allowFrom === undefined && crdRef === undefined && secret !== undefined;
  try {
    return await authenticate(delivery, trigger, host);
  } catch (error) {
    if (!isPlain || !(error instanceof AppError) || error.code !== "unauthorized") throw error;
    return vouchedBy(connection)(delivery);
  }
}
