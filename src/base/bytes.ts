/**
 * Bytes and their texts: strict hexadecimal, base64 and UTF-8, and a comparison whose time does not
 * depend on where two values differ. A text that is not exactly valid gives `undefined`.
 *
 * @module
 */

import { isUtf8 } from "node:buffer";
import { createHash, hash, timingSafeEqual } from "node:crypto";

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/** The UTF-8 bytes of `text`. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(text);
}

/**
 * The text of UTF-8 `bytes`, a byte order mark kept; `undefined` when they are not UTF-8. A decoder
 * that refuses other bytes by itself makes texts of two bytes a character: to decode and parse a
 * body takes a third longer then, and twice the memory.
 */
export function findText(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? DECODER.decode(bytes) : undefined;
}

/** Functions of V8 that TypeScript's library does not declare yet (TC39 "Uint8Array to/from base64"). */
const HEX = Uint8Array as unknown as { fromHex(text: string): Uint8Array<ArrayBuffer> };
type WithSetFromHex = Uint8Array & { setFromHex(text: string): { readonly written: number } };

/** Bytes of an even-length hexadecimal text in either case; `undefined` for anything else. */
export function findHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return HEX.fromHex(text);
  } catch {
    return undefined;
  }
}

/**
 * Writes the bytes of a hexadecimal text to the start of `into`.
 *
 * @throws {Error} when the text is none, or has more bytes than `into`.
 */
export function setHex(into: Uint8Array, text: string): void {
  const { written } = (into as WithSetFromHex).setFromHex(text);
  if (written * 2 !== text.length) throw new Error("Not hexadecimal, or too long");
}

/** Bytes of padded standard base64, unused bits zero; `undefined` for anything else. */
export function findBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const end = text.slice(-4);
  return btoa(atob(end)) === end ? latin1Bytes(atob(text)) : undefined;
}

/** Lower-case hexadecimal of `bytes`. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Padded standard base64 of `bytes`. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(latin1Text(bytes));
}

/** Whether two byte strings are equal, in time that depends on their lengths only. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Whether two secret texts are equal, in time that does not depend on where they differ. */
export function equalSecrets(a: string, b: string): boolean {
  return equalBytes(utf8(sha256Hex(a)), utf8(sha256Hex(b)));
}

/** The parts, one after the other. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes as a text of code units 0 to 255, in which patterns of bytes can be searched. */
export function latin1Text(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return text;
}

/** The bytes of a text made by {@linkcode latin1Text}. */
export function latin1Bytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** SHA-256 of parts one after the other, in lower-case hexadecimal. */
export async function sha256OfParts(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash("sha256");
  for await (const part of parts) digest.update(part);
  return digest.digest("hex");
}

/** SHA-256 of `data` in lower-case hexadecimal. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** SHA-1 of `data` in lower-case hexadecimal: the name of an object of git, and for nothing else. */
export function sha1Hex(data: Uint8Array): string {
  return hash("sha1", data, "hex");
}
