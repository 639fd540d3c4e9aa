/**
 * A forge: a platform with repositories, issues, and changes that are merged on request. GitHub and
 * GitLab are forges; Gitea and Forgejo speak GitHub's API. What svc does there is written once, in the
 * outbox and in the operations, over this interface; an implementation holds the paths, names and
 * oddities of one API and nothing else.
 *
 * The words are GitHub's: a "pull" is a merge request at GitLab, a "label" a label, a "repository" a
 * project.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { CheckState, ForgeName, ForgeWords, StatusState } from "../../base/forge_names.ts";
import type { GitRemote } from "../../git/change.ts";
import type { ApiAccess } from "./api_call.ts";
import type { RestAnswer, RestCall, RestData, RestFailure } from "./rest.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";
import type { Resource } from "../../resources/resource.ts";

/** What one event is about: the address of its answers. Read from the payload alone. */
export interface ForgeSubject {
  readonly forge: ForgeName;
  /** The repository: `OWNER/NAME`, at GitLab `GROUP/…/PROJECT`. */
  readonly repository: string;
  /** Number of the issue or pull, if there is one. */
  readonly number?: number;
  /** Whether the number belongs to a pull. */
  readonly isPull: boolean;
  /** Commit, if there is one and the payload names it. */
  readonly sha?: string;
  /** Other commits of the event. */
  readonly commits: readonly string[];
  /** Path, below the repository, of the object that can get a reaction; absent if none can. */
  readonly reactTo?: string;
}

/** An issue or a pull, on which people write. */
export interface Thread {
  readonly number: number;
  /** Forges that count issues and pulls together do not need it. */
  readonly isPull: boolean;
}

/** A user of a forge. */
export interface ForgeUser {
  /** Digits. */
  readonly userId: string;
  /** Safe to show; empty if the forge names none. */
  readonly login: string;
}

/** The sender of an event. */
export interface Asker {
  /** Empty if it is none that the forge gives. */
  readonly login: string;
  readonly id: string;
  readonly isBot: boolean;
}

/**
 * The new comment on an issue or a pull that an event tells of. It says nothing of the author, because
 * who owns a repository may choose what its events say: {@linkcode ForgeThreads.readComment} asks the forge.
 */
export interface NewComment {
  /** Digits. */
  readonly id: string;
  readonly text: string;
  readonly repository: string;
  readonly thread: Thread;
}

/** A comment as the forge shows it now. */
export interface WrittenComment extends ForgeUser {
  readonly text: string;
  /** A program wrote it: a bot, an App in the name of a person, or the forge itself. */
  readonly isByProgram: boolean;
  /** It is not known to be as it was written: somebody may have changed the words of another. */
  readonly isChanged: boolean;
  /** Fewer people may read it than the thread. */
  readonly isInternal: boolean;
}

/** A value at a forge that may be changed after the event was sent. */
export interface CheckedText {
  /** Its name, as the beginning of a sentence. */
  readonly what: string;
  /** Path below the repository. */
  readonly path: string;
  /** Names of the members that lead to the value, the outer one first. */
  readonly field: readonly string[];
  readonly was: string;
}

/** What an event shows somebody doing, if svc does such things too. */
export type Doing =
  /** A text that ends with a marker if it is svc's. */
  | { readonly what: "comment" | "review" | "issue"; readonly body: string }
  /** The opening or a change of a pull whose head is a branch of the repository itself. */
  | {
    readonly what: "pull";
    readonly body: string;
    readonly branch: string;
    /** Message of the newest commit, if the change is a push, and events of the forge say it. */
    readonly pushed?: string;
  }
  /** A push; what the newest commit is. The tree is absent where events of the forge name none. */
  | { readonly what: "commit"; readonly message: string; readonly tree?: string }
  | { readonly what: "branch"; readonly branch: string }
  /** What has room for no marker: the user alone tells whose it is. */
  | { readonly what: "reaction" | "approval" | "status" };

/** A text with its author, as it is found again by its marker. */
export interface FoundText {
  /** Id of a comment, number of an issue. */
  readonly id: string;
  /** Empty if the forge does not say. */
  readonly userId: string;
  readonly body: string;
}

/** A pull whose head is a branch of the repository itself. */
export interface FoundPull {
  readonly number: number;
  readonly isOpen: boolean;
  /** When it was closed or merged, in milliseconds since the epoch by the forge's clock. */
  readonly closedAt?: number;
  readonly branch: string;
  readonly base: string;
  /** Newest commit of its branch. */
  readonly sha: string;
  /** Without what marks a draft at this forge. */
  readonly title: string;
  readonly body: string;
  readonly userId: string;
  /** Login of who opened it. */
  readonly by: string;
  readonly labels: readonly string[];
  /** Its page; empty if the API does not say. */
  readonly url: string;
}

