/**
 * The syntax error of a document that is not YAML, as a sentence that says what to write instead. A
 * parser goes on after an error and reports what follows from it; only the first error is reported
 * here. Tests hold the texts of the library that this file relies on.
 *
 * @module
 */

import * as yaml from "yaml";

/** An error at an offset of the text. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
}

/** The first syntax error of a document; `undefined` when it has none. */
export function findSyntaxFault(doc: yaml.Document.Parsed, source: string): Fault | undefined {
  const [first] = doc.errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (first === undefined) return undefined;
  const conflict = findConflict(source, doc, first.pos[0]);
  if (conflict !== undefined) {
    return { offset: conflict, message: "A merge conflict was left here: keep one of its sides" };
  }
  return explain(first, doc, source);
}

function explain(error: yaml.YAMLError, doc: yaml.Document.Parsed, source: string): Fault {
  const [offset, end] = error.pos;
  const sign = source[offset] ?? "";
  const open = findUnclosed(doc, source, offset);
  switch (error.code) {
    case "TAB_AS_INDENT":
      return { offset, message: "Tabs cannot indent a line in YAML: use spaces" };
    case "BAD_INDENT": {
      if (open !== undefined) return open;
      const parts = isOfSequence(error) ? "items of a list" : "fields of a mapping";
      const message = `The indentation is wrong: all ${parts} begin in the same column`;
      return { offset: textFrom(source, offset), message };
    }
    case "MISSING_CHAR":
      return open ?? { offset, message: FIELD };
    case "BLOCK_AS_IMPLICIT_KEY": {
      const line = source.slice(offset, end);
      const next = doc.errors.find((one) =>
        one.code === "MULTILINE_IMPLICIT_KEY" && one.pos[0] === offset
      );
      const lineBreak = source.indexOf("\n", offset);
      if (next === undefined || lineBreak === -1 || line.includes("\n")) {
        return { offset, message: 'A text with ": " in it needs quotes around it' };
      }
      return {
        offset: textFrom(source, lineBreak + 1),
        message: "The indentation is wrong: the line before has a value, so it cannot contain " +
          "this one",
      };
    }
    case "MULTILINE_IMPLICIT_KEY": {
      const inFlow = quotedOrFlow(doc, source).some(({ start, end }) =>
        start < offset && offset < end
      );
      return { offset, message: inFlow ? "A comma is missing after this" : FIELD };
    }
    case "BLOCK_IN_FLOW":
      return { offset, message: "A comma is missing between the fields of { … }" };
    case "BAD_SCALAR_START":
      return { offset, message: `A text that begins with ${sign} needs quotes around it` };
    case "BAD_ALIAS":
      return { offset, message: "A text that begins with * needs quotes around it" };
    case "BAD_DQ_ESCAPE":
      return {
        offset,
        message: "A \\ in double quotes is written \\\\, or put the text in single quotes ('…')",
      };
    case "UNEXPECTED_TOKEN":
      return { offset, message: explainToken(sign, source, offset) };
    case "BAD_DIRECTIVE":
      return { offset, message: "Unknown directive" };
    case "RESOURCE_EXHAUSTION":
      return { offset, message: "Nested too deeply" };
    default:
      return { offset, message: withoutQuote(error.message) };
  }
}

/** Whether an error is about a list. Only the library's message says so; it has no code for it. */
function isOfSequence({ message }: yaml.YAMLError): boolean {
  return message.includes("sequence");
}

/** A message of the library, without the text of the document that some quote after a colon. */
export function withoutQuote(message: string): string {
  return message.replace(/: .*/s, "").replace(/\s+/g, " ");
}

const FIELD = 'This is not a field: write "name: value", with a space after the colon';

function explainToken(found: string, source: string, offset: number): string {
  const before = source.slice(0, offset).trimEnd().at(-1) ?? "";
  if (`"'`.includes(before) && before !== "" && !`{}[],`.includes(found)) {
    return `The text in quotes has ended before this: inside ${before}…${before}, write ` +
      (before === '"' ? '\\" for a quote' : "'' for a quote");
  }
  if ("{[".includes(found) && found !== "") {
    return `A text with ${found} in it needs quotes around it, as in "echo ${
      found === "{" ? "{{ … }}" : "[…]"
    }"`;
  }
  if ("}]".includes(found) && found !== "") return `This ${found} has no opening one before it`;
  return "A quote, a comma or a line break is missing before this";
}

