/**
 * One envelope of Slack's Socket Mode, which goes the way of a request to
 * `/source/slack/{project}/{trigger}`, once for each trigger of its endpoint: on disk before Slack
 * is told, routed afterwards. The socket was opened with the token of a Connection, which vouches for
 * what comes over it.
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

/** What storing envelopes needs. */
export interface EnvelopeHost
  extends
    AuthenticateHost,
    Pick<SlackHost, "store" | "keyUses" | "newId" | "clock" | "rejections" | "triggers"> {}

/** The `source` of deliveries that came through a socket. */
export const SOCKET_SOURCE = "slack-socket";

/**
 * The triggers that get the events of a Connection.
 *
 * @throws {AppError} `refused` when there are none, or one of them takes nothing from a socket.
 */
export function receiversOf(
  { project, name, spec }: Connection,
  triggers: Triggers,
): readonly ActiveTrigger[] {
  const endpoint = spec.slack?.endpoint ?? "";
  const found = triggers.findAt({ project, trigger: endpoint });
  if (found === undefined) {
    const message =
      `No Trigger of project "${project}" has the endpoint "${endpoint}" of Connection ` +
      `"${name}": install the package with svc integration install slack, or name another endpoint`;
    throw new AppError("refused", message);
  }
  if (found.fault !== undefined) throw new AppError("refused", found.fault);
  const all = [found.first, ...found.others];
  for (const { resource, webhook } of all) {
    const why = whyNotBySocket(webhook);
    if (why === undefined) continue;
    const message = `Trigger "${resource.name}" at the endpoint "${endpoint}" ${why}`;
    throw new AppError("refused", message);
  }
  return all;
}

/** What a trigger demands of its senders that no socket can show. */
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
 * Stores an envelope for each of the triggers; on disk when it resolves. What is stored already
 * is known by its `event_id`, so that an envelope may come again after some of it was stored.
 *
 * @returns What is shown to the person who asked; `undefined` where nobody did.
 * @throws {AppError} when it is not stored for all of them.
 */
export async function storeEnvelope(
  envelope: Envelope,
  connection: Connection,
  host: EnvelopeHost,
): Promise<unknown> {
  let shown: unknown;
  for (const trigger of receiversOf(connection, host.triggers)) {
    shown = await storeFor(trigger, { envelope, connection }, host);
  }
  return shown;
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

/** What the headers of the request would have said. */
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