/** A pull to be opened. */
export interface NewPull {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  readonly base: string;
  readonly draft: boolean;
}

/** What came of opening a pull. */
export type OpenedPull =
  | { readonly result: "opened"; readonly pull: FoundPull }
  /** There is one of this branch already. */
  | { readonly result: "exists"; readonly reason: string }
  /** Its base has the content already. */
  | { readonly result: "nothing new" }
  /** The repository has no drafts. */
  | { readonly result: "no drafts" };

/** The commits that one commit has and another, or a branch, does not have. */
export interface Compared {
  /** Whether the forge knows both. */
  readonly isKnown: boolean;
  /** How many commits it is ahead. */
  readonly ahead: number;
  readonly behind: number;
  /** Those commits, the oldest first; not all of a long list. */
  readonly commits: readonly ComparedCommit[];
}

/** One commit that is ahead. */
export interface ComparedCommit {
  readonly sha: string;
  readonly message: string;
  /** Login or name of its author. */
  readonly by: string;
  /** Id of its tree; empty if that cannot be told for certain. */
  readonly tree: () => Promise<string>;
}

/** Something that a forge shows beside a commit: a check run, a status, a job or a pipeline. */
export interface FoundCheck {
  /** Text from outside, safe to show; at most 200 characters. */
  readonly name: string;
  /** Whether svc may have set it itself: the names of those that a task has set tell whether it has. */
  readonly isSettable: boolean;
  readonly state: CheckState;
  /** The word of the forge, such as `timed_out`. */
  readonly said: string;
  /** Its page; empty if it has none. */
  readonly url: string;
}

/** Facts of a repository. */
export interface RepositoryFacts {
  readonly defaultBranch: string;
  /** Nobody can change it. */
  readonly isArchived: boolean;
  /** The forge's time of the answer, in milliseconds since the epoch, if it says it. */
  readonly at?: number;
}

/** Whether a user may write to a repository. */
export interface Permission {
  readonly mayWrite: boolean;
  /** Another reason than the permission why they may not. */
  readonly why?: string;
}

/** How a forge is reached for one repository. */
export interface RepositoryHost {
  readonly connection: Resource<ConnectionSpec>;
  readonly repository: string;
  /** Makes one call of the API with the token for this repository. */
  readonly call: (call: RestCall) => Promise<RestAnswer>;
  readonly clock: Clock;
}

/** A repository and the people who may write to it. */
export interface ForgePeople {
  /** The user to whom the token belongs; `undefined` if the API does not say. */
  readOwnUser(): Promise<ForgeUser | undefined>;
  readFacts(): Promise<RepositoryFacts>;
  /** Whether the sender of an event, as its payload names them, may write now. */
  permissionOf(asker: Pick<Asker, "id" | "login">): Promise<Permission>;
  /** A text at the forge now, by its path; `undefined` if it is gone. */
  readText(text: CheckedText): Promise<string | undefined>;
}

/** Comments, reactions, labels, issues, and statuses of commits. */
export interface ForgeThreads {
  /** Comments of a thread that are new or were changed since a time of the forge's clock. */
  commentsOf(thread: Thread, sinceMs: number): AsyncIterable<FoundText>;
  /** The comment with this id, which is digits; `undefined` if the thread has none. */
  readComment(thread: Thread, id: string): Promise<WrittenComment | undefined>;
  /** @returns its id; empty if the answer names none. */
  addComment(thread: Thread, body: string): Promise<string>;
  /** @returns whether it was there. */
  editComment(thread: Thread, id: string, body: string): Promise<boolean>;
  /** Reacts to what `ForgeSubject.reactTo` names; no effect the second time. */
  react(to: string, content: string): Promise<void>;

  hasLabel(label: string): Promise<boolean>;
  addLabels(thread: Thread, labels: readonly string[]): Promise<void>;
  /** No effect where it has none; throws if there is no such thread. */
  removeLabel(thread: Thread, label: string): Promise<void>;

  /** @returns its number; `undefined` if the answer names none. */
  addIssue(
    issue: { readonly title: string; readonly body: string; readonly labels: readonly string[] },
  ): Promise<number | undefined>;
  editIssue(
    number: number,
    issue: { readonly title: string; readonly body: string },
  ): Promise<void>;
  /** Not open if it was deleted or has moved away. */
  isIssueOpen(number: number): Promise<boolean>;
  /** The open issues of svc's own user, the newest first; those that have changed since a time. */
  ownIssues(sinceMs?: number): AsyncIterable<FoundText>;

