/**
 * `svc trigger send`: signs a request as the sender of a trigger would, and has the daemon receive
 * it at its own address. It is signed here, so that an operator needs no secret to try a trigger.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { askedBy, type Caller, maySeeSecrets } from "../../auth/caller.ts";
import type { AskedBy } from "../../base/asked_by.ts";
import { AppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import type { Clock } from "../../base/clock.ts";
import { post, type PostAnswer } from "../../http/send.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import type { ActiveTrigger, Triggers } from "../../intake/admission/triggers.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import { lowerCase, missingHeaders } from "../../intake/tools/headers.ts";
import {
  bodyOf,
  type MadeRequestHost,
  makeRequestTo,
  type RequestToTrigger,
} from "../../intake/tools/made_request.ts";

/** The triggers of a daemon, the keys that sign for them, and its own webhook server. */
export interface SendHost extends MadeRequestHost, AuditLog {
  readonly triggers: Triggers;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly secrets: KnownSecrets;
  /** The daemon's webhook address, where it has one. */
  readonly status: () => { readonly webhookUrl: string | undefined };
  /** Answers a request as if it had arrived at that address, and records who had svc sign it. */
  readonly receiveOwn: (request: Request, by: AskedBy) => Promise<Response>;
}

/**
 * Sends a signed request to a trigger.
 *
 * @throws {AppError} `forbidden` for another address by a caller who may not read the secret, which
 * some schemes send as it is; `refused` when the trigger takes no requests, or nothing answers;
 * what {@linkcode makeRequestTo} throws.
 */
export async function sendToTrigger(
  input: Input<"trigger.send">,
  caller: Caller,
  host: SendHost,
): Promise<Output<"trigger.send">> {
  const trigger = webhookTrigger(input, host.triggers);
  if (input.url !== undefined) {
    if (!maySeeSecrets(caller, trigger.resource.project)) {
      throw new AppError(
        "forbidden",
        "Sending signed requests to another address needs the role admin",
      );
    }
  }
  const targets = input.url === undefined ? [] : [host.secrets.redact(input.url)];
  return await host.audited(
    { operation: "trigger.send", targets, caller },
    () => send(input, { trigger, by: askedBy(caller) }, host),
  );
}

async function send(
  input: Input<"trigger.send">,
  { trigger, by }: { readonly trigger: ActiveTrigger; readonly by: AskedBy },
  host: SendHost,
): Promise<Output<"trigger.send">> {
  const body = bodyOf(input.body);
  const { url, headers, key } = await make(input, { trigger, body }, host);
  const answered = input.url === undefined
    ? await toOwn(new Request(url, { method: "POST", headers, body }), by, host)
    : await post(url, { headers, body }, host.clock);
  const has = lowerCase(headers);
  const { condition = "" } = trigger.resource.spec.event.filter ?? {};
  const missing = missingHeaders(condition, has);
  return { url, key: key ?? null, ...answered, missing_headers: missing };
}

/**
 * The request that {@linkcode sendToTrigger} would send.
 *
 * @throws {AppError} as {@linkcode sendToTrigger}; `overloaded` when it cannot be audited.
 */
export async function signForTrigger(
  input: Input<"trigger.sign">,
  caller: Caller,
  host: SendHost,
): Promise<Output<"trigger.sign">> {
  const trigger = webhookTrigger(input, host.triggers);
  const targets = [`trigger/${trigger.resource.name}`];
  const made = await host.audited(
    { operation: "trigger.sign", targets, caller },
    () => make(input, { trigger, body: bodyOf(input.body) }, host),
  );
  return { url: made.url, headers: made.headers, key: made.key ?? null };
}

function webhookTrigger(
  { name, project = DEFAULT_PROJECT }: Pick<Input<"trigger.send">, "name" | "project">,
  triggers: Triggers,
): ActiveTrigger {
  const trigger = triggers.named({ project, trigger: name });
  const { source } = trigger.resource.spec.event;
  if (source === "webhook") return trigger;
  const message = `Trigger "${name}" takes no requests, its source is ${source}`;
  throw new AppError("refused", `${message}: svc trigger fire ${name}`);
}

async function make(
  { url, headers = {}, event, key }: Input<"trigger.send">,
  { trigger, body }: { readonly trigger: ActiveTrigger; readonly body: Uint8Array<ArrayBuffer> },
  host: SendHost,
): Promise<RequestToTrigger> {
  if (url !== undefined && !/^https?:\/\/[^\s/]+\S*$/i.test(url)) {
    throw new AppError("usage", "The address must be an http or https URL");
  }
  const target = url ?? ownAddress(trigger, host);
  const id = host.newId();
  const now = host.clock.now();
  return await makeRequestTo(trigger, { body, url: target, now, id, headers, event, key }, host);
}

async function toOwn(request: Request, by: AskedBy, host: SendHost): Promise<PostAnswer> {
  const response = await host.receiveOwn(request, by);
  return { status: response.status, answer: await response.text() };
}

function ownAddress({ resource }: ActiveTrigger, host: SendHost): string {
  const { webhookUrl } = host.status();
  if (webhookUrl !== undefined) {
    return webhookUrl + webhookPath(resource);
  }
  const message = `The daemon receives no webhooks: svc trigger test ${resource.name} needs none`;
  throw new AppError("refused", message);
}
