/**
 * Certificates for servers on this machine, made by `openssl`.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { missing } from "./requirements.ts";

/** Why tests that need certificates are skipped here; undefined where they can run. */
export const NO_OPENSSL = missing("openssl");

/**
 * Makes `NAME.key` and `NAME.crt`, signed by itself, for this machine or another name of the form
 * `DNS:…` or `IP:…`; gives the certificate as text.
 */
export async function makePair(
  dir: string,
  name: string,
  subject = "IP:127.0.0.1",
): Promise<string> {
  await openssl(
    dir,
    ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(" "),
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.crt`,
    "-subj",
    `/CN=${name}`,
    "-addext",
    `subjectAltName=${subject}`,
    "-addext",
    "basicConstraints=critical,CA:FALSE",
  );
  return await Deno.readTextFile(`${dir}/${name}.crt`);
}

/**
 * Makes an authority, `NAME-ca.crt`, and `NAME.key` and `NAME.crt` for 127.0.0.1, which it has signed.
 */
export async function makeSignedPair(dir: string, name: string): Promise<void> {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(" ");
  const ca = ["-keyout", `${name}-ca.key`, "-out", `${name}-ca.crt`, "-subj", `/CN=${name} CA`];
  await openssl(dir, "req", "-x509", ...key, "-days", "2", ...ca);
  const own = ["-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`];
  await openssl(dir, "req", ...key, ...own);
  const lines = "subjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n";
  await Deno.writeTextFile(`${dir}/${name}.ext`, lines);
  await openssl(
    dir,
    ..."x509 -req -days 2 -CAcreateserial".split(" "),
    "-CA",
    `${name}-ca.crt`,
    "-CAkey",
    `${name}-ca.key`,
    "-in",
    `${name}.csr`,
    "-extfile",
    `${name}.ext`,
    "-out",
    `${name}.crt`,
  );
}

/** Runs `openssl` in a directory. */
export async function openssl(cwd: string, ...args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args: [...args], cwd }).output();
  ok(success, new TextDecoder().decode(stderr));
}
