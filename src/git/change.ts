/**
 * A change of files, as objects of git: what a step hands over, and what was found in it.
 *
 * @module
 */

import type { BaseLink } from "./base_links.ts";

/** A change that a step hands over: a pack of git, which is a stranger's until it was checked. */
export interface PackedChange {
  /** Path of the file with the pack. */
  readonly pack: string;
  /** Id of the commit at which the change begins; the pack has this commit. */
  readonly start: string;
  /** Id of the tree that the change leads to. */
  readonly tree: string;
}

/** One changed path; a renamed file is two of them, one `deleted` and one `added`. */
export interface ChangedFile {
  /** Relative to the root of the repository; any Unicode, never `..`. */
  readonly path: string;
  readonly change: "added" | "modified" | "deleted";
  /** Modes of git, such as `100644`; empty on the side where there is no file. */
  readonly oldMode: string;
  readonly newMode: string;
  /** Id of the new object; empty for a file that is deleted. */
  readonly blob: string;
  /** Bytes of the new object, unpacked. */
  readonly bytes: number;
  /** Lines that are new, and lines that are gone; 0 for a binary file. */
  readonly added: number;
  readonly removed: number;
  readonly isBinary: boolean;
}

/** Ceilings of a change, whatever a workflow allows. */
export const CHANGE_LIMITS = {
  /** Most bytes of a pack. */
  packBytes: 32 * 1024 * 1024,
  /** Most bytes of its objects, unpacked. */
  bytes: 64 * 1024 * 1024,
  /** Most bytes of one new file: each is read into memory at once. */
  fileBytes: 16 * 1024 * 1024,
  files: 10_000,
  /** Most bytes of the patch that a person reads; a longer one is cut, and says so. */
  patchBytes: 4 * 1024 * 1024,
} as const;

/** A commit that svc makes. */
export interface NewCommit {
  readonly parent: string;
  readonly author: { readonly name: string; readonly email: string };
  /** Milliseconds since the epoch; the time zone is UTC. */
  readonly at: number;
  readonly message: string;
}

/** A change whose objects were checked; disposing it removes them. */
export interface CheckedChange extends AsyncDisposable {
  readonly start: string;
  readonly tree: string;
  /** In the order of their paths; never empty. */
  readonly files: readonly ChangedFile[];
  /** The symbolic links that were there before, at the top and in directories there that begin with a dot. */
  readonly links: readonly BaseLink[];
  /** The bytes of a new object. */
  readBlob(id: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Makes a commit of the tree; returns its id. The same commit has the same id. */
  commit(commit: NewCommit): Promise<string>;
  /** The object of a commit made here, as git stores it. */
  readCommit(id: string): Promise<string>;
  /** The objects that a repository with `start` lacks for a commit made here, in pieces of at most 1 MiB. */
  pack(commit: string): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The change as a person reads it, in the form of `git diff`; control characters are as they are. */
  patch(): Promise<Uint8Array<ArrayBuffer>>;
}

/** A repository at a server that speaks git over HTTP. */
export interface GitRemote {
  /** Address of the repository, such as `https://github.com/acme/site.git`. */
  readonly url: string;
  /** Value of the header `Authorization`. */
  readonly authorization: string;
  /** What the token needs for a push, for sentences: `the permission contents=write`. */
  readonly needs: string;
  readonly signal: AbortSignal;
}

/** A push of one ref. */
export interface RefUpdate {
  /** Full name, such as `refs/heads/svc/fix-42`. */
  readonly ref: string;
  /** What it has to be at the server, else nothing changes; {@linkcode NO_COMMIT} for a new ref. */
  readonly old: string;
  readonly new: string;
  /** The objects that the server lacks. */
  readonly pack: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** Stands for a ref that does not exist. */
export const NO_COMMIT = "0".repeat(40);

/** What came of a push. */
export type PushResult = { readonly result: "done" } | GitFailure;

/** Why a server did not do what it was asked for. */
export interface GitFailure {
  /** `moved`: the ref was not `old`; `refused`: another try would end the same way. */
  readonly result: "moved" | "refused" | "later";
  /** One sentence without a full stop, safe for a terminal; may quote 2,000 characters of the server. */
  readonly reason: string;
  /** Whether a push may have been carried out nevertheless. */
  readonly mayHaveArrived: boolean;
  /** Seconds to wait for at least, if the server asks for a pause. */
  readonly afterSecs?: number;
}

/** The refs of a repository. */
export interface RemoteRefs {
  readonly result: "done";
  /** Ids by full names. */
  readonly refs: ReadonlyMap<string, string>;
}
