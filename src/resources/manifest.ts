/**
 * Manifests: parses YAML or JSON to documents that know the line of every field, and writes values
 * as YAML. Knows no kind. Messages quote at most the line of a syntax error, and not where it may
 * hold a secret.
 *
 * @module
 */

import * as yaml from "yaml";
import { escapeInLines, escapeInYaml } from "../base/control_characters.ts";
import type { FieldPath, Finding } from "./resource.ts";
import { excerptAt, type Fault, findSyntaxFault, withoutQuote } from "./syntax_fault.ts";

/** One document of a manifest. */
export interface ManifestDocument {
  /** File it came from, as the user named it. */
  readonly file: string;
  /** The parsed value; `undefined` where it could not be parsed. */
  readonly value: unknown;
  /** `FILE:LINE:COLUMN` of the field at `path`, or of the nearest one around it. */
  locate(path: FieldPath): string;
}

/** The documents and the mistakes of one manifest file. */
export interface Manifest {
  /** Its documents, empty ones left out. */
  readonly documents: readonly ManifestDocument[];
  /**
   * Syntax errors, duplicate keys included: `FILE:LINE:COLUMN: message`, then the line itself and a
   * mark below it. Only the first syntax error of each document.
   */
  readonly errors: readonly string[];
  /** Warnings, in the same form. */
  readonly warnings: readonly string[];
}

/** Longest text, in characters; the largest real manifests have some hundred thousand. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Most tokens of the lexer; about a hundred thousand lines. */
const MAX_LEXEMES = 1_000_000;

/** Deepest nesting of brackets and braces. */
const MAX_BRACKETS = 200;

/** Most anchors, aliases and tags of one text; together they are an attack on memory. */
const MAX_MARKS = 1000;

/** Tokens of the lexer that are not in the text: byte order mark, document, scalar. */
const MARKERS = new Set(["\u0002", "\u0018", "\u001f"]);

/** Most aliases in one document; more are an attack on memory. */
const MAX_ALIASES = 100;

/** Most errors, and most warnings, that are reported for one text. */
const MAX_FINDINGS = 1000;

/** Reads every document of `text`, which came from `file`. Never throws. */
export function parseManifest(file: string, text: string): Manifest {
  const lines = new yaml.LineCounter();
  const source = text.replace(/^\uFEFF/, "");
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  // A text without `kind` may be a part of a SecretStore, so its lines are not shown.
  const hidden = source.includes("SecretStore") || !/\bkind["']?:/.test(source);
  const say = ({ offset, message }: Fault) =>
    `${place(offset)}: ${message}${hidden ? "" : excerptAt(source, offset)}`;
  const warn = ({ offset, message }: Fault) => `${place(offset)}: ${message}`;

  const excess = findExcess(source);
  if (excess !== undefined) {
    lines.addNewLine(0);
    for (const { index } of source.matchAll(/\n/g)) lines.addNewLine(index + 1);
    return { documents: [], errors: [warn(excess)], warnings: [] };
  }
  const parsed = yaml.parseAllDocuments(source, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false, // the library's check is quadratic; `faultsOf` does it
    logLevel: "silent",
  });
  const documents: ManifestDocument[] = [];
  const errors: Fault[] = [];
  const warnings: Fault[] = [];
  for (const doc of "empty" in parsed ? [] : parsed) {
    const syntax = findSyntaxFault(doc, source);
    const faults = syntax === undefined ? faultsOf(doc) : [syntax];
    errors.push(...faults.sort((a, b) => a.offset - b.offset).slice(0, MAX_FINDINGS));
    warnings.push(...doc.warnings.slice(0, MAX_FINDINGS).map(toWarning));
    if (faults.length > 0 || isEmpty(doc)) continue;
    try {
      const value: unknown = doc.toJS({ maxAliasCount: MAX_ALIASES });
      documents.push({ file, value, locate: (path) => place(offsetOf(doc, path)) });
    } catch {
      errors.push({ offset: doc.range[0], message: "Too many aliases, or nested too deeply" });
    }
  }
  return {
    documents,
    errors: errors.slice(0, MAX_FINDINGS).map(say),
    warnings: warnings.slice(0, MAX_FINDINGS).map(warn),
  };
}

/**
 * Finds the offset at which `text` exceeds a limit, and which; `undefined` when it exceeds none.
 * Called before the library parses the text: the library's time grows faster than the text for deep
 * nesting, and for errors that it collects one by one.
 */
