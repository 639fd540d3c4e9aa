/**
 * The token with which an App of GitHub names itself: a JWT that is signed with its private key
 * (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app). Pure.
 *
 * @module
 */

import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { toBase64, utf8 } from "../../base/bytes.ts";
import { toJson } from "../../base/json.ts";

/** Before now, because the clocks of two machines differ. */
const BEFORE_SECS = 60;
/** After now; GitHub takes no JWT that lasts longer than ten minutes. */
const LASTS_SECS = 9 * 60;

/** A JWT, and when it ends. */
export interface AppJwt {
  readonly token: string;
  /** Milliseconds since the epoch, by the clock with which it was made. */
  readonly endsAt: number;
}

/** The private key in a PEM as GitHub gives it (PKCS#1), or in PKCS#8; `undefined` for other texts. */
export function findPrivateKey(pem: string): KeyObject | undefined {
  if (!/^\s*-----BEGIN (RSA )?PRIVATE KEY-----\s/.test(pem)) return undefined;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Makes a JWT; `issuer` is the client id or the id of the App, `now` in milliseconds. */
export function makeAppJwt(key: KeyObject, issuer: string, now: number): AppJwt {
  const at = Math.floor(now / 1000);
  const claims = { iat: at - BEFORE_SECS, exp: at + LASTS_SECS, iss: issuer };
  const text = [{ alg: "RS256", typ: "JWT" }, claims].map((part) => base64url(utf8(toJson(part))))
    .join(".");
  const signature = base64url(sign("sha256", utf8(text), key));
  return { token: `${text}.${signature}`, endsAt: claims.exp * 1000 };
}

function base64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
