/**
 * The kinds `github-pull` and `gitlab-pull`: a branch with one commit of svc's own and the pull from it,
 * in one message, which later messages of its key renew. Each part is looked for before it is made, so
 * that a message goes on after a crash at any point and makes nothing twice. Commits of others are never
 * overwritten.
 *
 * @module
 */

import { namePull } from "../base/forge_names.ts";
import type { JsonObject } from "../base/json.ts";
import { CallFailed, type FoundPull } from "../connections/api/forge.ts";
import { findOthers, nextPush } from "./branch_commits.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import type { NotSent, SendResult } from "./message_kind.ts";
import { bodyOf, type WorkOf } from "./pull_text.ts";
import { type BranchOfKey, findBranch, findSame, type MarkedPull } from "./pulls.ts";
import { pushCommit } from "./push_ref.ts";

/** Body of a message that opens or renews a pull. */
export interface PullBody extends JsonObject, WorkOf {
  /** Branch into which it is to be merged. */
  readonly base: string;
  /** Name of the first branch of its key; later ones have a number behind it. */
  readonly branch: string;
  /** The commit, the commit that it is on top of, and its tree. */
  readonly commit: string;
  readonly start: string;
  readonly tree: string;
  readonly title: string;
  readonly text: string;
  readonly draft: boolean;
  readonly labels: string[];
  readonly reviewers: string[];
  /** Number of the issue that it closes; 0 for none. */
  readonly fixes: number;
  readonly trigger: string;
  /** What svc has found in the change, a sentence each. */
  readonly notes: string[];
  /** When its task was asked for, in milliseconds since the epoch. */
  readonly askedAt: number;
  /** Whether it changes workflows of GitHub Actions. */
  readonly workflows: boolean;
  readonly pullKey: string;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
}

/** Body of a message that changes the title or the text of the pull alone. */
export interface PullTextBody extends JsonObject, WorkOf {
  readonly branch: string;
  /** Empty for the title as it is. */
  readonly title: string;
  /** `null` for the text as it is. */
  readonly text: string | null;
  readonly fixes: number;
  readonly trigger: string;
  readonly pullKey: string;
}

/** How often the branch is looked at again in one try, if it moves meanwhile. */
const MAX_LOOKS = 3;
/** Clocks that differ by less count as equal: `Date` has no parts of a second, and calls take time. */
const CLOCKS_DIFFER_MS = 5000;

/** The kinds; their id is `NUMBER SHA URL`, without the URL where the API tells none. */
export const pullKinds = forgeKind({
  output: "pull",
  again: "harmless",
  needsPack: ({ body }) => !isText(body),
  send,
});

async function send(sending: ForgeSending): Promise<SendResult> {
  // The user must be known before the events of the push come, which can overtake the answer.
  const own = await sending.ownUser();
  return isText(sending.message.body)
    ? await renewText(sending, own)
    : await sendChange(sending, own);
}

function isText(body: JsonObject): boolean {
  return body["commit"] === undefined;
}

/** A pull on its way. */
interface Pulling {
  readonly sending: ForgeSending;
  readonly body: PullBody;
  readonly at: BranchOfKey;
}

async function sendChange(
  sending: ForgeSending,
  own: string | undefined,
): Promise<SendResult> {
  const body = sending.message.body as PullBody;
  const { key } = sending.message;
  const at = await findBranch(sending, { branch: body.branch, key, own });
  const over = await findEnd({ sending, body, at });
  if (over !== undefined) return over;
  const pulling = { sending, body, at };
  if (at.open === undefined) {
    const { base, tree } = body;
    const same = await findSame(sending, { base, tree, except: at.branch });
    if (same !== undefined) {
      const name = namePull(sending.forge.words, same.number);
      const reason = `${name} has the same content already: close it, or ` +
        "renew it with its --key";
      return { result: "refused", reason };
    }
  }
  const notPushed = await push(pulling);
  if (notPushed !== undefined) return notPushed;
  const pull = await openOrRenew(pulling);
  if ("result" in pull) return pull;
  return await setLabels(pulling, pull);
}

/**
 * The end of a message for which there is nothing to do any more: somebody has closed the pull
 * after its task was asked for.
 */
async function findEnd(
  { sending, body, at: { closed } }: Pulling,
): Promise<SendResult | undefined> {
  const ours = closed.find(({ marker, sha }) =>
    marker?.taskId === sending.message.taskId && sha === body.commit
  );
  // It was opened by an earlier try, and closed or merged since.
  if (ours !== undefined) return { result: "sent", externalId: idOf(ours, body.commit) };
  const last = closed.find(({ closedAt }) => closedAt !== undefined);
  if (last?.closedAt === undefined) return undefined;
  const askedAt = body.askedAt + await clockAhead(sending);
  if (last.closedAt <= askedAt) return undefined;
  const reason =
    `${namePull(sending.forge.words, last.number)} was closed after the task was asked for: a ` +
    "new event, " +
    "or svc task retry, opens another one";
  return { result: "dropped", reason };
}

/** By how many milliseconds the forge's clock is ahead of the local one. */
async function clockAhead({ at, host: { clock } }: ForgeSending): Promise<number> {
  const { at: theirs } = await at.readFacts();
  const ahead = theirs === undefined ? 0 : theirs - clock.now();
  return Math.abs(ahead) < CLOCKS_DIFFER_MS ? 0 : ahead;
}

