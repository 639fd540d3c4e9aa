/**
 * The handlers of the operations that make issues, labels and reviews for a task.
 *
 * @module
 */

import type { Input, Output } from "../api/operations.ts";
import type { Queued } from "../api/answer_operations.ts";
import type { OUTPUT_OPERATIONS } from "../api/output_operations.ts";
import type { Caller } from "../auth/caller.ts";
import type { WallClock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { type ForgeName, ofForge } from "../base/forge_names.ts";
import {
  issueDraft,
  labelDrafts,
  type OutputAddress,
  outputAddressOf,
  reviewDraft,
} from "../outbox/output_drafts.ts";
import type { Draft } from "../outbox/message_kind.ts";
import type { AnswerSources } from "../outbox/origin.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { refuseLeaks } from "../outputs/leaks.ts";
import { limitsFor, type LimitsOf, type OutputLimits } from "../outputs/may_rules.ts";
import type { OutputName } from "../resources/may.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import { type AskedOf, heldBy, outputAsked } from "./outputs/output_asked.ts";
import { queuedAs, threadOf } from "./outputs/queued.ts";
import { findTask } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The sources of outputs, the secrets that none may have, and the outbox that sends them. */
export interface OutputsHost extends AnswerSources {
  readonly outbox: Outbox;
  readonly secrets: KnownSecrets;
  readonly clock: WallClock;
}

/** The handlers, by name of the operation. */
export function outputHandlers(
  host: OutputsHost,
): Pick<Handlers, keyof typeof OUTPUT_OPERATIONS> {
  return {
    ...ofForge("github", handlersAt("github", host)),
    ...ofForge("gitlab", handlersAt("gitlab", host)),
  };
}

/** The handlers of one forge. */
function handlersAt(forge: ForgeName, host: OutputsHost) {
  return {
    issue_create: (input: Input<"github.issue_create">, caller: Caller) =>
      createIssue({ forge, input, caller }, host),
    label: (input: Input<"github.label">, caller: Caller) => label({ forge, input, caller }, host),
    review: (input: Input<"github.review">, caller: Caller) =>
      review({ forge, input, caller }, host),
  };
}

async function createIssue(
  given: AskedOf<Input<"github.issue_create">>,
  host: OutputsHost,
): Promise<Output<"github.issue_create">> {
  const { title, body, key, labels = [] } = given.input;
  const { limits, address } = await ask("issue", given, host);
  refuseLeaks({ title, body, key: key ?? "", ...numbered("label", labels) }, host);
  const draft = issueDraft(address, { title, text: body, key, labels }, limits);
  const [queued] = await queue([draft], { ...given, output: "issue", limits }, host);
  return { ...queued, title: String(draft.body["title"]) };
}

async function label(
  given: AskedOf<Input<"github.label">>,
  host: OutputsHost,
): Promise<Output<"github.label">> {
  const { add = [], remove = [] } = given.input;
  const { limits, address } = await ask("label", given, host);
  refuseLeaks(numbered("label", [...add, ...remove]), host);
  const drafts = labelDrafts(address, { add, remove }, limits);
  const [queued, ids] = await queue(drafts, { ...given, output: "label", limits }, host);
  return { ...threadOf(address.subject), ...queued, outbox_ids: ids };
}

async function review(
  given: AskedOf<Input<"github.review">>,
  host: OutputsHost,
): Promise<Output<"github.review">> {
  const { body, key, event = "comment", comments = [] } = given.input;
  const { limits, address } = await ask("review", given, host);
  refuseLeaks({
    body,
    key: key ?? "",
    ...numbered("path of comment", comments.map(({ path }) => path)),
    ...numbered("body of comment", comments.map(({ body }) => body)),
  }, host);
  const draft = reviewDraft(address, {
    text: body,
    key: key ?? address.trigger,
    event,
    comments: comments.map(({ path, line, side = "RIGHT", start_line: startLine, body }) => ({
      path,
      line,
      side,
      ...defined({ startLine: startLine === line ? undefined : startLine }),
      text: body,
    })),
  }, limits);
  const [queued] = await queue([draft], { ...given, output: "review", limits }, host);
  return { ...threadOf(address.subject), ...queued };
}

/** Texts by their names in a refusal: `label 1`. */
function numbered(name: string, texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(texts.map((text, at) => [`${name} ${at + 1}`, text]));
}

/**
 * What a task may do of an output, and where it goes.
 *
 * @throws {AppError} `refused` where it may not, or there is no place for it.
 */
async function ask<Name extends "issue" | "label" | "review">(
  output: Name,
  { forge, input, caller }: AskedOf<{ readonly task: string }>,
  host: OutputsHost,
): Promise<{ readonly limits: LimitsOf[Name]; readonly address: OutputAddress }> {
  const task = await findTask(input.task, host.store);
  const asked = await outputAsked(task, { forge, caller }, host.store);
  const limits = limitsFor(output, asked);
  const named = "repository" in limits ? limits.repository : undefined;
  const address = await outputAddressOf(task, { forge, named }, host);
  return { limits: limitsFor(output, { ...asked, connection: address.connection }), address };
}

async function queue(
  drafts: readonly Draft[],
  { forge, output, limits }: {
    readonly forge: ForgeName;
    readonly output: OutputName;
    readonly limits: OutputLimits;
  },
  { outbox }: OutputsHost,
): Promise<readonly [Queued, readonly string[]]> {
  const held = heldBy({ forge, output }, limits);
  const ids = await outbox.enqueue(drafts.map((draft) => ({ ...draft, ...defined({ held }) })));
  const [draft] = drafts;
  if (draft === undefined) throw new Error(`Nothing is asked for of ${output}`);
  return [queuedAs(draft, ids[0] ?? "", held), ids];
}
