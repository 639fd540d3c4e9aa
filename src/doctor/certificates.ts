/**
 * The certificates that the daemon serves TLS with: how long they are valid.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { fileFault } from "../base/file_fault.ts";
import { firstEnd } from "../signatures/certificate.ts";
import { type Check, failed, type Finding, ok, warning } from "./check.ts";

/** What is looked at. */
export interface CertificatesHost {
  /** The files, by the settings that name them. */
  readonly files: readonly CertificateFile[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A file of certificates, PEM. */
export interface CertificateFile {
  readonly setting: string;
  readonly path: string;
}

/** Time that is left to somebody who renews by hand. */
const SOON_MS = 14 * 86_400_000;

/** Looks at each file. */
export const certificates: Check<CertificatesHost> = {
  name: "certificates",
  look: ({ files, now }) => Promise.all(files.map((file) => lookAt(file, now))),
};

async function lookAt({ setting, path }: CertificateFile, now: number): Promise<Finding> {
  const where = `${path} (${setting})`;
  try {
    return certificateFinding(where, firstEnd(await Deno.readTextFile(path)), now);
  } catch (error) {
    return warning(`${where} cannot be read (${fileFault(error)}): run this as the daemon's user`);
  }
}

/** What is to be said of a certificate that is valid until `end`, if that is known. */
export function certificateFinding(where: string, end: number | undefined, now: number): Finding {
  if (end === undefined) return failed(`${where} holds no certificate that can be read`);
  const until = rfc3339(end);
  const cure = "renew it; the daemon reads it again by itself";
  if (end <= now) {
    return failed(`${where} was valid until ${until}, and senders refuse it: ${cure}`);
  }
  if (end - now < SOON_MS) return warning(`${where} is valid until ${until} only: ${cure}`);
  return ok(`${where} is valid until ${until}`);
}
