/**
 * The kind `email`: a mail over SMTP to the addresses of a Notification. Unencrypted only to a server
 * on this machine. The library is loaded with the first mail.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { withCertificateAdvice } from "../base/certificate_advice.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { type EmailTarget, mayBePlain } from "../resources/notification.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import { type MessageKind, resultOfError, type SendHost, type SendResult } from "./message_kind.ts";
import { secretOf, targetOf } from "./notification_target.ts";

/** Longest times until a server is connected, greets and answers. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** The kind `email`. Mail programs tell a repetition by its id. */
export const email: MessageKind = {
  name: "email",
  again: "harmless",
  way({ project, target }, catalog) {
    const { email: to } = targetOf({ project, target }, catalog);
    if (to?.password !== undefined) secretOf(project, to.password, catalog);
    return "";
  },
  rates: [{ most: 1, perMs: 1000 }],
  async send({ message }, host): Promise<SendResult> {
    try {
      const { email: to } = targetOf(message, host.catalog);
      if (to === undefined) throw new AppError("not_found", "Its target is no longer an e-mail");
      return await sendMail(message, to, host);
    } catch (error) {
      return resultOfError(error);
    }
  },
};

/** Settings of the connection to a server. */
export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Whether the connection is encrypted from the beginning. */
  readonly secure: boolean;
  /** Whether `STARTTLS` has to come first. */
  readonly requireTLS: boolean;
}

/** The settings for the server of a target. */
export function serverOptions(server: string): ServerOptions {
  const { protocol, hostname, port } = new URL(server);
  const secure = protocol === "smtps:";
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && !mayBePlain(server),
  };
}

async function sendMail(
  { id, project, body }: OutboxMessage,
  { server, user, password, from, to }: EmailTarget,
  { catalog, signal }: SendHost,
): Promise<SendResult> {
  const auth = user === undefined || password === undefined
    ? undefined
    : { user, pass: secretOf(project, password, catalog) };
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    ...serverOptions(server),
    ...TIMEOUTS,
    ...defined({ auth }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const close = () => transport.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    const host = from.replace(/>$/, "").split("@").at(-1) ?? "svc";
    await transport.sendMail({
      from,
      to: [...to],
      messageId: `<${id}@${host}>`,
      subject: String(body["title"]).replace(/[\p{Cc}\s]+/gu, " "),
      text: `${body["text"]}\n\n${body["time"]} ${body["kind"]}\n`,
    });
    return { result: "sent", externalId: `<${id}@${host}>` };
  } catch (error) {
    return toSendResult(error, new URL(server).host);
  } finally {
    signal.removeEventListener("abort", close);
    transport.close();
  }
}

/** The result of an error of the library. */
export function toSendResult(error: unknown, server: string): SendResult {
  const { code, responseCode } = error as {
    readonly code?: unknown;
    readonly responseCode?: unknown;
  };
  const said = messageOf(error).replace(/\s+/g, " ").slice(0, 300);
  const reason = `${server}: ${withCertificateAdvice(said)}`;
  // A certificate may be renewed and a server may come back, but it repeats a refusal.
  const isFinal = typeof responseCode === "number"
    ? responseCode >= 500
    : code === "EAUTH" || code === "ETLS" || code === "EENVELOPE";
  return isFinal
    ? { result: "refused", reason }
    : { result: "later", reason, mayHaveArrived: true };
}
