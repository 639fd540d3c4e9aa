/**
 * Kind `Notification`: the events of a project that people are notified of, and where.
 *
 * @module
 */

import Type from "typebox";
import { findDurationSecs } from "../base/duration.ts";
import { Glob } from "../base/glob.ts";
import { messageOf } from "../base/errors.ts";
import { FromSecret } from "./env.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import { SlackChannel } from "./slack_channel.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { Duration } from "./timeout.ts";

const CLOSED = { additionalProperties: false };

/** The kinds of events that a Notification can be about. */
export const NOTICE_KINDS = [
  "task.failed",
  "task.recovered",
  "gap.lost",
  "connection.broken",
  "answer.failed",
  "answer.held",
  "loop.cut",
  "approval.asked",
  "approval.overdue",
  "budget.near",
  "budget.reached",
  "plugin.failed",
  "daemon.degraded",
] as const;
/** One of {@linkcode NOTICE_KINDS}. */
export type NoticeKind = typeof NOTICE_KINDS[number];

const GlobText = Type.String({
  minLength: 1,
  maxLength: 256,
  title: "a glob, such as github-*",
});

const HttpUrl = Type.String({ pattern: "^https?://[^\\s/?#]+\\S*$", title: "an http(s) URL" });

const Webhook = Type.Object({
  url: Type.Union([HttpUrl, FromSecret], {
    title: "an http(s) URL, or {fromSecret: {store: NAME, key: KEY}}",
  }),
  format: Type.Optional(Type.Enum(["json", "text"])),
  secret: Type.Optional(FromSecret),
}, CLOSED);

const Address = Type.String({
  pattern: "^(?:[^<>\\r\\n]{0,100}<)?[^\\s<>@,]{1,64}@[^\\s<>@,]{1,255}>?$",
  title: "an e-mail address",
});

const Email = Type.Object({
  server: Type.String({
    pattern: "^smtps?://[^\\s/?#@]+$",
    title: "smtp://HOST:PORT or smtps://HOST:PORT, without a user",
  }),
  user: Type.Optional(Type.String({ minLength: 1 })),
  password: Type.Optional(FromSecret),
  from: Address,
  to: Type.Array(Address, { minItems: 1, maxItems: 50, title: "a list of e-mail addresses" }),
}, CLOSED);

const Target = Type.Object({
  webhook: Type.Optional(Webhook),
  slack: Type.Optional(SlackChannel),
  email: Type.Optional(Email),
}, CLOSED);

const NotificationSpec = Type.Object({
  on: Type.Array(Type.Enum([...NOTICE_KINDS]), { minItems: 1, uniqueItems: true }),
  match: Type.Optional(Type.Object({
    trigger: Type.Optional(GlobText),
    workflow: Type.Optional(GlobText),
    connection: Type.Optional(GlobText),
  }, CLOSED)),
  every: Type.Optional(Type.Union([Type.Literal(0), Type.Literal("0"), Duration], {
    title: 'a duration such as "1h", or 0 for each time',
  })),
  to: Type.Array(Target, { minItems: 1, maxItems: 20, title: "a list of targets" }),
}, CLOSED);

/** `spec` of a Notification; each target has exactly one of its blocks. */
export type NotificationSpec = Type.Static<typeof NotificationSpec>;
/** One entry of `to`. */
export type NotificationTarget = Type.Static<typeof Target>;
/** `webhook` of a target. */
export type WebhookTarget = Type.Static<typeof Webhook>;
/** `email` of a target. */
export type EmailTarget = Type.Static<typeof Email>;

/** Default of `every`, in seconds. */
const EVERY_SECS = 3600;

/** The kinds of targets, as their blocks are named. */
export const TARGET_KINDS = ["webhook", "slack", "email"] as const;
/** One of {@linkcode TARGET_KINDS}. */
export type TargetKind = typeof TARGET_KINDS[number];

/** The kind of a target. */
export function kindOfTarget(target: NotificationTarget): TargetKind {
  const named = TARGET_KINDS.find((kind) => target[kind] !== undefined);
  if (named === undefined) throw new Error("A stored target names no block");
  return named;
}

