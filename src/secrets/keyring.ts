/**
 * Secret values at rest. Each value is sealed with AES-256-GCM and bound to its place and version. The
 * sealed text names its form and the id of its key.
 *
 * The earlier form `svc1` is bound to the place alone: an old value of a secret can be decrypted after
 * it is put back into the database. The key file says whether this form is accepted. The database does
 * not, because an attacker with write access to it could change that.
 *
 * @module
 */

import {
  concatBytes,
  findBase64,
  findText,
  sha256Hex,
  toBase64,
  toHex,
  utf8,
} from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";

/** The place and version of a sealed value: it does not open at another place or for another version. */
export interface SecretPlace {
  /** Project of the SecretStore. */
  readonly project: string;
  /** Name of the SecretStore. */
  readonly store: string;
  /** Key within the SecretStore. */
  readonly key: string;
  /** Time at which the SecretStore was made, which distinguishes it from a deleted one of that name. */
  readonly createdAt: number;
  /** Generation of the SecretStore, which every change raises. */
  readonly generation: number;
}

/** Seals and opens secret values with one key. */
export interface Keyring {
  /** Seals `value`; the sealed text is different at each call. */
  readonly seal: (place: SecretPlace, value: string) => Promise<string>;
  /**
   * Opens a sealed value.
   *
   * @throws {AppError} `internal` when it was sealed with another key or for another place, or was
   * changed.
   */
  readonly open: (place: SecretPlace, sealed: string) => Promise<string>;
  /**
   * A key of 256 bits for one purpose, always the same for the same key file. It reveals neither the
   * key of the file nor the keys of other purposes.
   */
  readonly derive: (purpose: string) => Promise<Uint8Array<ArrayBuffer>>;
  /** Whether the key file accepts values of the earlier form. */
  readonly opensUnbound: boolean;
  /** Whether a sealed value has the earlier form. */
  readonly isUnbound: (sealed: string) => boolean;
}

/** The form of values that are bound to their version; a key file that begins so accepts no other. */
const BOUND = "svc2";
/** The earlier form; a key file that begins so accepts both. */
const UNBOUND = "svc1";
/** Bytes of the id of a key. */
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const KEY_BYTES = 32;

/** Content of a new key file: a random key of 256 bits. */
export function newKeyFile(): string {
  return `${BOUND} ${toBase64(crypto.getRandomValues(new Uint8Array(KEY_BYTES)))}\n`;
}

/** The content of a key file that no longer accepts values of the earlier form. */
export function withoutUnbound(keyFile: string): string {
  return `${keyFile.trim().replace(new RegExp(`^${UNBOUND}\\b`), BOUND)}\n`;
}

/**
 * The keyring of the key file with this content.
 *
 * @throws {AppError} `invalid` when the content is not that of a key file.
 */
export async function createKeyring(keyFile: string): Promise<Keyring> {
  const key = await importKey(keyFile);
  return {
    opensUnbound: key.opensUnbound,
    isUnbound: (sealed) => sealed.startsWith(`${UNBOUND}.`),
    seal: (place, value) => seal(key, place, value),
    open: (place, sealed) => open(key, place, sealed),
    derive: (purpose) => derive(key, purpose),
  };
}

/** The id of a key, the same in every data directory that has the key; it reveals nothing of it. */
export async function keyIdOf(keyring: Keyring): Promise<string> {
  return toHex((await keyring.derive("key id")).subarray(0, KEY_ID_BYTES));
}

/** The key of a key file. */
interface SecretKey {
  /** Names the key in sealed values. */
  readonly id: string;
  /** The key for AES-GCM. */
  readonly cipher: CryptoKey;
  /** The same key as the source of derived ones. */
  readonly source: CryptoKey;
  readonly opensUnbound: boolean;
}

async function importKey(keyFile: string): Promise<SecretKey> {
  const [form, text, ...rest] = keyFile.trim().split(/\s+/);
  const raw = text === undefined ? undefined : findBase64(text);
  const isKnown = form === BOUND || form === UNBOUND;
  if (!isKnown || raw === undefined || raw.length !== KEY_BYTES || rest.length > 0) {
    const what = form === "" ? "empty" : "damaged";
    throw new AppError(
      "invalid",
      `The secret key file is ${what}: restore it from your backup ("svc init" tells whether ` +
        "it was used)",
    );
  }
  const { subtle } = crypto;
  return {
    id: sha256Hex(raw).slice(0, 8),
    cipher: await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]),
    source: await subtle.importKey("raw", raw, "HKDF", false, ["deriveBits"]),
    opensUnbound: form === UNBOUND,
  };
}

/** Seals a value: `svc2.KEY-ID.BASE64`, where the base64 holds the nonce and the encrypted value. */
async function seal({ id, cipher }: SecretKey, place: SecretPlace, value: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const params = { name: "AES-GCM", iv, additionalData: placeAndVersion(place) };
  const encrypted = new Uint8Array(await crypto.subtle.encrypt(params, cipher, utf8(value)));
  return `${BOUND}.${id}.${toBase64(concatBytes(iv, encrypted))}`;
}

async function open(key: SecretKey, place: SecretPlace, sealed: string): Promise<string> {
  const where = `SecretStore "${place.store}" key "${place.key}"`;
  const fail = (message: string, cause?: unknown) => new AppError("internal", message, { cause });
  const [form, id, text, ...rest] = sealed.split(".");
  const bytes = text === undefined ? undefined : findBase64(text);
  const isKnown = form === BOUND || form === UNBOUND;
  if (!isKnown || bytes === undefined || rest.length > 0) {
    throw fail(`The stored value of ${where} is damaged`);
  }
  if (id !== key.id) {
    throw fail(
      `${where} was sealed with key ${id}, the key file holds ${key.id}: restore that key file`,
    );
  }
  if (form === UNBOUND && !key.opensUnbound) {
    throw fail(
      `${where} was sealed by an earlier svc, and the key file no longer opens such ` +
        "values: restore the key file that belongs to this database",
    );
  }
  const additionalData = form === BOUND ? placeAndVersion(place) : placeAlone(place);
  const params = { name: "AES-GCM", iv: bytes.subarray(0, NONCE_BYTES), additionalData };
  const decrypted = await crypto.subtle.decrypt(params, key.cipher, bytes.subarray(NONCE_BYTES))
    .catch((cause) => {
      throw fail(`The stored value of ${where} cannot be decrypted`, cause);
    });
  const value = findText(new Uint8Array(decrypted));
  if (value === undefined) throw fail(`The stored value of ${where} is not text`);
  return value;
}

async function derive(
  { source }: SecretKey,
  purpose: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const info = utf8(`svc ${purpose}`);
  const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return new Uint8Array(await crypto.subtle.deriveBits(params, source, KEY_BYTES * 8));
}

/** The context of a sealed value in the present form; JSON keeps its parts apart. */
function placeAndVersion(place: SecretPlace): Uint8Array<ArrayBuffer> {
  const { project, store, key, createdAt, generation } = place;
  return utf8(JSON.stringify(["SecretStore", project, store, key, createdAt, generation]));
}

/** The context of a sealed value in the earlier form. */
function placeAlone({ project, store, key }: SecretPlace): Uint8Array<ArrayBuffer> {
  return utf8(JSON.stringify(["SecretStore", project, store, key]));
}
