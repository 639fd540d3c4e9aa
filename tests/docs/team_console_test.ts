/**
 * The proxies of docs/team-console.md before a console: what they pass on opens a session, and streams
 * come through as they are sent. And what systemd says of its unit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { freePort } from "../helpers/postgres_server.ts";
import { run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { consoleRig, LOGIN_COOKIE } from "../rigs/console_rig.ts";
import { readPage } from "./pages.ts";

const { blocks } = readPage("docs/team-console.md");

function block(language: string, has = ""): string {
  const found = blocks.find((one) => one.language === language && one.text.includes(has));
  ok(found !== undefined, `docs/team-console.md has a block in ${language}`);
  return found.text;
}

/** A proxy under test: how it is configured in a directory, and started. */
interface Proxy {
  readonly name: string;
  configure(temp: TempDir, ports: { readonly own: number; readonly console: number }): Promise<
    readonly [command: string, ...args: string[]]
  >;
}

const NGINX: Proxy = {
  name: "nginx",
  async configure(temp, { own, console: port }) {
    const lines = block("nginx")
      .replace(/(ssl_certificate )[^;]+/, `$1 ${temp.path}/a.crt`)
      .replace(/(ssl_certificate_key )[^;]+/, `$1 ${temp.path}/a.key`)
      .replace("listen 443 ssl", `listen 127.0.0.1:${own} ssl`)
      .replace("127.0.0.1:8443", `127.0.0.1:${port}`);
    const http =
      `access_log off; client_body_temp_path ${temp.path}/body; proxy_temp_path ${temp.path}/proxy;
      fastcgi_temp_path ${temp.path}/f; uwsgi_temp_path ${temp.path}/u; scgi_temp_path ${temp.path}/s;`;
    const main = `pid ${temp.path}/pid; error_log stderr; daemon off; master_process off;`;
    await temp.write("nginx.conf", `${main}\nevents {}\nhttp {\n${http}\n${lines}\n}\n`);
    return ["nginx", "-c", `${temp.path}/nginx.conf`];
  },
};

const CADDY: Proxy = {
  name: "caddy",
  async configure(temp, { own, console: port }) {
    const lines = block("caddy")
      .replace(
        "svc.example.com {",
        `https://svc.example.com:${own} {\n\ttls ${temp.path}/a.crt ${temp.path}/a.key`,
      )
      .replace("127.0.0.1:8443", `127.0.0.1:${port}`);
    const main = `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${temp.path}/caddy\n}\n`;
    await temp.write("Caddyfile", main + lines);
    return ["caddy", "run", "--adapter", "caddyfile", "--config", `${temp.path}/Caddyfile`];
  },
};

/** Sends a request over TLS, by its name, and gives the first bytes of its answer. */
async function ask(port: number, ca: string, text: string, enough: RegExp): Promise<string> {
  const tcp = await Deno.connect({ hostname: "127.0.0.1", port });
  using tls = await Deno.startTls(tcp, { hostname: "svc.example.com", caCerts: [ca] });
  await tls.write(new TextEncoder().encode(text));
  const bytes = new Uint8Array(64 * 1024);
  for (let got = "";;) {
    const count = await within(10_000, tls.read(bytes));
    if (count === null || enough.test(got)) return got;
    got += new TextDecoder().decode(bytes.subarray(0, count));
    if (enough.test(got)) return got;
  }
}

for (const proxy of [NGINX, CADDY]) {
  Deno.test({
    ...skippable(
      `behind ${proxy.name} as docs/team-console.md has it, a login opens a session and a stream`,
      missing(proxy.name) ?? NO_OPENSSL,
    ),
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using temp = await tempDir();
      const ca = await makePair(temp.path, "a", "DNS:svc.example.com");
      const more = new AbortController();
      await using rig = await consoleRig({
        mode: "team",
        daemon: () => {
          const line = new TextEncoder().encode('{"first":1}\n');
          const body = new ReadableStream({ start: (controller) => controller.enqueue(line) });
          return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
        },
      });
      const own = freePort();
      const [command, ...args] = await proxy.configure(temp, { own, console: rig.server.port });
      const child = new Deno.Command(command, {
        args,
        stdin: "null",
        stdout: "null",
        stderr: "null",
        signal: more.signal,
        env: { HOME: temp.path, XDG_DATA_HOME: temp.path, XDG_CONFIG_HOME: temp.path },
      }).spawn();
      try {
        await until(`the port of ${proxy.name}`, async () => {
          const connection = await Deno.connect({ hostname: "127.0.0.1", port: own }).catch(() =>
            undefined
          );
          connection?.close();
          return connection === undefined ? undefined : true;
        });
        const head = (line: string, headers: readonly string[] = []) =>
          [`${line} HTTP/1.1`, "host: svc.example.com", ...headers, "", ""].join("\r\n");
        match(await ask(own, ca, head("GET /task/01J"), /the page/), /^HTTP\/1\.1 200/);
        match(
          await ask(own, ca, head("GET /").replace("svc.example.com", "evil.example"), /\r\n\r\n/),
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
        const session = await ask(
          own,
          ca,
          post("/session", { ticket }, `cookie: ${LOGIN_COOKIE}`),
          /"key"/,
        );
        const key = /"key":"([0-9a-f]+)"/.exec(session)?.[1];
        const watch = post("/v1/watch", { subjects: [] }, `authorization: Bearer ${key}`);
        match(await ask(own, ca, watch, /\{"first":1\}\n/), /^HTTP\/1\.1 200/);
      } finally {
        child.kill("SIGKILL"); // in order, a proxy waits for streams
        await child.status;
      }
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
