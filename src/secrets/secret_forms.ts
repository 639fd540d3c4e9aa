/**
 * The forms in which programs print a secret and its parts: as it is, line by line, in a JSON text,
 * quoted by a shell that traces commands, in base64 (also within one, as in `user:secret`, or broken
 * into lines), in hexadecimal, and with percent escapes as browsers, curl and scripting languages write
 * them.
 *
 * @module
 */

import { concatBytes, latin1Text, toBase64, toHex, utf8 } from "../base/bytes.ts";
import { MIN_BYTES, MIN_PIECE_BYTES, secretParts } from "./secret_parts.ts";

/** Marks that encoders do not escape: JavaScript's, RFC 3986's, that of forms, Python's default. */
const UNESCAPED = ["-_.!~*'()", "-_.~", "*-._", "-_.~/"];

/** Widths at which `openssl`, and `base64` and MIME, break lines. */
const LINE_WIDTHS = [64, 76];
/** The width at which `xxd -p` breaks lines. */
const HEX_WIDTH = 60;

/**
 * Every form of `value` and of its parts, as text of code units 0 to 255. Values that are too short to
 * hide have none.
 */
export function secretForms(value: string): string[] {
  const forms = new Set<string>();
  const texts = [value, ...secretParts(value)].flatMap((text) => [text, text.trim()]);
  for (const text of new Set(texts)) {
    const bytes = utf8(text);
    if (bytes.length < MIN_BYTES) continue;
    for (const form of [...base64Forms(bytes), ...percentForms(bytes), ...hexForms(bytes)]) {
      forms.add(form);
    }
    const echoed = echoForm(text);
    for (
      const form of [
        text,
        echoed,
        ...jsonForms(text),
        ...shellForms(text),
        ...longLines(text),
        ...longLines(echoed),
      ]
    ) {
      forms.add(latin1Text(utf8(form)));
    }
  }
  return [...forms];
}

/** The value between the quotes of a JSON text, as JavaScript, Go, Python and PHP write it. */
function jsonForms(value: string): string[] {
  const plain = JSON.stringify(value).slice(1, -1);
  return [
    plain,
    plain.replace(/[<>&\u2028\u2029]/g, unicodeEscape),
    plain.replace(/[^\0-\x7f]/g, unicodeEscape),
    plain.replaceAll("/", "\\/"),
    plain.replaceAll("/", "\\/").replace(/[^\0-\x7f]/g, unicodeEscape),
  ];
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The value between the quotes of `set -x` in two shells, and of `export -p`. */
function shellForms(value: string): string[] {
  const single = [`'\\''`, `'"'"'`].map((quote) => value.replaceAll("'", quote));
  return [...single, value.replace(/["$`\\]/g, "\\$&")];
}

/** The output of `echo` in dash, the `sh` of Debian, which interprets the escapes of JSON. */
function echoForm(value: string): string {
  return value.replace(/\\[bfnrt\\]/g, (escape) => JSON.parse(`"${escape}"`));
}

/** The long lines of a value, such as a key file, without the lines that every key file has. */
function longLines(value: string): string[] {
  const lines = value.split("\n").map((line) => line.trim());
  return lines.length === 1
    ? []
    : lines.filter((line) =>
      utf8(line).length >= MIN_PIECE_BYTES && !/^-----(BEGIN|END) [A-Z0-9 ]+-----$/.test(line)
    );
}

function hexForms(bytes: Uint8Array): string[] {
  const lower = toHex(bytes);
  return [lower, lower.toUpperCase(), ...linesOf(lower, HEX_WIDTH)];
}

/** The base64 of the bytes alone, with and without padding, and the part of it within a longer text. */
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

/** The lines of a text that is broken at `width`, without short ones; none if one line holds the text. */
function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (let at = 0; text.length > width && at < text.length; at += width) {
    lines.push(text.slice(at, at + width));
  }
  return lines.filter((line) => line.length >= MIN_PIECE_BYTES);
}

function percentForms(bytes: Uint8Array): string[] {
  const text = latin1Text(bytes);
  const escaped = new Set(UNESCAPED.map((marks) => percentForm(text, marks)));
  escaped.delete(text);
  return [...escaped].flatMap((upper) => {
    const lower = upper.replace(/%../g, (escape) => escape.toLowerCase());
    return [upper, lower].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  });
}

/** The percent escape of each byte. */
const PERCENT = Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
);

/** Bytes with percent escapes for all but letters, digits and `marks`. */
function percentForm(text: string, marks: string): string {
  return text.replace(
    /[^A-Za-z0-9]/g,
    (char) => marks.includes(char) ? char : PERCENT[char.charCodeAt(0)] ?? char,
  );
}
