/**
 * Makes the Markdown of an agent harmless, which a stranger may have dictated to it, before it goes
 * to any forge: it mentions no person, loads nothing, has no HTML, and commands neither a bot nor GitLab
 * (`/merge`). It still reads as Markdown.
 *
 * The only structure that this file recognises is a closed block of code at the beginning of a line.
 * Everything else is made harmless character by character, whatever it would mean: a parser that
 * reads a text in another way than a forge does would open a gap.
 *
 * @module
 */

import { replaceControls } from "../base/control_characters.ts";

/** An invisible character; behind the first character of a construct it ends the construct. */
const MARK = "\u200b";

/** Longest harmless text in characters; GitHub takes 65,536 with the marker of svc. */
export const MAX_TEXT = 65_000;

/** The end of a text that was cut. */
const CUT = "\n\n… (cut)";

/** Languages of code blocks that a forge draws; a drawing may load things. GitLab may have Kroki's. */
const DRAWN = new RegExp(
  "^(mermaid|math|geojson|topojson|stl|glql|actdiag|blockdiag|bpmn|bytefield|c4plantuml|d2|dbml|" +
    "diagramsnet|ditaa|dot|erd|excalidraw|graphviz|mindmap|nomnoml|nwdiag|packetdiag|pikchr|plantuml|puml|" +
    "rackdiag|seqdiag|structurizr|svgbob|symbolator|tikz|umlet|vega|vegalite|wavedrom|wireviz)$",
  "i",
);

/** A line, or a block of code as a whole. */
type Block =
  | { readonly line: string }
  | { readonly code: readonly string[]; readonly language: string };

/** The Markdown of a text, made harmless and cut at so many characters. */
export function safeMarkdown(text: string, most: number = MAX_TEXT): string {
  return joined(
    toBlocks(linesOf(text)).map((block) =>
      "line" in block ? harmless(block.line) : fenced(block.code, block.language)
    ),
    most,
  );
}

/** Words before the name of an issue that close it when a change or a commit is merged. */
const CLOSING = new RegExp(
  "\\b(clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)" +
    "(?=\\s*:?\\s+(?:issues?\\s+)?(?:#|g[hl]-|https?://|\\[(?:issue|work_item):|" +
    // the last is an issue of Jira, which GitLab can close
    "[\\w.-]+(?:/[\\w.-]+)*#\\d|(?-i:[A-Z][A-Z0-9_]+-\\d)))",
  "gi",
);
/** What keeps a commit from being tested. */
const SKIPPED_CHECKS =
  /\[(?=(?:skip|no)[ _-](?:ci|actions)\]|(?:ci|actions)[ _-]skip\])|\*\*\*(?=NO_CI\*\*\*)/gi;
/** Lines that git or a forge reads as facts about a commit. */
const TRAILER = /^(\s*)(co-authored-by|signed-off-by|skip-checks|svc-[a-z]+)(?=\s*:)/gim;

/**
 * A text of a pull or a commit that closes no issue, names no author, and keeps nothing from
 * being tested: what it says may become part of a commit.
 */
export function withoutEffects(text: string): string {
  return text.replace(CLOSING, `$1${MARK}`)
    .replace(SKIPPED_CHECKS, (found) => found + MARK)
    .replace(TRAILER, `$1$2${MARK}`);
}

/** A text that notifies nobody. */
export function withoutMentions(text: string): string {
  return text.replaceAll(/@(?=\S)/g, `@${MARK}`);
}

/** The first line of a text as a title: harmless, of at most so many characters. */
export function safeTitle(text: string, most: number): string {
  const [line = ""] = linesOf(text.trim());
  const shown = withoutMentions(withoutEffects(line.replaceAll(/\s+/g, " "))).trim();
  const characters = [...shown];
  return characters.length <= most ? shown : `${characters.slice(0, most - 1).join("")}…`;
}

/** The whole text as one block of code. */
export function asCode(text: string): string {
  return joined([fenced(linesOf(text), "")], MAX_TEXT);
}

/**
 * The lines of a text, without control characters and marks that reverse a line. U+2028 and U+2029
 * end a line too: GitHub does not break a line there, but the patterns of bots do.
 */
function linesOf(text: string): readonly string[] {
  const visible = replaceControls(text.trimEnd(), (c) => "\t\n\r".includes(c) ? c : "");
  return visible.split(/\r\n|[\r\n\u2028\u2029]/);
}