/** Seconds in which one cause makes one message; 0 if each event makes one. */
export function everySecs({ every }: NotificationSpec): number {
  return findDurationSecs(every ?? EVERY_SECS) ?? EVERY_SECS;
}

export const notification: AnyKind = defineKind<NotificationSpec>("Notification", {
  summary: "Tells people what failed: by webhook, in a Slack channel or by e-mail.",
  spec: NotificationSpec,
  checks: [
    ({ match = {} }) =>
      Object.entries(match).flatMap(([field, text]) => checkGlob(text, ["spec", "match", field])),
    ({ to }) => to.flatMap((target, index) => checkTarget(target, ["spec", "to", index])),
  ],
  references: ({ to }) =>
    to.flatMap((target, index) => targetReferences(target, ["spec", "to", index])),
  columns: [
    { header: "ON", fit: "text", cell: ({ spec }) => spec.on.join(",") },
    { header: "TO", fit: "text", cell: ({ spec }) => spec.to.map(kindOfTarget).join(",") },
  ],
});

function checkGlob(text: string, at: FieldPath): Finding[] {
  try {
    new Glob(text);
    return [];
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}

function checkTarget(target: NotificationTarget, at: FieldPath): Finding[] {
  const named = TARGET_KINDS.filter((kind) => target[kind] !== undefined);
  if (named.length !== 1) {
    const found = named.length === 0 ? "found none" : `found ${named.join(" and ")}`;
    return [errorAt(at, `A target is one of ${TARGET_KINDS.join(", ")}: ${found}`)];
  }
  const { webhook, email } = target;
  return [
    ...webhook === undefined ? [] : checkWebhook(webhook, [...at, "webhook"]),
    ...email === undefined ? [] : checkEmail(email, [...at, "email"]),
  ];
}

function checkWebhook({ url }: WebhookTarget, at: FieldPath): Finding[] {
  if (typeof url !== "string") return [];
  const parsed = URL.parse(url);
  if (parsed === null) return [errorAt([...at, "url"], "svc cannot post to this URL")];
  if (parsed.username !== "" || parsed.password !== "") {
    const message = "svc does not send a user in a URL: use a token in the query, from a " +
      "SecretStore";
    return [errorAt([...at, "url"], message)];
  }
  return [];
}

function checkEmail({ server, user, password }: EmailTarget, at: FieldPath): Finding[] {
  if ((user === undefined) !== (password === undefined)) {
    const field = user === undefined ? "user" : "password";
    return [
      errorAt(at, `A user needs a password and a password needs a user: "${field}" is missing`),
    ];
  }
  if (URL.parse(server) === null) return [errorAt([...at, "server"], "This names no server")];
  if (user !== undefined && server.startsWith("smtp:") && mayBePlain(server)) {
    return [warningAt([...at, "server"], "The password goes to this machine unencrypted")];
  }
  return [];
}

/** Whether mail may go to a server without TLS: only to a server on this machine. */
export function mayBePlain(server: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(URL.parse(server)?.hostname ?? "");
}

function targetReferences({ webhook, slack, email }: NotificationTarget, at: FieldPath) {
  const secrets = [
    [["webhook", "url"], typeof webhook?.url === "string" ? undefined : webhook?.url],
    [["webhook", "secret"], webhook?.secret],
    [["email", "password"], email?.password],
  ] as const;
  const references: Reference[] = secrets.flatMap(([path, from]) =>
    from === undefined ? [] : [{
      kind: "SecretStore",
      name: from.fromSecret.store,
      secretKey: from.fromSecret.key,
      path: [...at, ...path, "fromSecret", "store"],
      consequence: "svc sends nothing there",
    }]
  );
  if (slack === undefined) return references;
  return [...references, {
    kind: "Connection",
    name: slack.connection,
    path: [...at, "slack", "connection"],
    consequence: "svc sends nothing there",
  }];
}
