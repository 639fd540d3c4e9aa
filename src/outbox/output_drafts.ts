/**
 * The issues, labels and reviews that a task asks for, as messages, within the limits of its workflow.
 * The delivery that started the task, or its workflow, says where they go, never a step.
 *
 * @module
 */

import { FORGE_WORDS, type ForgeName } from "../base/forge_names.ts";
import { replaceControls } from "../base/control_characters.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { Glob } from "../base/glob.ts";
import { type Connection, findConnection } from "../connections/find_connection.ts";
import type { ForgeSubject } from "../connections/api/forge.ts";
import { findAsker, findSubject } from "../connections/forges.ts";
import type { LimitsOf } from "../outputs/may_rules.ts";
import type { OutputName } from "../resources/may.ts";
import type { Task } from "../store/task_records.ts";
import { addressOf, refuseOther } from "./answer_drafts.ts";
import { kindName, threadTarget } from "./forge_access.ts";
import { ANSWER_KEY } from "./marker.ts";
import { type Draft, MAX_STORED } from "./message_kind.ts";
import { type AnswerSources, findOrigin, payloadOf } from "./origin.ts";
import { titleOf } from "./pull_text.ts";
import { type ReviewComment, storedComments } from "./review_comments.ts";

/** Where the outputs of a task go. */
export interface OutputAddress {
  readonly task: Task;
  readonly forge: ForgeName;
  readonly connection: Connection;
  readonly repository: string;
  /** The subject of its event, where that is in this repository. */
  readonly subject?: ForgeSubject;
  /** Name of the trigger that names the subject; that of the task where nothing does. */
  readonly trigger: string;
  /** Login of the sender of the event; empty where there is none. */
  readonly asker: string;
}

/** Longest key of an output. */
const MAX_KEY = 100;
/** Longest label that each forge takes. */
const MAX_LABEL: Readonly<Record<ForgeName, number>> = { github: 50, gitlab: 255 };

/**
 * Where the outputs of a task go at a forge: to the repository of its event, or to the one that its
 * workflow names.
 *
 * @throws {AppError} `refused` if there is none, nothing checked who sent the event, or no Connection
 * covers the repository.
 */
export async function outputAddressOf(
  task: Task,
  { forge, named }: { readonly forge: ForgeName; readonly named: string | undefined },
  host: AnswerSources,
): Promise<OutputAddress> {
  if (named === undefined) {
    const { subject, connection, trigger, origin } = await addressOf(task, forge, host);
    const found = host.catalog.find("Connection", task.project, connection) as Connection;
    const { repository } = subject;
    return {
      task,
      forge,
      connection: found,
      repository,
      subject,
      trigger,
      asker: findAsker(payloadOf(origin))?.login ?? "",
    };
  }
  const origin = await findOrigin(task, (payload) => ({ payload }), host.store);
  const payload = origin?.found.payload;
  const subject = findSubject(payload);
  refuseOther(task, subject, forge);
  const isThere = subject?.repository.toLowerCase() === named.toLowerCase();
  const query = { project: task.project, platform: forge, repository: named };
  return {
    task,
    forge,
    connection: findConnection(query, host.catalog),
    repository: named,
    ...defined({ subject: isThere ? subject : undefined }),
    trigger: origin?.task.trigger ?? task.trigger,
    asker: findAsker(payload)?.login ?? "",
  };
}

/** An issue that a task asks for. */
export interface AskedIssue {
  readonly title: string;
  readonly text: string;
  /** Names it among the issues of its workflow; absent for one that is always new. */
  readonly key?: string | undefined;
  readonly labels: readonly string[];
}

/**
 * An issue; the next one of its key renews it while it is open.
 *
 * @throws {AppError} `invalid`; `refused` for a label that the workflow does not allow.
 */
