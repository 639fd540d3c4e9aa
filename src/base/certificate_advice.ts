/**
 * What to do when a certificate of another server does not count. Which authorities count is the same
 * for every connection: the public ones, and those in the file that `DENO_CERT` names.
 *
 * @module
 */

/** The runtime's words about a failed TLS connection, and what to do about them where svc knows it. */
export function withCertificateAdvice(said: string): string {
  if (/UnknownIssuer/.test(said)) {
    return `${said}: name the file of the authority that signed it in DENO_CERT`;
  }
  if (/opening CA file/.test(said)) return `${said}: that is the file in DENO_CERT`;
  return said;
}
