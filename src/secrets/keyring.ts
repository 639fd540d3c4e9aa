/**
 * Secret values at rest: AES-256-GCM per value, bound to the place and the version the value
 * belongs to, with the id of the key in the envelope so that another key source can replace the
 * file.
 *
 * An earlier form was bound to the place alone: a value that was rotated away could be decrypted
 * again after it was put back into the database. The key file says whether that form is still
 * accepted, because an attacker with write access to the database could write anything there.
 *
 * @module
 */

import { concatBytes, findBase64, findText, sha256Hex, toBase64, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";

/**
 * The place and version a sealed value belongs to; moved elsewhere or put back, it does not open.
 */
export interface SecretPlace {
  /** Project of the SecretStore. */
  readonly project: string;
  /** Name of the SecretStore. */
  readonly store: string;
  /** Key within it. */
  readonly key: string;
  /** When the SecretStore was made: one of the same name that was deleted is another. */
  readonly createdAt: number;
  /** Its generation, which every change raises. */
  readonly generation: number;
}

/** Seals and opens secret values with one key. */
export interface Keyring {
  /** Text that hides `value`; different at every call. */
  seal(place: SecretPlace, value: string): Promise<string>;
  /**
   * The value hidden in `sealed`.
   *
   * @throws {AppError} `internal` when it was sealed with another key, for another place, or
   * changed.
   */
  open(place: SecretPlace, sealed: string): Promise<string>;
  /**
   * A key of 256 bits for one purpose, the same as long as the key file is: who has it can tell
   * neither this key nor that of another purpose.
   */
  derive(purpose: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Whether the key file lets values of the earlier form be opened. */
  readonly opensUnbound: boolean;
  /** Whether a sealed value is of that form. */
  isUnbound(sealed: string): boolean;
}

/** Form of values that are bound to their version, and of a key file that opens no others. */
const BOUND = "svc2";
/** The earlier form, and a key file that opens both. */
const UNBOUND = "svc1";
const NONCE_BYTES = 12;
const KEY_BYTES = 32;

/** Content of a new key file: a random key of 256 bits. */
export function newKeyFile(): string {
  return `${BOUND} ${toBase64(crypto.getRandomValues(new Uint8Array(KEY_BYTES)))}\n`;
}

/** The content of a key file once no value of the earlier form is left. */
export function withoutUnbound(keyFile: string): string {
  return `${keyFile.trim().replace(new RegExp(`^${UNBOUND}\\b`), BOUND)}\n`;
}

/**
 * The keyring of the key file with this content.
 *
 * @throws {AppError} `invalid` when the content is not that of a key file.
 */
export async function createKeyring(keyFile: string): Promise<Keyring> {
  const [format, text, ...rest] = keyFile.trim().split(/\s+/);
  const raw = text === undefined ? undefined : findBase64(text);
  const known = format === BOUND || format === UNBOUND;
  if (!known || raw === undefined || raw.length !== KEY_BYTES || rest.length > 0) {
    const what = format === "" ? "empty" : "damaged";
    throw new AppError(
      "invalid",
      `The secret key file is ${what}: restore it from your backup ("svc init" tells whether ` +
        "it was used)",
    );
  }
  const opensUnbound = format === UNBOUND;
  const keyId = sha256Hex(raw).slice(0, 8);
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);

  const source = await crypto.subtle.importKey("raw", raw, "HKDF", false, ["deriveBits"]);

  return {
    async derive(purpose) {
      const params = {
        name: "HKDF",
        hash: "SHA-256",
        salt: new Uint8Array(),
        info: utf8(`svc ${purpose}`),
      };
      return new Uint8Array(await crypto.subtle.deriveBits(params, source, KEY_BYTES * 8));
    },
    opensUnbound,
    isUnbound: (sealed) => sealed.startsWith(`${UNBOUND}.`),
    async seal(place, value) {
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const additionalData = boundTo(place);
      const params = { name: "AES-GCM", iv: nonce, additionalData };
      const hidden = new Uint8Array(await crypto.subtle.encrypt(params, key, utf8(value)));
      return `${BOUND}.${keyId}.${toBase64(concatBytes(nonce, hidden))}`;
    },
    async open(place, sealed) {
      const [kind, id, text, ...rest] = sealed.split(".");
      const bytes = text === undefined ? undefined : findBase64(text);
      const where = `SecretStore "${place.store}" key "${place.key}"`;
      const bound = kind === BOUND;
      if ((!bound && kind !== UNBOUND) || bytes === undefined || rest.length > 0) {
        throw new AppError("internal", `The stored value of ${where} is damaged`);
      }
      if (id !== keyId) {
        throw new AppError(
          "internal",
          `${where} was sealed with key ${id}, the key file holds ${keyId}: restore that key file`,
        );
      }
      if (!bound && !opensUnbound) {
        throw new AppError(
          "internal",
          `${where} was sealed by an earlier svc, and the key file no longer opens such ` +
            "values: restore the key file that belongs to this database",
        );
      }
      const iv = bytes.subarray(0, NONCE_BYTES);
      const params = {
        name: "AES-GCM",
        iv,
        additionalData: bound ? boundTo(place) : placeAlone(place),
      };
      let value: string | undefined;
      try {
        const plain = await crypto.subtle.decrypt(params, key, bytes.subarray(NONCE_BYTES));
        value = findText(new Uint8Array(plain));
      } catch (cause) {
        throw new AppError("internal", `The stored value of ${where} cannot be decrypted`, {
          cause,
        });
      }
      if (value === undefined) {
        throw new AppError("internal", `The stored value of ${where} is not text`);
      }
      return value;
    },
  };
}

/** JSON keeps the parts apart whatever they contain. */
function boundTo(place: SecretPlace): Uint8Array<ArrayBuffer> {
  const { project, store, key, createdAt, generation } = place;
  return utf8(JSON.stringify(["SecretStore", project, store, key, createdAt, generation]));
}

/** What the earlier form was bound to. */
function placeAlone({ project, store, key }: SecretPlace): Uint8Array<ArrayBuffer> {
  return utf8(JSON.stringify(["SecretStore", project, store, key]));
}
