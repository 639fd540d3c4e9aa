/**
 * Signatures by the key of an X.509 certificate, whose URL the sender names. The platform's file
 * decides which URLs are allowed, and the daemon fetches the certificate.
 *
 * @module
 */

import { constants, verify, X509Certificate } from "node:crypto";
import type { VerifyFailure } from "./scheme.ts";

/** Requirements of a certificate. */
export interface CertificateRules {
  /** Names; the certificate is issued for one of them. */
  readonly hosts: readonly string[];
  /** Time at which it is valid, in milliseconds since the epoch. */
  readonly now: number;
}

/** The signed bytes and their signature: RSA (PKCS #1 v1.5). */
export interface RsaSigned {
  readonly hash: "sha1" | "sha256";
  readonly data: Uint8Array;
  readonly signature: Uint8Array;
}

/** Fewest bits of an accepted key. */
const MIN_BITS = 2048;

/**
 * Why a certificate does not verify a signature; `undefined` when it does.
 *
 * @param pem One certificate, with nothing around it.
 */
export function refusedCertificate(
  pem: string,
  { hosts, now }: CertificateRules,
  { hash, data, signature }: RsaSigned,
): VerifyFailure | undefined {
  const certificate = readCertificate(pem);
  if (certificate === undefined) return "certificate_malformed";
  const { validFromDate, validToDate, publicKey } = certificate;
  if (now < validFromDate.getTime() || now > validToDate.getTime()) return "certificate_expired";
  if (!hosts.some((host) => certificate.checkHost(host) !== undefined)) {
    return "certificate_foreign";
  }
  const { modulusLength = 0 } = publicKey.asymmetricKeyDetails ?? {};
  if (publicKey.asymmetricKeyType !== "rsa" || modulusLength < MIN_BITS) {
    return "certificate_malformed";
  }
  const key = { key: publicKey, padding: constants.RSA_PKCS1_PADDING };
  return verify(hash, data, key, signature) ? undefined : "certificate_differs";
}

/**
 * Milliseconds since the epoch at which the first certificate of a file expires; `undefined` if the
 * file has none, or one of them cannot be read.
 */
export function firstEnd(pem: string): number | undefined {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ??
    [];
  const ends = certificates.map((one) => readCertificate(one)?.validToDate.getTime());
  return ends.reduce(
    (first, end) => first === undefined || end === undefined ? undefined : Math.min(first, end),
    ends[0],
  );
}

const ONE_PEM = /^-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----$/;

function readCertificate(pem: string): X509Certificate | undefined {
  const text = pem.replaceAll(/\r/g, "").trim();
  if (!ONE_PEM.test(text)) return undefined;
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
