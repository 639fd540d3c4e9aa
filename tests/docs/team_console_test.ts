/**
 * The proxies of docs/team-console.md before a console: what they pass on opens a session, and streams
 * come through as they are sent. And what systemd says of its unit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { NO_OPENSSL } from "../helpers/certificate.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { askProxy, block, caddy, nginx, startProxy } from "../rigs/console_proxies.ts";
import { consoleRig, LOGIN_COOKIE } from "../rigs/console_rig.ts";
import { readPage } from "./pages.ts";

for (const proxyTo of [nginx, caddy]) {
  Deno.test({
    ...skippable(
      `behind ${proxyTo.name} as docs/team-console.md has it, a login opens a session and a stream`,
      missing(proxyTo.name) ?? NO_OPENSSL,
    ),
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using rig = await consoleRig({
        mode: "team",
        daemon: () => {
          const line = new TextEncoder().encode('{"first":1}\n');
          const body = new ReadableStream({ start: (controller) => controller.enqueue(line) });
          return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
        },
      });
      const own = freePort();
      await using proxy = await startProxy(proxyTo(rig.server.port), own);
      const { ca } = proxy;
      const head = (line: string, headers: readonly string[] = []) =>
        [`${line} HTTP/1.1`, "host: svc.example.com", ...headers, "", ""].join("\r\n");
      match(await askProxy(own, ca, head("GET /task/01J"), /the page/), /^HTTP\/1\.1 200/);
      match(
        await askProxy(
          own,
          ca,
          head("GET /").replace("svc.example.com", "evil.example"),
          /\r\n\r\n/,
        ),
        /^HTTP\/1\.1 (4\d\d |200 OK\r\n.*Content-Length: 0)/is,
      );
      const ticket = await rig.ticket();
      const post = (path: string, input: unknown, header: string) => {
        const body = JSON.stringify(input);
        const headers = [
          "origin: https://svc.example.com",
          "content-type: application/json",
          `content-length: ${body.length}`,
          header,
        ];
        return head(`POST ${path}`, headers) + body;
      };
      const session = await askProxy(
        own,
        ca,
        post("/session", { ticket }, `cookie: ${LOGIN_COOKIE}`),
        /"key"/,
      );
      const key = /"key":"([0-9a-f]+)"/.exec(session)?.[1];
      const watch = post("/v1/watch", { subjects: [] }, `authorization: Bearer ${key}`);
      match(await askProxy(own, ca, watch, /\{"first":1\}\n/), /^HTTP\/1\.1 200/);
    },
  });
}

Deno.test({
  ...skippable("systemd takes the unit of docs/team-console.md", missing("systemd-analyze")),
  async fn() {
    await using temp = await tempDir();
    const unit = block("ini", "[Unit]").replace("/usr/bin/svc ", `${Deno.execPath()} `);
    await temp.write("svc-console.service", unit);
    const { stderr } = await run("systemd-analyze", ["verify", `${temp.path}/svc-console.service`]);
    const faults = stderr.split("\n").filter((line) => line.includes("svc-console.service:"));
    deepEqual(faults.filter((line) => /Unknown|Invalid|Failed to parse/i.test(line)), []);
  },
});

Deno.test("the unit of docs/team-console.md starts what the page tells to make", () => {
  const unit = block("ini", "[Unit]");
  const environment = block("ini", "SVC_TOKEN");
  for (const path of ["/etc/svc-console/environment", "/etc/svc-console/login.yaml"]) {
    ok(unit.includes(path));
  }
  equal(/SVC_CA_FILE=(.*)/.exec(environment)?.[1], "/etc/svc-console/control.crt");
  const { text } = readPage("docs/team-console.md");
  for (const path of ["environment", "control.crt", "login.yaml"]) {
    ok(text.includes(`/etc/svc-console/${path}`));
  }
});
