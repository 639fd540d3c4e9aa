/**
 * A message that is about to open or renew a pull at a fake forge, or to push onto one; and what may have
 * become of it.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import type { ForgeName } from "../../src/base/forge_names.ts";
import type { SendResult } from "../../src/outbox/message_kind.ts";
import { pullKinds } from "../../src/outbox/pull.ts";
import { pushKinds } from "../../src/outbox/push.ts";
import { FORGE_FAKES, type ForgeFake, type Interference } from "./forge_fakes.ts";
import { forgeSending, type ForgeSendingRig, type Given, kindAt } from "./forge_sending.ts";
import { PackBuilder } from "./pack_builder.ts";

const TASK = "01JZZZZZZZZZZZZZZZZZ0000TA";
const BRANCH = "svc/fix-1";
/** More calls than a message makes. */
const MAX_CALLS = 40;
/** As often as a message is tried here. */
const MAX_TRIES = 5;

/** What a message is about to do. */
export const WORKS = ["open a pull", "renew a pull", "push onto a pull"] as const;
export type Work = typeof WORKS[number];

/** A message that is about to be sent. */
export interface Site extends AsyncDisposable {
  readonly forge: ForgeFake;
  readonly rig: ForgeSendingRig;
  readonly given: Given;
  /** The branch that it changes, and the commit that it brings there. */
  readonly branch: string;
  readonly commit: string;
}

/** Makes a message for a fake of its own, or for one of the test. */
export async function siteOf(
  work: Work,
  at: ForgeName | ForgeFake,
  { askedAt }: { readonly askedAt?: number } = {},
): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const forge = opening.use(typeof at === "string" ? await FORGE_FAKES[at]() : at);
  const { repository, git, name } = forge;
  const isPush = work === "push onto a pull";
  const kind = kindAt(name, isPush ? pushKinds : pullKinds);
  const rig = opening.use(await forgeSending(kind, forge));
  const branch = isPush ? "topic" : BRANCH;
  let start = await git.find(repository, "main") ?? "";
  let number = 0;
  if (isPush) {
    start = await git.commit(repository, branch, { "topic.txt": "x\n" }, { from: "main" });
    number = await forge.openPull(branch);
  }
  const of = (text: string): { readonly given: Given; readonly commit: string } => {
    const builder = new PackBuilder();
    const tree = builder.files({ "README.md": text });
    const place = { forge: name, project: "default", repository, tree };
    const message = `Fix it\n\n${rig.markers.makeTrailers(place, TASK)}\n`;
    const commit = builder.commit(tree, { parents: [start], message });
    const counted = { files: 1, added: 1, removed: 1, workflows: false };
    const body = {
      ...counted,
      commit,
      start,
      tree,
      base: "main",
      branch: BRANCH,
      title: "Fix it",
      text: "It works",
      draft: true,
      labels: ["automated"],
      reviewers: [],
      fixes: 0,
      trigger: "fix",
      notes: [],
      pullKey: "fix",
      taskId: TASK,
      workflow: "fix",
      asker: "ada",
      askedAt: askedAt ?? rig.clock.now(),
    };
    return {
      commit,
      given: { key: "fix", target: isPush ? { number } : {}, body, pack: builder.pack() },
    };
  };
  if (work === "renew a pull") {
    equal((await rig.send(of("before\n").given)).result, "sent");
    forge.calls.length = 0;
  }
  const open = opening.move();
  return {
    forge,
    rig,
    branch,
    ...of("after\n"),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Sends it as often as the outbox would, and gives the last result. */
export async function sendAt({ rig, given }: Site, work = rig.send(given)): Promise<SendResult> {
  let result = await work;
  for (let tried = 1; tried < MAX_TRIES && result.result === "later"; tried++) {
    result = await rig.send({ ...given, uncertainSince: 1 });
  }
  return result;
}

/** Does something before the nth call from now on. */
function before(nth: number, act: () => Promise<void> | void): Interference {
  let left = nth;
  return (_call, carryOut) => {
    if (--left !== 0) return undefined;
    return (async () => {
      await act();
      return await carryOut();
    })();
  };
}

/** The commits of a person are on the branch, and svc has no second pull. */
export async function unharmed(
  { forge: { git, repository, pulls }, branch }: Site,
  theirs: readonly string[],
): Promise<void> {
  for (const commit of theirs) {
    const range = [commit, `refs/heads/${branch}`];
    const kept = await git.tryRun(repository, "merge-base", "--is-ancestor", ...range);
    equal(kept, "", "the commit of a person is on the branch");
  }
  ok(pulls() <= 1, "one pull");
  const branches = [...(await git.refs(repository)).keys()]
    .filter((ref) => ref.startsWith("refs/heads/"));
  ok(branches.length <= 2, "one branch");
}

/** What a message that was not sent says. */
export function saidBy({ forge: { token } }: Site, result: SendResult): string {
  ok(result.result === "refused" || result.result === "later" || result.result === "dropped");
  ok(result.reason.length < 1000 && !/\p{Cc}/u.test(result.reason), result.reason);
  ok(!result.reason.includes(token));
  return result.reason;
}

/**
 * Tries it with something that happens before each call in turn, until a message makes no more calls.
 * `check` gets what came of each.
 */
export async function atEachCall(
  [work, forge]: readonly [Work, ForgeName],
  act: (site: Site) => Promise<void> | void,
  check: (site: Site, result: SendResult, at: string) => Promise<void> | void,
): Promise<void> {
  for (let nth = 1; nth <= MAX_CALLS; nth++) {
    await using site = await siteOf(work, forge);
    let done = false;
    site.forge.interfere(before(nth, async () => {
      done = true;
      await act(site);
    }));
    const result = await sendAt(site);
    site.forge.interfere(undefined);
    const { method = "", path = "" } = site.forge.calls[nth - 1] ?? {};
    const at = `${work}, call ${nth}: ${method} ${path}: ${JSON.stringify(result)}`;
    await check(site, result, at);
    if (!done) return ok(nth > 4, "it makes calls");
  }
  throw new Error(`More than ${MAX_CALLS} calls`);
}
