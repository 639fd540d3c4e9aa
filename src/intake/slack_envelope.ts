/**
 * Takes an envelope of Slack's Socket Mode like a request to `/source/slack/{project}/{trigger}`, once
 * for each trigger of its endpoint: it is on disk before it is acknowledged, and routed afterwards.
 * The token of a Connection opened the socket, and vouches for its envelopes.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { Envelope } from "../connections/slack/frames.ts";
import type { Connection } from "../connections/find_connection.ts";
import { platformOf } from "../platforms/platforms.ts";
import type { WebhookSpec } from "../resources/event_webhook.ts";
import type { ActiveTrigger, Triggers } from "./admission/triggers.ts";
import type { AuthenticateHost } from "./pipeline/authenticate.ts";
import { vouchedBy } from "./pipeline/authenticated_delivery.ts";
import { DeliveryContext } from "./pipeline/delivery_context.ts";
import { read } from "./pipeline/pipeline.ts";
import { MAX_BODY_BYTES, NO_CHOICES, type SlackHost, storeEvent } from "./slack.ts";
import { asksForChoices } from "./slack/interaction.ts";

/** The state of the daemon that stores envelopes. */
export interface EnvelopeHost
  extends
    AuthenticateHost,
    Pick<SlackHost, "store" | "keyUses" | "newId" | "clock" | "rejections" | "triggers"> {}

/** The `source` of deliveries that came over a socket. */
export const SOCKET_SOURCE = "slack-socket";

/**
 * The triggers that get the events of a Connection.
 *
 * @throws {AppError} `refused` if there are none, or one of them takes nothing from a socket.
 */
export function receiversOf(
  { project, name, spec }: Connection,
  triggers: Triggers,
): readonly ActiveTrigger[] {
  const endpoint = spec.slack?.endpoint ?? "";
  const receivers = triggers.findAt({ project, trigger: endpoint });
  if (receivers === undefined) {
    const message =
      `No Trigger of project "${project}" has the endpoint "${endpoint}" of Connection ` +
      `"${name}": install the package with svc integration install slack, or name another endpoint`;
    throw new AppError("refused", message);
  }
  if (receivers.fault !== undefined) throw new AppError("refused", receivers.fault);
  const all = [receivers.first, ...receivers.others];
  for (const { resource, webhook } of all) {
    const why = whyNotBySocket(webhook);
    if (why === undefined) continue;
    const message = `Trigger "${resource.name}" at the endpoint "${endpoint}" ${why}`;
    throw new AppError("refused", message);
  }
  return all;
}

/** The demand of a trigger that a socket cannot meet, as the end of a sentence. */
function whyNotBySocket({ crdRef, allowFrom, scheme = "auto", signatureHeader }: WebhookSpec) {
  if (crdRef !== undefined) return "has a crdRef, which is for requests only: use another endpoint";
  if (allowFrom !== undefined) {
    return "has allowFrom, and a socket has no address: use another endpoint, or remove allowFrom";
  }
  const isNamed = scheme !== "auto" || signatureHeader !== undefined;
  const isSlack = !isNamed || platformOf(scheme, signatureHeader)?.name === "slack";
  return isSlack ? undefined : "is not for Slack: use another endpoint";
}

/**
 * Stores an envelope for each of the triggers; it is on disk when the promise resolves. An envelope
 * may come again after some triggers have stored it: its `event_id` makes it a duplicate there.
 *
 * @returns The payload of the acknowledgement; `undefined` for none.
 * @throws {AppError} if it is not stored for all of them.
 */
export async function storeEnvelope(
  envelope: Envelope,
  connection: Connection,
  host: EnvelopeHost,
): Promise<unknown> {
  let answer: unknown;
  for (const trigger of receiversOf(connection, host.triggers)) {
    answer = await storeFor(trigger, { envelope, connection }, host);
  }
  return answer;
}

async function storeFor(
  trigger: ActiveTrigger,
  { envelope, connection }: { envelope: Envelope; connection: Connection },
  host: EnvelopeHost,
): Promise<unknown> {
  const { id, type, payload, retry } = envelope;
  const context = new DeliveryContext({
    id: host.newId(),
    clock: host.clock,
    remote: "",
    source: SOCKET_SOURCE,
    via: "chat",
  });
  context.trigger = trigger;
  const headers = headersOf({ id, type, retry });
  const body = utf8(payload);
  context.cameWith(headers);
  context.bodyBytes = body.length;
  const received = { method: "POST", body, headers, url: "", context };
  try {
    if (body.length > MAX_BODY_BYTES) {
      throw new AppError("too_large", `The payload has more than ${MAX_BODY_BYTES} bytes`);
    }
    const mode = { authenticate: vouchedBy(connection.name), findHandshake: () => undefined };
    const result = await read(received, trigger, mode, host);
    if (result.handshake !== undefined) throw new Error("A socket has no handshake");
    const stored = await storeEvent(result.parsed, host);
    return asksForChoices(stored.payload) ? NO_CHOICES : undefined;
  } catch (thrown) {
    const error = toAppError(thrown);
    const reason = error.reason || error.message;
    const end = { outcome: "rejected", status: error.status, reason } as const;
    host.rejections.add(context.toDelivery(end), received);
    throw error;
  }
}

/** The headers that the request would have had. */
function headersOf({ id, type, retry }: Pick<Envelope, "id" | "type" | "retry">) {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "x-slack-envelope-id": id,
    "x-slack-envelope-type": type.replaceAll(/[^!-~]/g, "?").slice(0, 80),
  };
  if (retry.attempt !== undefined) headers["x-slack-retry-num"] = retry.attempt;
  if (retry.reason !== undefined) headers["x-slack-retry-reason"] = retry.reason;
  return headers;
}
