/**
 * Secret values as versions before sealed them, bound to their place and to no version. Made with
 * WebCrypto, never with the code under test.
 *
 * @module
 */

import type { SecretPlace } from "../../src/secrets/keyring.ts";

/** A value that is sealed in that form with the key of a key file. */
export async function sealUnbound(
  keyFile: string,
  { project, store, key }: Pick<SecretPlace, "project" | "store" | "key">,
  value: string,
): Promise<string> {
  const raw = Uint8Array.fromBase64(keyFile.trim().split(" ")[1] ?? "");
  const id = new Uint8Array(await crypto.subtle.digest("SHA-256", raw)).slice(0, 4).toHex();
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const place = JSON.stringify(["SecretStore", project, store, key]);
  const hidden = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(place) },
    await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]),
    new TextEncoder().encode(value),
  );
  return `svc1.${id}.${new Uint8Array([...iv, ...new Uint8Array(hidden)]).toBase64()}`;
}
