import { deepStrictEqual as deepEqual, throws } from "node:assert/strict";
import { readPair } from "../../src/http/server/tls_files.ts";
import { NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** Two files, of which one is spoiled. */
async function pair(spoil: (key: string) => Promise<void>) {
  const dir = await tempDir();
  const certFile = await dir.write("cert.pem", "cert");
  const keyFile = await dir.write("key.pem", "key");
  await spoil(keyFile);
  return { certFile, keyFile, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

for (const mode of [0o600, 0o640, 0o644, 0o444]) {
  Deno.test(`readPair takes a key of mode ${mode.toString(8)}`, async () => {
    await using files = await pair((key) => Deno.chmod(key, mode));
    deepEqual(readPair(files), { cert: "cert", key: "key" });
  });
}

for (const mode of [0o602, 0o620, 0o666]) {
  Deno.test(`readPair refuses a key that others can write, of mode ${mode.toString(8)}`, async () => {
    await using files = await pair((key) => Deno.chmod(key, mode));
    throws(() => readPair(files), { code: "refused", message: /key\.pem" can be written by/ });
    throws(() => readPair({ certFile: files.keyFile, keyFile: files.certFile }), {
      message: /The certificate ".*key\.pem" can be written by/,
    });
  });
}

Deno.test({
  ...skippable("readPair refuses a key of another user, also behind a link", NOT_ROOT),
  async fn() {
    await using files = await pair(async (key) => {
      await Deno.rename(key, `${key}.real`);
      await Deno.chown(`${key}.real`, 65_534, 65_534);
      await Deno.symlink(`${key}.real`, key);
    });
    throws(() => readPair(files), { code: "refused", message: /belongs to user 65534: chown it/ });
  },
});
