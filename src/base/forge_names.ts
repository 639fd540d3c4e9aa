/**
 * The names of forges, and of what tasks do at any of them.
 *
 * @module
 */

import { capitalized } from "./sentence.ts";

/** The forges: platforms with repositories, issues, and changes that are merged on request. */
export const FORGES = ["github", "gitlab"] as const;
/** One of {@linkcode FORGES}. */
export type ForgeName = typeof FORGES[number];

/** Things by their names at a forge: `comment` is `gitlab.comment` there. */
export type OfForge<Forge extends ForgeName, Things> = {
  readonly [Name in keyof Things & string as `${Forge}.${Name}`]: Things[Name];
};

/** The same things, by their names at a forge. */
export function ofForge<Forge extends ForgeName, Things extends object>(
  forge: Forge,
  things: Things,
): OfForge<Forge, Things> {
  const named = Object.entries(things).map(([name, thing]) => [`${forge}.${name}`, thing]);
  return Object.fromEntries(named) as OfForge<Forge, Things>;
}

/** What people at a forge call things, for sentences. */
export interface ForgeWords {
  /** `GitHub`. */
  readonly title: string;
  /** `pull request`. */
  readonly pull: string;
  /** What stands before the number of a pull: `#`. */
  readonly pullSign: string;
  /** Names the command that opens one: `pr`. */
  readonly pullCommand: string;
  /**
   * What stands before an answer in a comment. GitLab carries out a line that begins with `/approve`: it
   * approves the merge request, and there is no comment.
   */
  readonly answerSign: "/" | "";
}

/** The words of each forge; commands and operations are named by them too. */
export const FORGE_WORDS: Readonly<Record<ForgeName, ForgeWords>> = {
  github: {
    title: "GitHub",
    pull: "pull request",
    pullSign: "#",
    pullCommand: "pr",
    answerSign: "/",
  },
  gitlab: {
    title: "GitLab",
    pull: "merge request",
    pullSign: "!",
    pullCommand: "mr",
    answerSign: "",
  },
};

/** The id of a commit, by SHA-1 or SHA-256. */
export const SHA = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** Whether a value is the id of a commit. Events of a deleted branch have one that is all zeros. */
export function isSha(value: unknown): value is string {
  return typeof value === "string" && SHA.test(value) && !/^0+$/.test(value);
}

/** A pull within a sentence: `pull request #12`. */
export function namePull({ pull, pullSign }: ForgeWords, number: number): string {
  return `${pull} ${pullSign}${number}`;
}

/** The same at the beginning of a sentence. */
export function capitalPull(words: ForgeWords, number: number): string {
  return capitalized(namePull(words, number));
}

/** A repository, or the issue or pull in it, as people write it: `acme/site#42`. */
export function referenceTo(
  { forge, repository, number, isPull }: {
    readonly forge: ForgeName;
    readonly repository: string;
    readonly number?: number;
    readonly isPull: boolean;
  },
): string {
  if (number === undefined) return repository;
  return `${repository}${isPull ? FORGE_WORDS[forge].pullSign : "#"}${number}`;
}

/** The operations that open a pull of each forge, and that change its text. */
export const PULL_OPERATIONS = {
  github: { create: "github.pr_create", update: "github.pr_update" },
  gitlab: { create: "gitlab.mr_create", update: "gitlab.mr_update" },
} as const;

/** Most characters of a title that each forge takes; at GitLab without the `Draft: ` before it. */
export const MAX_TITLE: Readonly<Record<ForgeName, number>> = { github: 256, gitlab: 248 };

/** Formats of the text of a comment. */
export const COMMENT_FORMATS = ["markdown", "text"] as const;
/** One of {@linkcode COMMENT_FORMATS}. */
export type CommentFormat = typeof COMMENT_FORMATS[number];

/** States that a status of a commit can have. */
export const STATUS_STATES = ["pending", "success", "failure", "error"] as const;
/** One of {@linkcode STATUS_STATES}. */
export type StatusState = typeof STATUS_STATES[number];

/** How one check of a commit stands; that of a commit is one of them, or `none`. */
export type CheckState = "green" | "red" | "pending";

/** How a commit stands by its checks: one red check makes it red, also while others run. */
export function stateOfChecks(
  checks: readonly { readonly state: CheckState }[],
): CheckState | "none" {
  if (checks.length === 0) return "none";
  const has = (wanted: CheckState) => checks.some(({ state }) => state === wanted);
  return has("red") ? "red" : has("pending") ? "pending" : "green";
}

/** The reactions, as GitHub names them. */
export const REACTIONS = [
  "+1",
  "-1",
  "laugh",
  "confused",
  "heart",
  "hooray",
  "rocket",
  "eyes",
] as const;
/** One of {@linkcode REACTIONS}. */
export type Reaction = typeof REACTIONS[number];

/** What a review can say. */
export type ReviewEvent = "comment" | "request_changes" | "approve";
/** What a review can say at each forge; svc cannot ask for changes at GitLab. */
export const REVIEW_EVENTS: Readonly<Record<ForgeName, readonly ReviewEvent[]>> = {
  github: ["comment", "request_changes", "approve"],
  gitlab: ["comment", "approve"],
};
