/**
 * Judges a change by what its workflow allows: how many files, how many bytes, which paths, no secrets.
 * What is not refused may still have to wait for a person.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { ForgeName } from "../../base/forge_names.ts";
import { spellInLines } from "../../base/control_characters.ts";
import { sizeText } from "../../base/size.ts";
import type { ChangedFile, CheckedChange } from "../../git/change.ts";
import { findLeak, leakSentence, type LeaksHost, refuseLeaks } from "../../outputs/leaks.ts";
import type { ChangeLimits } from "../../outputs/may_rules.ts";
import { matchesAny, mayTouch } from "../../outputs/path_rules.ts";
import { findReversedLines } from "../../outputs/reversed_lines.ts";

/** A change that may be sent. */
export interface JudgedChange {
  /** Why a person has to send it; absent for one that goes at once. */
  readonly held?: string;
  /** What a reader of the change should know, a sentence each. */
  readonly notes: readonly string[];
  /** Whether it changes workflows of GitHub Actions, for which a token needs a right of its own. */
  readonly workflows: boolean;
  readonly files: number;
  /** Lines that are new, and lines that are gone. */
  readonly added: number;
  readonly removed: number;
  /** The change as a person reads it. */
  readonly patch: Uint8Array<ArrayBuffer>;
}

/** Most names that a sentence lists. */
const MAX_NAMED = 3;

/**
 * Judges a change.
 *
 * @throws {AppError} `refused`, with the limit that it passes and what to do.
 */
export async function judgeChange(
  change: CheckedChange,
  { forge, output, workflow, limits }: {
    readonly forge: ForgeName;
    readonly output: "pull" | "push";
    readonly workflow: string;
    readonly limits: ChangeLimits;
  },
  host: LeaksHost,
): Promise<JudgedChange> {
  const { files } = change;
  const may = `may.${forge}.${output}`;
  const whose = `of Workflow "${workflow}"`;
  if (files.length > limits.files) {
    const message = `${may}.files ${whose} allows ${limits.files} changed files, and this change ` +
      `has ${files.length}`;
    throw new AppError("refused", message);
  }
  const bytes = newBytes(files);
  if (bytes > limits.bytes) {
    const message = `${may}.bytes ${whose} allows ${sizeText(limits.bytes)} of new content, and ` +
      `this change has ${sizeText(bytes)}`;
    throw new AppError("refused", message);
  }
  const verdict = mayTouch(files.map(({ path }) => path), limits.paths, change.links);
  if (verdict.refused.length > 0) {
    const named = verdict.refused.slice(0, MAX_NAMED).map(({ path, why }) =>
      `${shown(path)} (${why})`
    );
    const message = `${may} ${whose} does not allow this change: ${named.join(", ")}` +
      more(verdict.refused.length);
    throw new AppError("refused", message);
  }
  await refuseSecrets(change, limits, host);
  const patch = await change.patch();
  const links = files.filter(({ newMode, oldMode }) => [newMode, oldMode].includes(GITLINK));
  const isProtected = new Set([...verdict.protected, ...links.map(({ path }) => path)]);
  const held = heldFor([...isProtected], limits, `${may} ${whose}`);
  return {
    ...held === undefined ? {} : { held },
    notes: findReversedLines(new TextDecoder().decode(patch), MAX_NAMED).map(({ path, line }) =>
      `Line ${line} of \`${
        shown(path).replaceAll("`", "")
      }\` has marks that reverse the direction ` +
      "of text: read it in an editor that shows them."
    ),
    workflows: files.some(({ path }) => /^\.github\/workflows\//i.test(path)),
    files: files.length,
    added: sum(files.map(({ added }) => added)),
    removed: sum(files.map(({ removed }) => removed)),
    patch,
  };
}

/** Why a change waits for a person; `undefined` for one that goes at once. */
function heldFor(
  paths: readonly string[],
  { hold }: ChangeLimits,
  rule: string,
): string | undefined {
  if (hold === "always") return `${rule} holds every change`;
  if (hold === "never" || paths.length === 0) return undefined;
  const what = paths.length === 1 ? "1 file is protected" : `${paths.length} files are protected`;
  return `${what} (${paths.slice(0, MAX_NAMED).map(shown).join(", ")}${more(paths.length)})`;
}

function newBytes(files: readonly ChangedFile[]): number {
  const sizes = new Map(files.map(({ blob, bytes }) => [blob, bytes]));
  return sum([...sizes.values()]);
}

/** Refuses a secret in a path or in the content of a file. */
async function refuseSecrets(
  change: CheckedChange,
  { secretsIn }: ChangeLimits,
  host: LeaksHost,
): Promise<void> {
  refuseLeaks({ "list of changed files": change.files.map(({ path }) => path).join("\n") }, host);
  const seen = new Set<string>();
  for (const { path, blob, newMode } of change.files) {
    if (blob === "" || newMode === GITLINK) continue;
    const forms = !matchesAny(secretsIn, path);
    const search = `${blob} ${forms}`;
    if (seen.has(search)) continue;
    seen.add(search);
    const leak = await findLeak(await change.readBlob(blob), host, { forms });
    if (leak !== undefined) throw new AppError("refused", leakSentence(path, leak));
  }
}

/** Mode of a commit of another repository, of which there is no content. */
const GITLINK = "160000";

function shown(path: string): string {
  return spellInLines(path, "");
}

function more(count: number): string {
  return count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : "";
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