/** The quote, bracket or brace that was opened last before `offset` and is never closed. */
function findUnclosed(
  doc: yaml.Document.Parsed,
  source: string,
  offset: number,
): Fault | undefined {
  let unclosed: Fault | undefined;
  for (const { start, end, inner } of quotedOrFlow(doc, source)) {
    if (start >= offset || start < (unclosed?.offset ?? 0)) continue;
    if (end < offset && source.slice(end, offset).trim() !== "") continue;
    const sign = source[start] ?? "";
    const closing = CLOSING[sign] ?? "";
    if (source.slice(Math.max(inner, start + 1), end).includes(closing)) continue;
    unclosed = { offset: start, message: `This ${sign} is never closed: add the ${closing}` };
  }
  return unclosed;
}

/** A text in quotes, or a collection in brackets or braces. */
interface Span {
  readonly start: number;
  readonly end: number;
  /** End of the last part inside it. */
  readonly inner: number;
}

function quotedOrFlow(doc: yaml.Document.Parsed, source: string): Span[] {
  const spans: Span[] = [];
  const open: unknown[] = [doc.contents];
  while (open.length > 0) { // not recursive: deep nesting must not overflow the stack
    const node = open.pop();
    if (yaml.isPair(node)) open.push(node.value, node.key);
    if (!yaml.isScalar(node) && !yaml.isCollection(node)) continue;
    const items = yaml.isCollection(node) ? node.items : [];
    for (const item of items) open.push(item);
    const [start, end] = node.range ?? [0, 0];
    if (CLOSING[source[start] ?? ""] === undefined) continue;
    const inner = yaml.isCollection(node) ? endOf(items.at(-1)) : lastBefore(source, end);
    spans.push({ start, end, inner });
  }
  return spans;
}

function endOf(item: unknown): number {
  const node = yaml.isPair(item) ? item.value ?? item.key : item;
  return yaml.isNode(node) ? node.range?.[1] ?? 0 : 0;
}

/** Offset of the last character before `end` that is no space. */
function lastBefore(source: string, end: number): number {
  let at = end - 1;
  while (at > 0 && /\s/.test(source[at] ?? "")) at--;
  return at;
}

const CLOSING: Readonly<Record<string, string>> = { "[": "]", "{": "}", '"': '"', "'": "'" };

/** The first mark of a merge conflict in a document, up to the end of the line at `offset`. */
function findConflict(source: string, doc: yaml.Document, offset: number): number | undefined {
  const from = doc.range?.[0] ?? 0;
  const lineEnd = source.indexOf("\n", offset);
  const text = source.slice(from, lineEnd === -1 ? undefined : lineEnd);
  const at = text.search(/^(?:<{7}|={7}|>{7})(?: |$)/m);
  return at === -1 ? undefined : from + at;
}

/** The first character that is not a blank, at `offset` or after it. */
function textFrom(source: string, offset: number): number {
  const more = source.slice(offset).search(/[^ \t]/);
  return more === -1 ? offset : offset + more;
}

/** Most columns of a line that are shown. */
const SHOWN = 70;

/** Most characters of a line that are read before and after the place. */
const LOOKED_AT = 2000;

/** A field whose value may be a secret. */
const SENSITIVE =
  /(?:secret|passw|token|key|credential|authorization)\w*["']?\s*:\s*(?!["']?[{[*])\S/i;

/**
 * The line at `offset` and a mark below it, indented. Empty if the line is very long, or if the
 * name of a field in it says that it may hold a secret.
 */
export function excerptAt(source: string, offset: number): string {
  const before = /[^\n]*$/.exec(source.slice(Math.max(0, offset - LOOKED_AT), offset))?.[0] ?? "";
  const after = /^[^\r\n]*/.exec(source.slice(offset, offset + LOOKED_AT))?.[0] ?? "";
  const line = before + after;
  const isLong = before.length === LOOKED_AT || after.length === LOOKED_AT;
  if (isLong || line.trim() === "" || SENSITIVE.test(line)) return "";
  const from = Math.max(0, before.length - SHOWN + 10);
  const shown = [...line.slice(from, from + SHOWN)].map((one) => one < " " ? " " : one).join("");
  return `\n    ${shown.trimEnd()}\n    ${" ".repeat(before.length - from)}^`;
}
