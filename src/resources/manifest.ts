/**
 * Manifests: YAML or JSON text to documents that know the line of every field, and values back to
 * YAML. The only importer of the YAML library. Knows no kind.
 *
 * @module
 */

import * as yaml from "yaml";
import type { FieldPath, Finding } from "./resource.ts";

/** One document of a manifest. */
export interface ManifestDocument {
  /** File it came from, as the user named it. */
  readonly file: string;
  /** The parsed value; `undefined` where it could not be parsed. */
  readonly value: unknown;
  /** `FILE:LINE:COLUMN` of the field at `path`, or of the nearest one around it. */
  locate(path: FieldPath): string;
}

/** What a manifest holds. */
export interface Manifest {
  /** Its documents, empty ones left out. */
  readonly documents: readonly ManifestDocument[];
  /** Syntax errors, duplicate keys included: `FILE:LINE:COLUMN: message`, one line each. */
  readonly errors: readonly string[];
  /** The same for what only deserves a look. */
  readonly warnings: readonly string[];
}

/** More aliases than this in one document is an attack on memory, not a manifest. */
const MAX_ALIASES = 100;

/** Reads every document of `text`, which came from `file`. Never throws. */
export function parseManifest(file: string, text: string): Manifest {
  const lines = new yaml.LineCounter();
  const parsed = yaml.parseAllDocuments(text.replace(/^\uFEFF/, ""), {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    logLevel: "silent",
  });
  const documents: ManifestDocument[] = [];
  const errors: string[] = [];
  const warnings: string[] = [];
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  for (const doc of "empty" in parsed ? [] : parsed) {
    for (const error of doc.errors) errors.push(`${place(error.pos[0])}: ${sentence(error)}`);
    for (const warning of doc.warnings) {
      warnings.push(`${place(warning.pos[0])}: ${sentence(warning)}`);
    }
    if (doc.errors.length > 0 || doc.contents === null) continue;
    try {
      const value: unknown = doc.toJS({ maxAliasCount: MAX_ALIASES });
      documents.push({ file, value, locate: (path) => place(offsetOf(doc, path)) });
    } catch (error) {
      errors.push(
        `${place(doc.range[0])}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  return { documents, errors, warnings };
}

/** A finding as one line: `FILE:LINE:COLUMN: path.to.field: message`. */
export function formatFinding(document: ManifestDocument, finding: Finding): string {
  const path = finding.path.join(".");
  return `${document.locate(finding.path)}: ${path === "" ? "" : `${path}: `}${finding.message}`;
}

/** `value` as YAML text, ending in a line break; `documents` are separated by `---`. */
export function toYaml(value: unknown): string {
  return yaml.stringify(value, { lineWidth: 0 });
}

function sentence(error: yaml.YAMLError): string {
  if (error.code === "DUPLICATE_KEY") return "Duplicate key, remove one of the two";
  return error.message.replace(/\s+/g, " ");
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
