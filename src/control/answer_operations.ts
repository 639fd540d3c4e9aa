/**
 * The handlers of the operations that answer the event of a task at its platform.
 *
 * @module
 */

import type { ANSWER_OPERATIONS } from "../api/answer_operations.ts";
import type { Input, Output } from "../api/operations.ts";
import type { Caller } from "../auth/caller.ts";
import type { WallClock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { type ForgeName, ofForge } from "../base/forge_names.ts";
import {
  addressOf,
  type AnswerAddress,
  checkDraft,
  commentDraft,
  reactionDraft,
  statusDraft,
} from "../outbox/answer_drafts.ts";
import { pushDraft } from "../outbox/line_push.ts";
import type { Draft } from "../outbox/message_kind.ts";
import type { AnswerSources } from "../outbox/origin.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { refuseTokens } from "../outputs/leaks.ts";
import {
  limitsFor,
  type LimitsOf,
  type NamedLimits,
  type OutputLimits,
} from "../outputs/may_rules.ts";
import { matchesAny } from "../outputs/path_rules.ts";
import type { ConnectionSpec } from "../resources/connection.ts";
import type { OutputName } from "../resources/may.ts";
import type { Task } from "../store/task_records.ts";
import { type AskedOf, heldBy, outputAsked } from "./outputs/output_asked.ts";
import { queuedAs, threadOf } from "./outputs/queued.ts";
import { findTask } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The sources of answers, and the outbox that sends them. */
interface AnswersHost extends AnswerSources {
  readonly outbox: Outbox;
  readonly clock: WallClock;
}

/** The handlers, by name of the operation. */
export function answerHandlers(
  host: AnswersHost,
): Pick<Handlers, keyof typeof ANSWER_OPERATIONS> {
  return {
    ...ofForge("github", handlersAt("github", host)),
    ...ofForge("gitlab", handlersAt("gitlab", host)),
    "github.check": (input, caller) => check(input, caller, host),
    "line.push": (input) => push(input, host),
  };
}

/** The handlers of one forge. */
function handlersAt(forge: ForgeName, host: AnswersHost) {
  return {
    comment: (input: Input<"github.comment">, caller: Caller) =>
      comment({ forge, input, caller }, host),
    status: (input: Input<"github.status">, caller: Caller) =>
      status({ forge, input, caller }, host),
    react: (input: Input<"github.react">, caller: Caller) => react({ forge, input, caller }, host),
  };
}

async function comment(
  given: AskedOf<Input<"github.comment">>,
  host: AnswersHost,
): Promise<Output<"github.comment">> {
  const asked = await ask("comment", given, host);
  const { address, task } = asked;
  const { text, key, format = "markdown" } = given.input;
  refuseTokens({ text, key: key ?? "" }, host);
  const draft = commentDraft(address, { text, key: key ?? task.trigger, format });
  return { ...threadOf(address.subject), ...await queue(draft, draft.key, asked, host) };
}

async function status(
  given: AskedOf<Input<"github.status">>,
  host: AnswersHost,
): Promise<Output<"github.status">> {
  const { state, context, description = "", sha } = given.input;
  if (context.trim() === "") throw new AppError("invalid", "A status needs a context");
  const asked = await ask("status", given, host);
  refuseTokens({ context, description }, host);
  refuseName(context, asked);
  const draft = statusDraft(asked.address, { state, context, description, sha });
  return { context, ...await queue(draft, context, asked, host) };
}

async function check(
  input: Input<"github.check">,
  caller: Caller,
  host: AnswersHost,
): Promise<Output<"github.check">> {
  const { task: _task, annotations, ...given } = input;
  const asked = await ask("check", { forge: "github", input, caller }, host);
  const { address, task } = asked;
  const { catalog } = host;
  const connection = catalog.find<ConnectionSpec>("Connection", task.project, address.connection);
  if (connection?.spec.github?.app === undefined) {
    const message =
      `Connection "${address.connection}" has a personal token, and only an app can ` +
      "have check runs: set a status with svc github status, or connect an app with svc connect " +
      "github --app";
    throw new AppError("refused", message);
  }
  const { name, conclusion, status } = given;
  if (status === "completed" && conclusion === undefined) {
    throw new AppError("invalid", "A check that is completed needs a conclusion");
  }
  refuseName(name, asked);
  const { title = "", summary = "" } = given;
  refuseTokens({ name, title, summary, annotations: JSON.stringify(annotations ?? []) }, host);
  const draft = checkDraft(address, {
    ...given,
    annotations: annotations?.map(({ level, end_line: end, ...one }) => ({
      ...one,
      end_line: end ?? one.start_line,
      annotation_level: level,
    })),
  });
  return { name, ...await queue(draft, name, asked, host) };
}

async function react(
  given: AskedOf<Input<"github.react">>,
  host: AnswersHost,
): Promise<Output<"github.react">> {
  const asked = await ask("react", given, host);
  const { content } = given.input;
  return { content, ...await queue(reactionDraft(asked.address, content), content, asked, host) };
}

async function push(
  { task: id, text }: Input<"line.push">,
  host: AnswersHost,
): Promise<Output<"line.push">> {
  refuseTokens({ text }, host);
  const draft = await pushDraft(await findTask(id, host.store), text, host);
  const [outboxId = ""] = await host.outbox.enqueue([draft]);
  return { task_id: draft.taskId, to: String(draft.target["to"]), outbox_id: outboxId };
}

/** An answer that a task may give. */
interface Asked<Name extends OutputName = OutputName> {
  readonly forge: ForgeName;
  readonly output: Name;
  readonly limits: LimitsOf[Name];
  readonly task: Task;
  readonly address: AnswerAddress;
}

/**
 * Looks whether a task may answer in this way, and where.
 *
 * @throws {AppError} `refused` where it may not, or there is no place for it.
 */
async function ask<Name extends "comment" | "status" | "react" | "check">(
  output: Name,
  { forge, input, caller }: AskedOf<{ readonly task: string }>,
  host: AnswersHost,
): Promise<Asked<Name>> {
  const task = await findTask(input.task, host.store);
  const asked = await outputAsked(task, { forge, caller }, host.store);
  limitsFor(output, asked);
  const address = await addressOf(task, forge, host);
  const { catalog } = host;
  const connection = catalog.find<ConnectionSpec>("Connection", task.project, address.connection);
  if (connection === undefined) {
    const message = `Project "${task.project}" has no Connection "${address.connection}"`;
    throw new AppError("refused", message);
  }
  return { forge, output, limits: limitsFor(output, { ...asked, connection }), task, address };
}

/** Refuses a name of a status or a check run that the workflow does not allow. */
function refuseName(
  name: string,
  { forge, output, limits: { names }, task: { workflow } }: Omit<Asked, "limits"> & {
    readonly limits: NamedLimits;
  },
): void {
  if (names === undefined || matchesAny(names, name)) return;
  const message = `may.${forge}.${output}.names of Workflow "${workflow}" allows ` +
    `${names.join(", ")}, and not "${name}"`;
  throw new AppError("refused", message);
}

async function queue(
  draft: Draft,
  unit: string,
  { forge, output, limits }: {
    readonly forge: ForgeName;
    readonly output: OutputName;
    readonly limits: OutputLimits;
  },
  { outbox }: AnswersHost,
) {
  const { max } = limits;
  const held = heldBy({ forge, output }, limits);
  const counted = max === undefined ? undefined : { output, unit, max };
  const [id = ""] = await outbox.enqueue([{ ...draft, ...defined({ held, counted }) }]);
  return queuedAs(draft, id, held);
}
