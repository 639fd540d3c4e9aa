/**
 * The configurations in docs/reverse-proxy.md are what the proxies take.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { readPage } from "./pages.ts";

const { blocks } = readPage("docs/reverse-proxy.md");

function block(language: string): string {
  const found = blocks.find((one) => one.language === language);
  ok(found !== undefined, `docs/reverse-proxy.md has a block in ${language}`);
  return found.text;
}

Deno.test({
  ...skippable("nginx takes the lines of docs/reverse-proxy.md", missing("nginx") ?? NO_OPENSSL),
  async fn() {
    await using temp = await tempDir();
    await makePair(temp.path, "a", "DNS:hooks.example.com");
    const lines = block("nginx")
      .replace(/(ssl_certificate )[^;]+/, `$1 ${join(temp.path, "a.crt")}`)
      .replace(/(ssl_certificate_key )[^;]+/, `$1 ${join(temp.path, "a.key")}`)
      .replace("listen 443 ssl", `listen unix:${join(temp.path, "socket")} ssl`);
    const logs = `pid ${temp.path}/pid; error_log stderr;`;
    const http =
      `access_log off; client_body_temp_path ${temp.path}/body; proxy_temp_path ${temp.path}/proxy;
      fastcgi_temp_path ${temp.path}/f; uwsgi_temp_path ${temp.path}/u; scgi_temp_path ${temp.path}/s;`;
    await temp.write("nginx.conf", `${logs}\nevents {}\nhttp {\n${http}\n${lines}\n}\n`);
    const { code, stderr } = await run("nginx", ["-t", "-q", "-c", join(temp.path, "nginx.conf")]);
    equal(code, 0, stderr);
  },
});

Deno.test({
  ...skippable("Caddy takes the lines of docs/reverse-proxy.md", missing("caddy")),
  async fn() {
    await using temp = await tempDir();
    await temp.write("Caddyfile", block("caddy"));
    const config = join(temp.path, "Caddyfile");
    const { code, stderr } = await run("caddy", [
      "adapt",
      "--adapter",
      "caddyfile",
      "--config",
      config,
    ]);
    equal(code, 0, stderr);
  },
});
