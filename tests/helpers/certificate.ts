/**
 * Certificates for servers on this machine, made by `openssl`.
 *
 * @module
 */

import { ok } from "node:assert/strict";

/**
 * Makes `NAME.key` and `NAME.crt` for this machine, signed by itself; gives the certificate as text.
 */
export async function makePair(dir: string, name: string): Promise<string> {
  const { success, stderr } = await new Deno.Command("openssl", {
    args: ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
      .concat("-keyout", `${dir}/${name}.key`, "-out", `${dir}/${name}.crt`, "-days", "2")
      .concat("-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1")
      .concat("-addext", "basicConstraints=critical,CA:FALSE"),
  }).output();
  ok(success, new TextDecoder().decode(stderr));
  return await Deno.readTextFile(`${dir}/${name}.crt`);
}

/** Whether there is an `openssl` to make them. */
export const hasOpenssl = await new Deno.Command("openssl", { args: ["version"] }).output()
  .then(({ success }) => success, () => false);
