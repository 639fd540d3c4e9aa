/**
 * The webhook server of the real program against clients that stall, too few descriptors, and with
 * TLS. Runs once, on the compiled program where there is one: it takes most of a minute.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import {
  cleanEnv,
  longTest,
  NO_DATABASE,
  ONE_PROGRAM,
  type Program,
  programTest,
  slowTest,
} from "../helpers/program.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { until } from "../helpers/until.ts";

const SECRET = "it is a long way to the top";
const PATH = "/webhook/push";
const BODY = '{"ref":"refs/heads/main"}';
const ENCODER = new TextEncoder();

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A daemon with a trigger that takes signed requests. */
async function startWithTrigger(program: Program): Promise<TestDaemon> {
  const daemon = await startDaemon(program);
  await daemon.apply(
    secretStore("github", { secret: SECRET }),
    workflow("record", "true"),
    trigger("push"),
  );
  return daemon;
}

/** Sends a signed request on a connection of its own; gives the status. */
async function sendSigned(daemon: TestDaemon): Promise<number> {
  const headers = Object.entries(githubHeaders(SECRET, BODY)).map(([name, value]) =>
    `${name}: ${value}\r\n`
  ).join("");
  return await daemon.sendRaw(
    `POST ${PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}` +
      `Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  ).catch(() => 0);
}

/** A client that stalls in one of several ways, until it is closed. */
class Stalled implements Disposable {
  /** Whether the other side has closed it. */
  closed = false;
  readonly #connection: Deno.TcpConn;
  readonly #drip: ReturnType<typeof setInterval> | undefined;

  private constructor(connection: Deno.TcpConn, drips: boolean) {
    this.#connection = connection;
    if (drips) this.#drip = setInterval(() => this.#send("x"), 2000);
    this.#watch();
  }

  static async open(daemon: TestDaemon, text: string, drips = false): Promise<Stalled> {
    const { hostname, port } = new URL(daemon.url);
    const stalled = new Stalled(await Deno.connect({ hostname, port: Number(port) }), drips);
    stalled.#send(text);
    return stalled;
  }

  #send(text: string): void {
    this.#connection.write(ENCODER.encode(text)).catch(() => {});
  }

  async #watch(): Promise<void> {
    const buffer = new Uint8Array(4096);
    while (await this.#connection.read(buffer).catch(() => null) !== null);
    this.closed = true;
    clearInterval(this.#drip);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#drip);
    this.#connection.close();
  }
}

const HALF_HEADERS = `POST ${PATH} HTTP/1.1\r\nHost: a\r\nX-Half: `;
const HALF_BODY = `POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{`;

/** Connections of clients are closed by the other side. */
const CLOSED_BY_THEM = { sanitizeOps: false, sanitizeResources: false };

longTest("300 stalled clients delay no other client, and are closed in the end", async () => {
  await using daemon = await startWithTrigger(ONE_PROGRAM);
  using clients = new DisposableStack();
  const stalled: Stalled[] = [];
  for (let n = 0; n < 100; n++) {
    for (
      const [text, drips] of [["", false], [HALF_HEADERS, false], [HALF_BODY, true]] as const
    ) {
      stalled.push(clients.use(await Stalled.open(daemon, text, drips)));
    }
  }
  const open = () => stalled.filter(({ closed }) => !closed).length;
  equal(await sendSigned(daemon), 200);
  ok(open() > 0, "who stalls was there when the answer came");
  await until("the end of all who stall", async () => {
    equal(await sendSigned(daemon), 200);
    await sleep(250);
    return open() === 0 || undefined;
  });
  equal(await daemon.stop(), 0);
}, CLOSED_BY_THEM);

programTest(
  "with 256 descriptors and 400 connections the daemon serves on",
  async () => {
    const limited: Program = {
      ...ONE_PROGRAM,
      command: "/bin/sh",
      args: ["-c", 'ulimit -n 256; exec "$@"', "sh", ONE_PROGRAM.command, ...ONE_PROGRAM.args],
    };
    await using daemon = await startWithTrigger(limited);
    using clients = new DisposableStack();
    for (let n = 0; n < 400; n++) {
      const [text, drips] = n % 2 === 0 ? ["", false] as const : [HALF_BODY, true] as const;
      clients.use(await Stalled.open(daemon, text, drips));
    }
    await until("an answer", async () => await sendSigned(daemon) === 200 || undefined);
    const task = await daemon.settled(); // steps still have descriptors
    equal(task[0]?.state, "succeeded");
    const { code, stderr } = await daemon.svc(["status"]);
    equal(code, 0, stderr);
  },
  CLOSED_BY_THEM,
);

programTest(
  "SIGTERM with 45 stalled clients ends the daemon",
  async () => {
    await using daemon = await startWithTrigger(ONE_PROGRAM);
    using clients = new DisposableStack();
    const kept = `GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`;
    for (let n = 0; n < 45; n++) {
      clients.use(await Stalled.open(daemon, ["", HALF_HEADERS, kept][n % 3] ?? ""));
    }
    equal(await sendSigned(daemon), 200);
    await daemon.settled();
    equal(await daemon.stop(), 0);
  },
  { fileOnly: NO_DATABASE, ...CLOSED_BY_THEM },
);

slowTest(
  "SIGTERM with a client that never finishes its body ends the daemon in time",
  async () => {
    await using daemon = await startWithTrigger(ONE_PROGRAM);
    using _client = await Stalled.open(daemon, HALF_BODY, true);
    equal(await sendSigned(daemon), 200);
    equal(await daemon.stop(), 0);
  },
  { fileOnly: NO_DATABASE, ...CLOSED_BY_THEM },
);

programTest(
  "svc daemon --webhook-tls-cert serves TLS and takes up a new certificate",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const dir = directory.path;
    const [one, two] = [await makePair(dir, "one"), await makePair(dir, "two")];
    const take = async (name: string) => {
      for (const kind of ["crt", "key"]) {
        await Deno.remove(`${dir}/now.${kind}`).catch(() => {});
        await Deno.symlink(`${name}.${kind}`, `${dir}/now.${kind}`); // as certbot does it
      }
    };
    await take("one");
    const flags = ["daemon", "--data-dir", dir, "--webhook-bind", "127.0.0.1:0"]
      .concat("--webhook-tls-cert", `${dir}/now.crt`, "--webhook-tls-key", `${dir}/now.key`)
      .concat("--trusted-proxy", "127.0.0.0/8");
    await using daemon = new TlsDaemon(ONE_PROGRAM, flags);
    const url = await daemon.url();
    match(url, /^https:/);
    equal(await healthOver(url, one), "ok");
    equal(await healthOver(url, two), undefined);
    await take("two");
    await until("the new certificate", async () => await healthOver(url, two));
    equal(await healthOver(url, one), undefined);
  },
  { fileOnly: NO_DATABASE, ...CLOSED_BY_THEM, skip: NO_OPENSSL },
);

/** What `/healthz` says over TLS; nothing when the server does not show this certificate. */
async function healthOver(url: string, cert: string): Promise<string | undefined> {
  using client = Deno.createHttpClient({ caCerts: [cert], poolMaxIdlePerHost: 0 });
  try {
    return (await (await fetch(`${url}/healthz`, { client })).json()).status;
  } catch {
    return undefined;
  }
}

/** A daemon that is only started and ended. */
class TlsDaemon implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;

  constructor(program: Program, flags: readonly string[]) {
    this.#child = new Deno.Command(program.command, {
      args: [...program.args, ...flags],
      clearEnv: true,
      env: cleanEnv(),
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
  }

  /** The address in the ready line. */
  async url(): Promise<string> {
    let text = "";
    for await (const chunk of this.#child.stdout) {
      text += new TextDecoder().decode(chunk);
      const found = /webhooks at (\S+[0-9])/.exec(text)?.[1];
      if (found !== undefined) return found;
    }
    throw new Error(`The daemon did not get ready: ${text}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    equal((await this.#child.status).code, 0);
  }
}
