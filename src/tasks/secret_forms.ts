/**
 * The spellings in which programs print a secret (security 7): as it is, in base64, and with percent
 * escapes as browsers, curl and scripting languages write them.
 *
 * @module
 */

import { latin1Text, toBase64, utf8 } from "../base/bytes.ts";

/** Shorter values are words of any text; hiding them would make output unreadable. */
const MIN_BYTES = 6;

/** Marks that common encoders leave as they are: JavaScript, RFC 3986, forms, Python's default. */
const UNESCAPED = ["-_.!~*'()", "-_.~", "*-._", "-_.~/"];

/** Every form of `values` as text of code units 0 to 255, the longest first. */
export function secretForms(values: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const value of values.flatMap((one) => [one, one.trim()])) {
    const bytes = utf8(value);
    if (bytes.length < MIN_BYTES) continue;
    const base64 = toBase64(bytes);
    const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
    for (const form of [base64, base64url]) forms.add(form).add(form.replaceAll("=", ""));
    for (const form of percentForms(bytes)) forms.add(form);
    forms.add(latin1Text(bytes));
  }
  return [...forms].sort((a, b) => b.length - a.length);
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
