/**
 * The spellings in which programs print a secret: as it is, line by line, in a JSON text,
 * quoted as a shell traces it, in base64 (also in the middle of one, as in `user:secret`, or broken
 * into lines), and with percent escapes as browsers, curl and scripting languages write them.
 *
 * @module
 */

import { concatBytes, latin1Text, toBase64, utf8 } from "../base/bytes.ts";

/** Shorter values are words of any text; hiding them would make output unreadable. */
const MIN_BYTES = 6;

/** Marks that common encoders leave as they are: JavaScript, RFC 3986, forms, Python's default. */
const UNESCAPED = ["-_.!~*'()", "-_.~", "*-._", "-_.~/"];

/** A line of a key file is hidden alone only where it is too long for an ordinary line to be it. */
const MIN_LINE_BYTES = 16;

/** Widths at which `openssl`, and `base64` and MIME, break lines. */
const LINE_WIDTHS = [64, 76];

/**
 * Every form of `value` as text of code units 0 to 255; none of a value that is too short to hide.
 */
export function secretForms(value: string): string[] {
  const forms = new Set<string>();
  for (const text of new Set([value, value.trim()])) {
    const bytes = utf8(text);
    if (bytes.length < MIN_BYTES) continue;
    for (const form of [...base64Forms(bytes), ...percentForms(bytes)]) forms.add(form);
    for (const form of [text, jsonForm(text), ...shellForms(text), ...longLines(text)]) {
      forms.add(latin1Text(utf8(form)));
    }
  }
  return [...forms];
}

/** The value as it stands between the quotes of a JSON text. */
function jsonForm(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** The value as it stands between the quotes of `set -x` in two shells, and of `export -p`. */
function shellForms(value: string): string[] {
  const single = [`'\\''`, `'"'"'`].map((quote) => value.replaceAll("'", quote));
  return [...single, value.replace(/["$`\\]/g, "\\$&")];
}

function longLines(value: string): string[] {
  const lines = value.split("\n").map((line) => line.trim());
  return lines.length === 1 ? [] : lines.filter((line) => utf8(line).length >= MIN_LINE_BYTES);
}

/** Alone, with its padding and without; and what any text around it leaves of it as it is. */
function base64Forms(bytes: Uint8Array): string[] {
  const alone = toBase64(bytes);
  const inside = [1, 2].map((shift) =>
    toBase64(concatBytes(new Uint8Array(shift), bytes)).slice(
      shift + 1,
      Math.floor((shift + bytes.length) * 8 / 6),
    )
  );
  const first = alone.slice(0, Math.floor(bytes.length * 8 / 6));
  const lines = LINE_WIDTHS.flatMap((width) => linesOf(first, width));
  return [alone, alone.replaceAll("=", ""), first, ...inside, ...lines]
    .flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}

/**
 * A text that is broken into lines; nothing where one line holds it, or too little is left of it.
 */
function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (let at = 0; text.length > width && at < text.length; at += width) {
    lines.push(text.slice(at, at + width));
  }
  return lines.filter((line) => line.length >= MIN_LINE_BYTES);
}

function percentForms(bytes: Uint8Array): string[] {
  return UNESCAPED.flatMap((marks) => {
    const upper = percentForm(bytes, marks);
    const lower = upper.replace(/%../g, (escape) => escape.toLowerCase());
    return [upper, lower].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  });
}

/** Bytes with percent escapes for all but letters, digits and `marks`. */
function percentForm(bytes: Uint8Array, marks: string): string {
  return latin1Text(bytes).replace(
    /[^A-Za-z0-9]/g,
    (char) => marks.includes(char) ? char : `%${hex(char.charCodeAt(0))}`,
  );
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, "0");
}
