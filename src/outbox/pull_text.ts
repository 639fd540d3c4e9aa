/**
 * What a pull says: its title, its text with the footer of svc, and the messages of its
 * commits. The text is a stranger's. Pure.
 *
 * @module
 */

import { replaceControls } from "../base/control_characters.ts";
import { type ForgeName, MAX_TITLE } from "../base/forge_names.ts";
import {
  MAX_TEXT,
  safeMarkdown,
  safeTitle,
  withoutEffects,
  withoutMentions,
} from "./safe_markdown.ts";

/** Most characters of the first line of a message of a commit. */
const MAX_SUBJECT = 256;
/** Most characters of the text of a pull that GitHub takes. */
const MAX_BODY = 65_536;
/** Most characters of a message of a commit, without its trailers. */
const MAX_MESSAGE = 4000;

/** Whose work a pull is. */
export interface WorkOf {
  readonly taskId: string;
  readonly workflow: string;
  /** Login of who asked for it; empty if nobody did. */
  readonly asker: string;
}

/** A title at a forge, behind what the workflow puts before it. */
export function titleOf(prefix: string, title: string, forge: ForgeName): string {
  const most = MAX_TITLE[forge];
  const before = safeTitle(prefix, most);
  const gap = before === "" || prefix.endsWith(" ") ? " " : "";
  const whole = before === "" ? title : `${before}${gap || " "}${title}`;
  return safeTitle(whole, most);
}

/** The text of a pull, which ends with the marker. */
export function bodyOf(
  { text, fixes, work, notes, marker }: {
    readonly text: string;
    /** Number of the issue that the pull closes; absent for none. */
    readonly fixes?: number;
    readonly work: WorkOf;
    /** What svc has found in the change, a sentence each. */
    readonly notes: readonly string[];
    readonly marker: string;
  },
): string {
  const end = [
    ...fixes === undefined ? [] : [`Fixes #${fixes}`],
    ...notes,
    `---\n${footerOf(work)}`,
    marker,
  ].join("\n\n");
  const shown = shownWithin(text, MAX_BODY - end.length - 2);
  return shown === "" ? end : `${shown}\n\n${end}`;
}

/** A text, made harmless, and its end: together they have the length that GitHub takes. */
export function bodyWithin(text: string, end: string): string {
  const shown = safeMarkdown(text, Math.min(MAX_TEXT, MAX_BODY - end.length - 2));
  return `${shown}\n\n${end}`;
}

/** The text, made harmless, of at most so many characters. */
function shownWithin(text: string, most: number): string {
  let room = most;
  for (;;) {
    const shown = withoutEffects(safeMarkdown(text, room));
    if (shown.length <= most) return shown;
    room -= shown.length - most; // what is put between words makes it longer
  }
}

/** The last line of a text: which workflow, which task, and who asked. */
export function footerOf({ taskId, workflow, asker }: WorkOf): string {
  const whose = asker === "" ? "" : `, asked for by ${asker}`;
  return `Made by svc: workflow ${workflow}, task ${taskId}${whose}`;
}

/** The message of a commit; `trailers` are its last lines. */
export function commitMessage(
  { message, trailers }: { readonly message: string; readonly trailers: readonly string[] },
): string {
  const [first = "", ...rest] = message.trim().split("\n");
  const said = replaceControls(rest.join("\n"), (one) => "\t\n".includes(one) ? one : "");
  const body = withoutMentions(withoutEffects(said.trim())).slice(0, MAX_MESSAGE).trim();
  const parts = [safeTitle(first, MAX_SUBJECT), body, trailers.join("\n")];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The trailer for the person who asked, whose right to write was checked. */
export function coAuthor(login: string, mail: string): string {
  return `Co-authored-by: ${login} <${mail}>`;
}