/** Brings the commit onto the branch; the result of the message where that is impossible. */
async function push(
  { sending, body, at: { branch } }: Pulling,
): Promise<NotSent | undefined> {
  const { commit, start, base } = body;
  for (let look = 0; look < MAX_LOOKS; look++) {
    const head = await sending.at.headOf(branch);
    const next = nextPush({ commit, start, ...head === undefined ? {} : { head } });
    if (next.push === "none") return undefined;
    if (next.push === "replace") {
      const others = await findOthers(sending, { base, head: next.old });
      if (others !== undefined) {
        const reason =
          `the branch ${branch} has commits of ${others} since: svc never overwrites ` +
          "them; a new task may start from it, or use another --key";
        return { result: "refused", reason };
      }
    }
    const pushed = await pushCommit(sending, { branch, old: next.old, commit });
    if (pushed.result === "done") return undefined;
    if (pushed.result === "not") return pushed.notSent;
  }
  const reason = `the branch ${branch} moves all the time`;
  return { result: "later", reason, mayHaveArrived: false };
}

/** A pull after it was opened or renewed. */
interface Opened {
  readonly pull: FoundPull;
  /** Whether its reviewers are still to be asked. */
  readonly isNew: boolean;
}

async function openOrRenew(pulling: Pulling): Promise<Opened | NotSent> {
  const { sending, body, at } = pulling;
  if (at.open !== undefined) return await renew(pulling, at.open);
  const { forge: { name, words }, message: { key } } = sending;
  const opened = await sending.at.openPull({
    title: body.title,
    body: shownText(sending, at.branch),
    branch: at.branch,
    base: body.base,
    draft: body.draft,
  });
  switch (opened.result) {
    case "opened":
      return { pull: opened.pull, isNew: true };
    case "exists": {
      const own = await sending.ownUser();
      const again = await findBranch(sending, { branch: body.branch, key, own });
      if (again.open?.branch === at.branch) {
        return await renew({ ...pulling, at: again }, again.open);
      }
      return { result: "later", reason: opened.reason, mayHaveArrived: true };
    }
    case "nothing new":
      return { result: "refused", reason: `nothing new: ${body.base} has this content already` };
    case "no drafts": {
      const reason = `this repository has no draft ${words.pull}s: write draft: false under ` +
        `may.${name}.pull`;
      return { result: "refused", reason };
    }
  }
}

/** Gives an open pull the title, the text and the base of the message. */
async function renew({ sending, body }: Pulling, open: MarkedPull): Promise<Opened> {
  const { at, message, uncertainSince } = sending;
  const text = shownText(sending, open.branch);
  // An earlier try of this message may have opened it without asking anybody.
  const isNew = uncertainSince !== undefined && open.marker?.taskId === message.taskId &&
    sending.previousId === "";
  const { title, base } = body;
  if (open.title !== title || open.body !== text || open.base !== base) {
    await at.editPull(open, { title, body: text, base });
  }
  return { pull: open, isNew };
}

async function setLabels(
  { sending, body }: Pulling,
  { pull, isNew }: Opened,
): Promise<SendResult> {
  const { at, forge: { words } } = sending;
  const { number } = pull;
  const known = new Set(pull.labels.map((label) => label.toLowerCase()));
  const labels = body.labels.filter((label) => !known.has(label.toLowerCase()));
  const name = namePull(words, number);
  const failed = labels.length === 0
    ? undefined
    : await tryPart(name, "its labels", () => at.addLabels({ number, isPull: true }, labels));
  if (failed !== undefined) return failed;
  const unasked = !isNew || body.reviewers.length === 0
    ? undefined
    : await tryPart(name, "its reviewers", () => at.askReviewers(number, body.reviewers));
  return unasked ?? { result: "sent", externalId: idOf(pull, body.commit) };
}

/** Completes a pull; the result of the message where it lacks something for good. */
async function tryPart(
  name: string,
  what: string,
  work: () => Promise<void>,
): Promise<NotSent | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof CallFailed) || error.failure.kind !== "refused") throw error;
    const reason = `${name} is there, without ${what}: ${error.message}`;
    return { result: "refused", reason, mayHaveArrived: true };
  }
}

/** The title or the text alone. */
async function renewText(sending: ForgeSending, own: string | undefined): Promise<SendResult> {
  const body = sending.message.body as PullTextBody;
  const { branch, pullKey: key, title, text, trigger } = body;
  const { open } = await findBranch(sending, { branch, key, own });
  if (open?.marker === undefined) {
    const reason = `there is no open ${sending.forge.words.pull} of --key ${key}`;
    return { result: "refused", reason };
  }
  const { tree } = open.marker;
  const marker = markerOf(sending, { branch: open.branch, trigger, tree, key });
  const shown = () => bodyOf({ text: text ?? "", work: body, notes: [], marker, ...fixesOf(body) });
  await sending.at.editPull(open, {
    ...title === "" ? {} : { title },
    ...text === null ? {} : { body: shown() },
  });
  return { result: "sent", externalId: idOf(open, open.sha) };
}

/** The text of a pull with footer and marker. */
function shownText(sending: ForgeSending, branch: string): string {
  const body = sending.message.body as PullBody;
  const { text, notes, trigger, tree } = body;
  const marker = markerOf(sending, { branch, trigger, tree, key: sending.message.key });
  return bodyOf({ text, work: body, notes, marker, ...fixesOf(body) });
}

function markerOf(
  { forge, repository, message: { project, taskId }, host: { markers } }: ForgeSending,
  { branch, ...marker }: {
    readonly branch: string;
    readonly trigger: string;
    readonly tree: string;
    readonly key: string;
  },
): string {
  return markers.makePull({ forge: forge.name, project, repository, branch }, {
    ...marker,
    taskId,
  });
}

function fixesOf({ fixes }: { readonly fixes: number }): { readonly fixes?: number } {
  return fixes === 0 ? {} : { fixes };
}

function idOf({ number, url }: FoundPull, sha: string): string {
  return [number, sha, url].join(" ").trimEnd();
}