function findExcess(text: string): { offset: number; message: string } | undefined {
  if (text.length > MAX_CHARACTERS) {
    return { offset: 0, message: `Longer than ${MAX_CHARACTERS} characters, split the file` };
  }
  let [offset, lexemes, brackets, marks, isScalar] = [0, 0, 0, 0, false];
  for (const lexeme of new yaml.Lexer().lex(text)) {
    if (!isScalar) {
      if (lexeme === "[" || lexeme === "{") brackets++;
      else if (lexeme === "]" || lexeme === "}") brackets--;
      else if (/^[!&*]/.test(lexeme)) marks++;
    }
    if (Math.abs(brackets) > MAX_BRACKETS) {
      return { offset, message: "Brackets are nested too deeply, or do not come in pairs" };
    }
    if (marks > MAX_MARKS) {
      return { offset, message: `More than ${MAX_MARKS} anchors, aliases and tags` };
    }
    if (++lexemes > MAX_LEXEMES) return { offset, message: "Too long, split the file" };
    isScalar = lexeme === "\u001f";
    if (!MARKERS.has(lexeme)) offset += lexeme.length;
  }
  return undefined;
}

/** A document, or the items of a list: `svc get -o yaml` prints several resources as a list. */
export function itemsOf(document: ManifestDocument): readonly ManifestDocument[] {
  if (!Array.isArray(document.value)) return [document];
  return document.value.map((value: unknown, index) => (
    { file: document.file, value, locate: (path) => document.locate([index, ...path]) }
  ));
}

/** Whether a document holds only comments or nothing. */
function isEmpty({ contents }: yaml.Document): boolean {
  return contents === null ||
    (yaml.isScalar(contents) && contents.value === null && contents.source === "");
}

/**
 * Finds duplicate keys, and aliases without an anchor before them. Not recursive, so that deep
 * nesting cannot overflow the stack.
 */
function faultsOf(doc: yaml.Document): Fault[] {
  const faults: Fault[] = [];
  const anchors = new Set<string>();
  const open: unknown[] = [doc.contents];
  while (open.length > 0) {
    const node = open.pop();
    if (yaml.isPair(node)) open.push(node.value, node.key);
    if (yaml.isAlias(node) && !anchors.has(node.source)) {
      faults.push({
        offset: startOf(node) ?? 0,
        message:
          "A text that begins with * needs quotes around it: without them it names an anchor " +
          '("&name") that is not defined before it',
      });
    }
    if (!yaml.isScalar(node) && !yaml.isCollection(node)) continue;
    if (node.anchor !== undefined) anchors.add(node.anchor);
    if (yaml.isMap(node)) addDuplicateKeys(node, faults);
    const inside = yaml.isCollection(node) ? node.items.toReversed() : [];
    for (const item of inside) open.push(item);
  }
  return faults;
}

function addDuplicateKeys(map: yaml.YAMLMap, faults: Fault[]): void {
  const keys = new Set<string>();
  for (const { key } of map.items) {
    if (!yaml.isScalar(key)) continue;
    const name = String(key.value);
    if (keys.has(name)) {
      const offset = startOf(key) ?? 0;
      faults.push({ offset, message: "Duplicate key, remove one of the two" });
    }
    keys.add(name);
  }
}

/** A finding as one line: `FILE:LINE:COLUMN: path.to.field: message`. */
export function formatFinding(document: ManifestDocument, finding: Finding): string {
  const path = finding.path.join(".");
  return `${document.locate(finding.path)}: ${path === "" ? "" : `${path}: `}${finding.message}`;
}

/** `value` as YAML text that ends in a line break, with invisible characters escaped. */
export function toYaml(value: unknown): string {
  const document = new yaml.Document(value);
  yaml.visit(document, {
    Scalar(_, node) {
      // Only double quotes have escapes.
      const { value: text } = node;
      if (typeof text === "string" && escapeInLines(text) !== text) node.type = "QUOTE_DOUBLE";
    },
  });
  return escapeInYaml(document.toString({ lineWidth: 0 }));
}

function toWarning({ code, message, pos: [offset] }: yaml.YAMLWarning): Fault {
  if (code !== "TAG_RESOLVE_FAILED") return { offset, message: withoutQuote(message) };
  return { offset, message: "Unknown tag, quote a text that begins with !" };
}

/** Offset of the key at `path`, or of the deepest part of it that exists. */
function offsetOf(doc: yaml.Document, path: FieldPath): number {
  let node: unknown = doc.contents;
  let offset = startOf(node) ?? 0;
  for (const key of path) {
    if (yaml.isAlias(node)) node = node.resolve(doc);
    if (yaml.isMap(node)) {
      const pair = node.items.find((item) => String(scalar(item.key)) === String(key));
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (yaml.isSeq(node)) {
      node = node.items[Number(key)];
      offset = startOf(node) ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}

function scalar(node: unknown): unknown {
  return yaml.isScalar(node) ? node.value : node;
}

function startOf(node: unknown): number | undefined {
  return yaml.isNode(node) ? node.range?.[0] : undefined;
}
