/**
 * The proxies of docs/team-console.md before a console, each as that page has it.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { shellCommands } from "../docs/shell_words.ts";
import { readPage } from "../docs/pages.ts";
import { makePair } from "../helpers/certificate.ts";
import { cleanEnv } from "../helpers/program.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";

const { blocks } = readPage("docs/team-console.md");

/** The block of the page in a language that has this text. */
export function block(language: string, has = ""): string {
  const found = blocks.find((one) => one.language === language && one.text.includes(has));
  ok(found !== undefined, `docs/team-console.md has a block in ${language} with "${has}"`);
  return found.text;
}

/** A proxy under test: its command, once it is configured in a directory. */
export interface Proxy {
  readonly name: string;
  /** It listens at `port` of 127.0.0.1, with `a.crt` and `a.key` of the directory if it ends TLS. */
  configure(temp: TempDir, port: number): Promise<readonly [command: string, ...args: string[]]>;
}

/** nginx, which ends TLS and passes on to a port of 127.0.0.1. */
export const nginx = (to: number): Proxy => ({
  name: "nginx",
  async configure(temp, port) {
    const lines = block("nginx")
      .replace(/(ssl_certificate )[^;]+/, `$1 ${temp.path}/a.crt`)
      .replace(/(ssl_certificate_key )[^;]+/, `$1 ${temp.path}/a.key`)
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("127.0.0.1:8443", `127.0.0.1:${to}`);
    const http =
      `access_log off; client_body_temp_path ${temp.path}/body; proxy_temp_path ${temp.path}/proxy;
      fastcgi_temp_path ${temp.path}/f; uwsgi_temp_path ${temp.path}/u; scgi_temp_path ${temp.path}/s;`;
    const main = `pid ${temp.path}/pid; error_log stderr; daemon off; master_process off;`;
    await temp.write("nginx.conf", `${main}\nevents {}\nhttp {\n${http}\n${lines}\n}\n`);
    return ["nginx", "-c", `${temp.path}/nginx.conf`];
  },
});

/** Caddy, which ends TLS and passes on to a port of 127.0.0.1. */
export const caddy = (to: number): Proxy => ({
  name: "caddy",
  async configure(temp, port) {
    const lines = block("caddy")
      .replace(
        "svc.example.com {",
        `https://svc.example.com:${port} {\n\ttls ${temp.path}/a.crt ${temp.path}/a.key`,
      )
      .replace("127.0.0.1:8443", `127.0.0.1:${to}`);
    const main = `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${temp.path}/caddy\n}\n`;
    await temp.write("Caddyfile", main + lines);
    return ["caddy", "run", "--adapter", "caddyfile", "--config", `${temp.path}/Caddyfile`];
  },
});

/** oauth2-proxy, which logs people in at a provider and passes on to the socket of a console. */
export const oauth2Proxy = (
  { socket, origin, provider, client }: {
    readonly socket: string;
    /** Where browsers find it. */
    readonly origin: string;
    readonly provider: { readonly issuer: string; readonly certFile: string };
    readonly client: { readonly id: string; readonly secret: string };
  },
): Proxy => ({
  name: "oauth2-proxy",
  async configure(temp, port) {
    await temp.write("client.secret", client.secret);
    await temp.write("cookie.secret", "c".repeat(32));
    const command = block("sh", "oauth2-proxy --provider oidc")
      .replaceAll("https://id.example.com", provider.issuer)
      .replaceAll("https://svc.example.com", origin)
      .replace("--client-id svc", `--client-id ${client.id}`)
      .replace("unix:///run/svc-console/http.sock", `unix://${socket}`)
      .replaceAll("/etc/oauth2-proxy/", `${temp.path}/`)
      .replace("127.0.0.1:4180", `127.0.0.1:${port}`);
    const words = shellCommands(command)[0]?.words ?? [];
    return ["oauth2-proxy", ...words.slice(1), "--provider-ca-file", provider.certFile];
  },
});

/** A proxy that runs; disposing of it kills it, for in order it would wait for streams. */
export interface RunningProxy extends AsyncDisposable {
  /** Its certificate, which signs itself. */
  readonly ca: string;
  /** What it has written so far. */
  readonly output: () => string;
}

/** Starts a proxy for `svc.example.com`, and waits until it listens. */
export async function startProxy(proxy: Proxy, port: number): Promise<RunningProxy> {
  await using opening = new AsyncDisposableStack();
  const temp = opening.use(await tempDir());
  const ca = await makePair(temp.path, "a", "DNS:svc.example.com");
  const [command, ...args] = await proxy.configure(temp, port);
  const child = new Deno.Command(command, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    clearEnv: true,
    env: cleanEnv({ HOME: temp.path, XDG_DATA_HOME: temp.path, XDG_CONFIG_HOME: temp.path }),
  }).spawn();
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  let isOver = false;
  const over = Promise.all([child.status, collect(child.stdout), collect(child.stderr)])
    .then(() => isOver = true);
  opening.defer(async () => {
    if (!isOver) child.kill("SIGKILL");
    await over;
  });
  await until(`the port of ${proxy.name}`, async () => {
    ok(!isOver, `${proxy.name} has ended: ${output}`);
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => undefined);
    connection?.close();
    return connection === undefined ? undefined : true;
  });
  const open = opening.move();
  return { ca, output: () => output, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Matches nothing. */
const NEVER = /(?!)/;

/** Sends a request over TLS, by its name; gives its answer until there is enough of it, or its end. */
export async function askProxy(
  port: number,
  ca: string,
  text: string,
  enough = NEVER,
): Promise<string> {
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