export function issueDraft(
  address: OutputAddress,
  { title, text, key, labels }: AskedIssue,
  limits: LimitsOf["issue"],
): Draft {
  const { task, forge, repository, subject, trigger } = address;
  if (titleOf("", title, forge) === "") {
    throw new AppError("invalid", "The title is empty: say in one line what it is");
  }
  if (text.trim() === "") throw new AppError("invalid", "The body is empty: say what the issue is");
  const asked = labels.map((label) => checkedLabel(label, forge));
  allow(asked, limits.allowLabels, `may.${forge}.issue.allowLabels`);
  const about = aboutOf(subject) ?? `on-${trigger}`;
  const name = key === undefined ? "" : `${task.workflow}/${about}/${checkedKey(key)}`;
  if (name !== "" && !ANSWER_KEY.test(name)) {
    throw new AppError("invalid", `The names of workflow, trigger and key are too long together`);
  }
  return {
    ...draftOf(address, "issue"),
    target: { repository },
    key: name,
    body: {
      ...writtenBy(address),
      title: titleOf(limits.title, title, forge),
      text: text.slice(0, MAX_STORED),
      labels: limits.labels,
      asked,
      open: limits.open,
    },
    counted: { output: "issue", unit: name, max: limits.max },
  };
}

/** Names the issue or pull of an event in keys and branches; `undefined` if it has none. */
export function aboutOf(subject: ForgeSubject | undefined): string | undefined {
  const { number, on } = subject === undefined ? {} : threadTarget(subject) ?? {};
  if (subject === undefined || number === undefined) return undefined;
  const isApart = on !== undefined && on !== "issue";
  return isApart ? `${FORGE_WORDS[subject.forge].pullCommand}-${number}` : `${number}`;
}

