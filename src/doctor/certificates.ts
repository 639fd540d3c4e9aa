/**
 * The certificates that the daemon serves TLS with: how long they are valid.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { fileFault } from "../base/file_fault.ts";
import { firstEnd } from "../signatures/certificate.ts";
import { type Check, failed, type Finding, ok, warning } from "./check.ts";

/** The certificates of a daemon. */
export interface CertificatesHost {
  /** The files, by the settings that name them. */
  readonly files: readonly CertificateFile[];
  readonly now: number;
}

/** A file of certificates, PEM. */
export interface CertificateFile {
  readonly setting: string;
  readonly path: string;
}

/** Time to renew a certificate by hand. */
const SOON_MS = 14 * 86_400_000;

/** Looks at each file. */
export const certificates: Check<CertificatesHost> = {
  name: "certificates",
  look: ({ files, now }) => Promise.all(files.map((file) => lookAt(file, now))),
};

async function lookAt({ setting, path }: CertificateFile, now: number): Promise<Finding> {
  const where = `${path} (${setting})`;
  try {
    const end = firstEnd(await Deno.readTextFile(path));
    if (end === undefined) return failed(`${where} holds no readable certificate`);
    return certificateFinding(
      { where, end, cure: "renew it; the daemon reads it again by itself" },
      now,
    );
  } catch (error) {
    return warning(`${where} cannot be read (${fileFault(error)}): run this as the daemon's user`);
  }
}

/** A certificate whose end is known. */
export interface KnownCertificate {
  /** Its place, as the beginning of a sentence. */
  readonly where: string;
  /** Until when it is valid, in milliseconds since the epoch. */
  readonly end: number;
  /** What to do about one that ends. */
  readonly cure: string;
}

/** The finding about a certificate. */
export function certificateFinding({ where, end, cure }: KnownCertificate, now: number): Finding {
  const until = rfc3339(end);
  if (end <= now) {
    return failed(`${where} expired on ${until}, and senders refuse it: ${cure}`);
  }
  if (end - now < SOON_MS) return warning(`${where} expires on ${until}: ${cure}`);
  return ok(`${where} is valid until ${until}`);
}
