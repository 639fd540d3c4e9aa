/**
 * What the fakes of the forges have on threads, by one interface, for kinds of messages that do the same
 * at each of them.
 *
 * @module
 */

import type { ForgeName } from "../../src/base/forge_names.ts";
import { ADA } from "../fakes/gitlab.ts";
import type { GitLabThread } from "../fakes/gitlab_threads.ts";
import { type ForgeFake, gitHubFake, gitLabFake } from "./forge_fakes.ts";

/** A comment, or an issue, that svc has written. */
export interface Written {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
  /** Gives it to another user, as if that one had copied it. */
  readonly giveAway: () => void;
  /** Deletes a comment, closes an issue. */
  readonly end: () => void;
}

/** A forge with an issue of a person, on which svc writes. */
export interface ThreadsFake extends ForgeFake {
  /** The issue, as the target of a message. */
  readonly target: { readonly number: number; readonly on?: "issue" };
  readonly labels: () => readonly string[];
  readonly comments: () => readonly Written[];
  /** All issues but that of the person. */
  readonly issues: () => readonly Written[];
  /** Contents of the reactions to the issue. */
  readonly reactions: () => readonly string[];
  /** Commit, state and description of each status. */
  readonly statuses: () => readonly (readonly [sha: string, state: string, description: string])[];
}

const PERSON = { login: "mona", id: 7 };

async function onGitHub(): Promise<ThreadsFake> {
  const forge = await gitHubFake();
  const { repository, fake: { issues: all } } = forge;
  const open = { repository, number: 1, title: "t", body: "", user: PERSON, labels: ["bug"] };
  all.issues.push(open);
  const swap = <Item>(list: Item[], item: Item, now: Item[]) =>
    void list.splice(list.indexOf(item), 1, ...now);
  return {
    ...forge,
    target: { number: 1 },
    labels: () => open.labels,
    comments: () =>
      all.comments.map((one) => ({
        id: `${one.id}`,
        title: "",
        body: one.body,
        labels: [],
        giveAway: () => swap(all.comments, one, [{ ...one, user: PERSON }]),
        end: () => swap(all.comments, one, []),
      })),
    issues: () =>
      all.issues.filter((one) => one !== open).map((one) => ({
        id: `${one.number}`,
        title: one.title,
        body: one.body,
        labels: one.labels ?? [],
        giveAway: () => swap(all.issues, one, [{ ...one, user: PERSON }]),
        end: () => void (one.state = "closed"),
      })),
    reactions: () => all.reactions.map(({ content }) => content),
    statuses: () =>
      all.statuses.map(({ sha, state, description }) => [sha, state, description ?? ""]),
  };
}

/** GitLab, with the quick actions that were carried out. */
async function onGitLab(): Promise<ThreadsFake & { readonly executed: () => readonly string[] }> {
  const forge = await gitLabFake();
  const { fake: { threads: all }, repository } = forge;
  const open = all.openIssue(repository, { author: ADA });
  open.labels = ["bug"];
  const swap = (one: GitLabThread, now: GitLabThread) =>
    void all.threads.splice(all.threads.indexOf(one), 1, now);
  return {
    ...forge,
    target: { number: open.iid, on: "issue" },
    executed: () => all.executed.map(({ line }) => line),
    labels: () => open.labels,
    comments: () =>
      all.notes.map((one) => ({
        id: `${one.id}`,
        title: "",
        body: one.body,
        labels: [],
        giveAway: () => void all.notes.splice(all.notes.indexOf(one), 1, { ...one, author: ADA }),
        end: () => void all.notes.splice(all.notes.indexOf(one), 1),
      })),
    issues: () =>
      all.threads.filter((one) => one.kind === "issues" && one !== open).map((one) => ({
        id: `${one.iid}`,
        title: one.title,
        body: one.description,
        labels: one.labels,
        giveAway: () => swap(one, { ...one, author: ADA }),
        end: () => void (one.state = "closed"),
      })),
    reactions: () => all.awards.map(({ name }) => name),
    statuses: () =>
      all.statuses.map(({ sha, status, description }) => [sha, status, description ?? ""]),
  };
}

/** A fake of each forge, with its threads. */
export const THREAD_FAKES = {
  github: onGitHub,
  gitlab: onGitLab,
} satisfies Readonly<Record<ForgeName, () => Promise<ThreadsFake>>>;