/** Labels that a task wants to add and to remove. */
export interface AskedLabels {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/**
 * A message for each label; the last one about a label counts.
 *
 * @throws {AppError} `invalid`; `refused` if the event has no issue or pull, or the workflow
 * does not allow a label.
 */
export function labelDrafts(
  address: OutputAddress,
  { add, remove }: AskedLabels,
  limits: LimitsOf["label"],
): readonly Draft[] {
  const { forge, repository } = address;
  const thread = threadAt(address, `issue or ${FORGE_WORDS[forge].pull} to label`);
  const [added = [], removed = []] = [add, remove].map((labels) =>
    labels.map((label) => checkedLabel(label, forge))
  );
  const both = added.find((label) => removed.some((other) => isSame(label, other)));
  if (both !== undefined) {
    throw new AppError("invalid", `The label "${both}" is to be added and removed: choose one`);
  }
  if (added.length + removed.length === 0) {
    throw new AppError("invalid", "There is no label to add or to remove");
  }
  allow(added, limits.add, `may.${forge}.label.add`);
  allow(removed, limits.remove, `may.${forge}.label.remove`);
  return [
    ...added.map((label) => ({ label, set: true })),
    ...removed.map((label) => ({
      label,
      set: false,
    })),
  ].map(({ label, set }) => ({
    ...draftOf(address, "label"),
    target: { repository, ...thread, label },
    key: "label",
    body: { set },
    counted: { output: "label", unit: label.toLowerCase(), max: limits.max },
  }));
}

/** A review that a task asks for. */
export interface AskedReview {
  readonly text: string;
  readonly key: string;
  readonly event: LimitsOf["review"]["events"][number];
  readonly comments: readonly ReviewComment[];
}

/**
 * A review of the pull of the event, at its commit; the next one of its key renews it.
 *
 * @throws {AppError} `invalid`; `refused` if the event has no pull, or the workflow does not
 * allow the event, or so many comments.
 */
export function reviewDraft(
  address: OutputAddress,
  { text, key, event, comments }: AskedReview,
  limits: LimitsOf["review"],
): Draft {
  const { forge, repository, subject, task } = address;
  const pull = FORGE_WORDS[forge].pull;
  const thread = threadAt(address, `${pull} to review`);
  if (subject?.isPull !== true) throw nothingThere(task, `${pull} to review`);
  if (!limits.events.includes(event)) {
    const message = `may.${forge}.review.events does not have ${event}: it allows `;
    throw new AppError("refused", message + limits.events.join(", "));
  }
  if (comments.length > limits.comments) {
    const message = `may.${forge}.review.comments allows ${limits.comments} comments on lines`;
    throw new AppError("refused", `${message}, and these are ${comments.length}`);
  }
  if (text.trim() === "" && comments.length === 0) {
    throw new AppError("invalid", "The body is empty, and there are no comments");
  }
  comments.forEach(checkComment);
  const length = comments.reduce((sum, comment) => sum + comment.text.length, text.length);
  if (length > MAX_STORED) {
    const message = `The review has ${length} characters: the most is ${MAX_STORED}`;
    throw new AppError("invalid", message);
  }
  const name = checkedKey(key);
  return {
    ...draftOf(address, "review"),
    target: { repository, ...thread },
    key: name,
    body: {
      ...writtenBy(address),
      text,
      event,
      comments: storedComments(comments),
      ...defined({ sha: subject.sha }),
    },
    counted: { output: "review", unit: name, max: limits.max },
  };
}

function checkComment({ path, line, startLine = line, text }: ReviewComment, at: number): void {
  const fault = path === "" || replaceControls(path, () => "") !== path
    ? "its path is empty, or has control characters"
    : startLine > line
    ? `it begins at line ${startLine}, behind its line ${line}`
    : text.trim() === ""
    ? "its body is empty"
    : undefined;
  if (fault !== undefined) throw new AppError("invalid", `Comment ${at + 1}: ${fault}`);
}

/** The part that all outputs share. */
function draftOf({ task, forge, connection }: OutputAddress, output: OutputName) {
  return {
    project: task.project,
    connection: connection.name,
    kind: kindName(forge, output),
    taskId: task.id,
  };
}

function writtenBy({ task: { workflow }, asker }: OutputAddress) {
  return { workflow, asker };
}

function threadAt({ task, subject }: OutputAddress, what: string) {
  const thread = subject && threadTarget(subject);
  if (thread === undefined) throw nothingThere(task, what);
  return thread;
}

function nothingThere({ id }: Task, what: string): AppError {
  return new AppError("refused", `The event that task ${id} is about has no ${what}`);
}

function checkedKey(key: string): string {
  if (ANSWER_KEY.test(key) && key.length <= MAX_KEY) return key;
  const form = `letters, digits, and . _ / - after the first, at most ${MAX_KEY}`;
  throw new AppError("invalid", `"${key}" cannot be a key: use ${form}`);
}

/**
 * A label that a path of the API can name: `..` would name something else. GitLab takes a comma for the
 * end of a label, and what stands behind it for another one, which no pattern was asked about.
 */
export function checkedLabel(given: string, forge: ForgeName): string {
  const label = given.trim();
  const most = MAX_LABEL[forge];
  const isText = label.isWellFormed() && replaceControls(label, () => "") === label;
  const isOne = !/^\.{1,2}$/.test(label) && (forge === "github" || !label.includes(","));
  if (isText && isOne && label !== "" && [...label].length <= most) return label;
  const comma = forge === "github" ? "" : ", and no comma";
  throw new AppError(
    "invalid",
    `"${given}" cannot be a label: use 1 to ${most} characters${comma}`,
  );
}

/** Refuses labels that no pattern allows; labels have no case. */
function allow(labels: readonly string[], patterns: readonly string[], field: string): void {
  const globs = patterns.map((pattern) => new Glob(pattern.toLowerCase(), { dots: true }));
  const refused = labels.find((label) => !globs.some((glob) => glob.matches(label.toLowerCase())));
  if (refused === undefined) return;
  const allowed = patterns.length === 0 ? "nothing" : patterns.join(", ");
  throw new AppError("refused", `${field} does not have "${refused}": it allows ${allowed}`);
}

function isSame(label: string, other: string): boolean {
  return label.toLowerCase() === other.toLowerCase();
}