  /** Sets the status of a commit. `description` has at most 140 characters in one line. */
  setStatus(status: {
    readonly sha: string;
    readonly state: StatusState;
    readonly context: string;
    readonly description: string;
    /** The pull whose commit it is, if there is one. */
    readonly pull?: number;
  }): Promise<void>;
}

/** Changes that are merged on request. */
export interface ForgePulls {
  /** The pull with this number; `undefined` for one from another repository. */
  readPull(number: number): Promise<FoundPull | undefined>;
  /** Newest commit of any pull, of a fork as well; `undefined` if the answer names none. */
  headOfPull(number: number): Promise<string | undefined>;
  isCommitOfPull(sha: string, number: number): Promise<boolean>;
  /** All pulls from a branch of this repository, the newest first. */
  pullsFrom(branch: string): Promise<readonly FoundPull[]>;
  /** The open pulls onto a branch: those of a page each. */
  openPulls(base: string): AsyncIterable<readonly FoundPull[]>;
  openPull(pull: NewPull): Promise<OpenedPull>;
  /** Changes what is given; a draft stays one. */
  editPull(
    pull: FoundPull,
    changed: { readonly title?: string; readonly body?: string; readonly base?: string },
  ): Promise<void>;
  /** Asks people, by login, and teams, as `OWNER/TEAM`. */
  askReviewers(number: number, reviewers: readonly string[]): Promise<void>;
}

/** Branches and commits. */
export interface ForgeBranches {
  /** Newest commit of a branch, and of nothing else; `undefined` if there is no such branch. */
  headOf(branch: string): Promise<string | undefined>;
  /** Compares two commits or branches. */
  compare(from: string, to: string): Promise<Compared>;
}

/** What has looked at commits. */
export interface ForgeChecks {
  /**
   * The checks of a commit that count now: of several runs of the same thing the newest one. `undefined`
   * if the forge knows no such commit.
   */
  checksOf(sha: string): Promise<readonly FoundCheck[] | undefined>;
}

/**
 * One repository at a forge. Methods that change something do it once each; a call that fails throws a
 * {@linkcode CallFailed}, unless the result says otherwise. Lists end on their own, see `pagesOf`.
 */
export interface ForgeRepository
  extends ForgePeople, ForgeThreads, ForgePulls, ForgeBranches, ForgeChecks {}

/** A forge. */
export interface Forge {
  readonly name: ForgeName;
  /** Those of `FORGE_WORDS`. */
  readonly words: ForgeWords;
  /** What names the repository in a payload of this forge, whatever its type; `undefined` if nothing does. */
  nameIn(payload: JsonObject): unknown;
  /** The subject of a payload; `undefined` if it is none of this forge, or names no repository. */
  findSubject(payload: unknown): ForgeSubject | undefined;
  /** Who caused an event; `undefined` if it does not say. */
  findAsker(payload: unknown): Asker | undefined;
  /**
   * The new comment that an event is about; `undefined` for any other event, an edited comment, and one
   * of a bot or an App.
   */
  findNewComment(payload: unknown): NewComment | undefined;
  /** What svc may have done itself; `undefined` for what it never does. */
  findDoing(payload: JsonObject): Doing | undefined;
  /** Whether the payload alone proves that its sender owns the repository, so that nobody need be asked. */
  isByOwner(payload: JsonObject): boolean;
  /** The values that must be as the payload says, or else a step would read something else. */
  checkedTexts(payload: JsonObject): readonly CheckedText[];
  /** Makes one call; a failure is returned. */
  call(access: ApiAccess, call: RestCall): Promise<RestAnswer>;
  open(host: RepositoryHost): ForgeRepository;
  /** Where a repository is for git, with the token. */
  gitRemote(api: string, repository: string, token: string): Omit<GitRemote, "signal">;
  /** The address that the forge gives a user for commits; nothing is sent to it. */
  mailOf(user: ForgeUser, api: string): string;
}

/** Thrown for a call that failed. */
export class CallFailed extends Error {
  readonly failure: RestFailure;

  constructor(failure: RestFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The answer of a call that must succeed; throws a {@linkcode CallFailed} otherwise. */
export function mustBeOk(answer: RestAnswer): RestData {
  if (answer.ok) return answer;
  throw new CallFailed(answer);
}
