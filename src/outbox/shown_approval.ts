/**
 * What an approval shows outside of svc: all that its digest seals, as text. Pure.
 *
 * @module
 */

import type { AskedApproval } from "../store/approval_records.ts";
import { shortDigest } from "../store/rules/approvals.ts";

/** A question, and whether it can be answered where it is shown. */
export interface ShownApproval {
  readonly text: string;
  /** What the worktree changes; empty if nothing is shown of it. */
  readonly diff: string;
  /** Whether the text and the diff are all of it, and no field has to be filled in. */
  readonly isWhole: boolean;
}

/** Shows a question with its fields, as far as they have a value of their own. */
export function showApproval(
  { ask, fields, isCut }: Pick<AskedApproval, "ask" | "fields" | "isCut">,
  diff = "",
): ShownApproval {
  const all = Object.entries(fields);
  const lines = all.map(([name, { default: value, of }]) => {
    const choices = of === undefined ? "" : ` (${of.join(", ")})`;
    return `${name}${choices}: ${value ?? "has to be given"}`;
  });
  return {
    text: [ask.trim(), ...lines].join("\n"),
    diff,
    isWhole: isCut !== true && all.every(([, field]) => field.default !== undefined),
  };
}

/** Who may answer and what is asked, in one line. */
export function factsOf(
  { by, need, digest }: Pick<AskedApproval, "by" | "need" | "digest">,
  { taskId, step }: { readonly taskId: string; readonly step: string },
): string {
  const who = `${need > 1 ? `${need} of ` : ""}${by.join(", ")}`;
  return `Step ${step} of task ${taskId} asks ${who}. Code ${shortDigest(digest)}.`;
}

/** The command that shows and answers a question. */
export function commandOf(
  { taskId, step }: { readonly taskId: string; readonly step: string },
): string {
  return `svc task approve ${taskId} ${step}`;
}

/** The text of a comment that asks. */
export function askingComment(
  shown: ShownApproval,
  { facts, code, sign, command }: {
    readonly facts: string;
    readonly code: string;
    /** What stands before an answer. */
    readonly sign: string;
    readonly command: string;
  },
): string {
  const { text, diff, isWhole } = shown;
  const change = diff === "" ? [] : [fenced(diff, "diff")];
  const isShort = text.length + diff.length <= MAX_COMMENT;
  if (!isWhole || !isShort) {
    const cut = isShort ? [text, ...change] : [`${text.slice(0, MAX_COMMENT / 2)}…`];
    return [
      ...cut,
      facts,
      "This cannot be answered here. Look at all of it, and answer:",
      fenced(command),
    ]
      .join("\n\n");
  }
  const how = `To answer, write a new comment whose first line is one of these:`;
  return [
    text,
    ...change,
    facts,
    how,
    fenced(`${sign}approve ${code}\n${sign}reject ${code} because …`),
  ]
    .join("\n\n");
}

/** The text of a comment that has been answered. */
export function answeredComment(shown: string, over: string): string {
  return [`**${over.replaceAll("*", "")}**`, shown].join("\n\n");
}

/** Most characters of a question and its change in a comment, of the 65,000 that one takes. */
const MAX_COMMENT = 40_000;

function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
