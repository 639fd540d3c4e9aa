/**
 * Makes a text harmless that an agent wrote, or a stranger through it, before it goes into a
 * comment: nobody is mentioned, nothing is loaded, nothing is a command to a bot, nothing is hidden.
 * It still reads as Markdown; blocks of code that are closed stay as they are, but for lines that
 * are a command to a bot.
 *
 * @module
 */

import { replaceControls } from "../base/control_characters.ts";

/** Follows a character that would mean something, and is not seen. */
const MARK = "\u200b";

/** Most characters of a text after it was made harmless; GitHub takes 65,536 with our marker. */
export const MAX_TEXT = 65_000;

/** Stands where the rest was cut off. */
const CUT = "\n\n… (cut)";

/** Languages of code blocks that are drawn, and may load things. */
const DRAWN = /^(mermaid|math|geojson|topojson|stl)$/i;

/** A line, or a block of code as a whole. */
type Block =
  | { readonly line: string }
  | { readonly code: readonly string[]; readonly language: string };

/** The Markdown of a text, harmless and not too long. */
export function safeMarkdown(text: string): string {
  return joined(
    toBlocks(linesOf(text)).map((block) =>
      "line" in block ? harmless(block.line) : fenced(block.code, block.language)
    ),
  );
}

/** The whole text as one block of code. */
export function asCode(text: string): string {
  return joined([fenced(linesOf(text), "")]);
}

/** Lines as Markdown knows them, without characters that show nothing or turn a line around. */
function linesOf(text: string): readonly string[] {
  const seen = replaceControls(text.trimEnd(), (c) => "\t\n\r".includes(c) ? c : "");
  return seen.split(/\r\n|\r|\n/);
}

/** The fence that a line opens; one that is indented may belong to a list, and end with it. */
function openedFence(line: string): { fence: string; language: string } | undefined {
  const [, fence = "", info = ""] = /^(`{3,}|~{3,})([^\n]*)$/.exec(line) ?? [];
  if (fence === "" || (fence.startsWith("`") && info.includes("`"))) return undefined;
  const [language = ""] = info.trim().split(/\s+/);
  return { fence, language };
}

function toBlocks(lines: readonly string[]): readonly Block[] {
  const longest = longestClosing(lines);
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const opened = openedFence(line);
    const { fence = "", language = "" } = opened ?? {};
    const isClosed = opened !== undefined &&
      (longest(at + 1)[fence[0] ?? ""] ?? 0) >= fence.length;
    if (!isClosed) {
      blocks.push({ line });
      continue;
    }
    const end = closedAt(lines, at + 1, fence);
    blocks.push({ code: lines.slice(at + 1, end), language });
    at = end;
  }
  return blocks;
}

const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;

/**
 * Length of the longest line by its character, from a line on, that could close a fence: so none is
 * looked for in vain, and the whole text is read only once.
 */
function longestClosing(
  lines: readonly string[],
): (from: number) => Readonly<Record<string, number>> {
  const after: Readonly<Record<string, number>>[] = [];
  let longest: Readonly<Record<string, number>> = {};
  for (const [at, line] of lines.toReversed().entries()) {
    const [, fence] = CLOSING.exec(line) ?? [];
    const character = fence?.[0] ?? "";
    if (fence !== undefined && fence.length > (longest[character] ?? 0)) {
      longest = Object.assign({}, longest, { [character]: fence.length });
    }
    after[lines.length - 1 - at] = longest;
  }
  return (from) => after[from] ?? {};
}

/** Number of the line that closes a fence; -1 when none does. */
function closedAt(lines: readonly string[], from: number, opened: string): number {
  for (let at = from; at < lines.length; at++) {
    const [, fence = ""] = CLOSING.exec(lines[at] ?? "") ?? [];
    if (fence[0] === opened[0] && fence.length >= opened.length) return at;
  }
  return -1;
}

/** A block of code within a fence of our own, which nothing in it can close. */
function fenced(code: readonly string[], language: string): string {
  const longest = Math.max(0, ...code.map((line) => /^\s*(`*)/.exec(line)?.[1]?.length ?? 0));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const shown = /^[\w+#.-]{1,30}$/.test(language) && !DRAWN.test(language) ? language : "";
  return [`${fence}${shown}`, ...code.map(noCommand), fence].join("\n");
}

/**
 * A line of code that is no command: bots read a comment as it was written, its code too, and a line
 * such as `/approve` counts there. A path of several parts stays as it is.
 */
function noCommand(line: string): string {
  return line.replace(/^(\s*)\/(?=[a-z][\w-]*(?:\s|$))/i, `$1${MARK}/`);
}

/** A line that nobody and no bot takes for more than text. */
function harmless(line: string): string {
  return line
    // an entity would become the character that it stands for
    .replaceAll(/&(?=#\d+;|#x[0-9a-f]+;|[a-z][a-z0-9]*;)/gi, `&${MARK}`)
    .replaceAll(/@(?=\S)/g, `@${MARK}`)
    .replaceAll("![", `!${MARK}[`)
    .replaceAll(/<(?=[a-z/!?])/gi, `<${MARK}`)
    .replace(/^(\s*)\/(?=\w)/, "$1\\/")
    // in a list, a quotation or a footnote a block of code begins anywhere in a line
    .replaceAll(/`{3,}|~{3,}/g, (fence) => fence.replaceAll(/./g, "\\$&"));
}

/** The parts as lines, up to the longest text; a block that does not fit is left out as a whole. */
function joined(parts: readonly string[]): string {
  let text = "";
  for (const [at, part] of parts.entries()) {
    const next = at === 0 ? part : `\n${part}`;
    if (text.length + next.length > MAX_TEXT - CUT.length) {
      return text + beginning(next, MAX_TEXT - CUT.length - text.length) + CUT;
    }
    text += next;
  }
  return text;
}

/** As much of a part as fits; of a block of code with its fence closed again. */
function beginning(part: string, room: number): string {
  const [, fence] = /^\n?(`{3,})/.exec(part) ?? [];
  const closing = fence === undefined ? "" : `\n${fence}`;
  const first = fence === undefined ? 0 : part.indexOf("\n", 1) + 1;
  const length = room - closing.length;
  if (length <= first) return "";
  return withoutHalf(part.slice(0, length)) + closing;
}

/** Without the first half of a character at its end. */
function withoutHalf(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}