/** The fence that a line opens. An indented one may belong to a list and end with it, so it is text. */
function openedFence(line: string): { fence: string; language: string } | undefined {
  const [, fence = "", info = ""] = /^(`{3,}|~{3,})([^\n]*)$/.exec(line) ?? [];
  if (fence === "" || (fence.startsWith("`") && info.includes("`"))) return undefined;
  const [language = ""] = info.trim().split(/\s+/);
  return { fence, language };
}

/** The fence that a line would close; empty for any other line. */
function closingFence(line: string | undefined): string {
  return /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line ?? "")?.[1] ?? "";
}

function toBlocks(lines: readonly string[]): readonly Block[] {
  const longest = longestClosing(lines);
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const { fence = "", language = "" } = openedFence(line) ?? {};
    const character = fence[0] ?? "";
    if (fence === "" || (longest[at + 1]?.[character] ?? 0) < fence.length) {
      blocks.push({ line });
      continue;
    }
    let end = at + 1;
    while (end < lines.length && !closingFence(lines[end]).startsWith(fence)) end++;
    blocks.push({ code: lines.slice(at + 1, end), language });
    at = end;
  }
  return blocks;
}

/**
 * For each line the length of the longest fence that could close from there on, by its character.
 * With it no fence is searched for in vain, so the text is read once however many are opened.
 */
function longestClosing(lines: readonly string[]): readonly Readonly<Record<string, number>>[] {
  const lengths: Readonly<Record<string, number>>[] = [];
  let longest = { "`": 0, "~": 0 };
  for (let at = lines.length - 1; at >= 0; at--) {
    const { length, 0: character } = closingFence(lines[at]);
    if (character === "`" && length > longest["`"]) longest = { "`": length, "~": longest["~"] };
    if (character === "~" && length > longest["~"]) longest = { "`": longest["`"], "~": length };
    lengths[at] = longest;
  }
  return lengths;
}

/** A block of code within a fence that no line of the code can close. */
function fenced(code: readonly string[], language: string): string {
  const longest = Math.max(0, ...code.map((line) => /^\s*(`*)/.exec(line)?.[1]?.length ?? 0));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const shown = /^[\w+#.-]{1,30}$/.test(language) && !DRAWN.test(language) ? language : "";
  return [`${fence}${shown}`, ...code.map(noCommand), fence].join("\n");
}

/**
 * A line of code without a command: bots read a comment as it was written, its code too, and obey a line
 * such as `/approve`, as GitLab does where it takes no fence for one. A path of several parts stays as
 * it is.
 */
function noCommand(line: string): string {
  return line.replace(/^(\s*)\/(?=[a-z][\w-]*(?:\s|$))/i, `$1${MARK}/`);
}

/** A line outside of code in which nothing is more than text to a forge and to bots. */
function harmless(line: string): string {
  return line
    // an entity would become the character that it stands for
    .replaceAll(/&(?=#\d+;|#x[0-9a-f]+;|[a-z][a-z0-9]*;)/gi, `&${MARK}`)
    .replaceAll(/@(?=\S)/g, `@${MARK}`)
    .replaceAll("![", `!${MARK}[`)
    .replaceAll(/<(?=[a-z/!?])/gi, `<${MARK}`)
    // behind characters that are not seen, too: somebody may take them away
    .replace(/^([\s\p{Cf}]*)\/(?=\p{Cf}*\w)/u, "$1\\/")
    .replace(/^(\s*):(?=:include)/, `$1:${MARK}`)
    // in a list, a quotation or a footnote a block of code begins anywhere in a line
    .replaceAll(/`{3,}|~{3,}/g, (fence) => fence.replaceAll(/./g, "\\$&"));
}

/** The parts as lines, up to `most` characters; the part that does not fit is cut. */
function joined(parts: readonly string[], most: number): string {
  let text = "";
  for (const [at, part] of parts.entries()) {
    const next = at === 0 ? part : `\n${part}`;
    if (text.length + next.length > most - CUT.length) {
      return text + beginning(next, most - CUT.length - text.length) + CUT;
    }
    text += next;
  }
  return text;
}

/** The first `capacity` characters of a part; a block of code gets its closing fence. */
function beginning(part: string, capacity: number): string {
  const [, fence] = /^\n?(`{3,})/.exec(part) ?? [];
  if (fence === undefined) return withoutHalf(part.slice(0, Math.max(0, capacity)));
  const closing = `\n${fence}`;
  const length = capacity - closing.length;
  if (length <= part.indexOf("\n", 1) + 1) return "";
  const code = withoutHalf(part.slice(0, length));
  const lastLine = code.lastIndexOf("\n") + 1;
  // `/approve/x` is a path; cut behind `approve` it is a command, and the mark must fit, too
  const end = noCommand(code.slice(lastLine)).slice(0, length - lastLine);
  return code.slice(0, lastLine) + end + closing;
}

/** Without the first half of a character at its end. */
function withoutHalf(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}
