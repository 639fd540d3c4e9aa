/**
 * A request that is hidden behind another one is served at none of the addresses of the program:
 * webhooks and the control plane, each with TLS too, the control socket, and the console.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { ConsoleProcess } from "../rigs/console_process.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ambiguousRequests, checkOneAnswer } from "../http/ambiguous_requests.ts";
import { RawClient } from "../helpers/raw_client.ts";

/** An address, and what is asked there. */
interface Address {
  readonly name: string;
  readonly connect: () => Promise<Deno.Conn>;
  readonly host?: string;
  /** Lines of the requests, with one that reads its body and one that does not. */
  readonly lines: readonly string[];
  /** The path of one that is hidden, and what it would be answered. */
  readonly hidden: readonly [path: string, status: number];
}

const WEBHOOKS = {
  lines: ["POST /webhook/open HTTP/1.1", "POST /nothing HTTP/1.1", "GET /healthz HTTP/1.1"],
  hidden: ["/healthz", 200],
} as const;
const CONTROL_LINES = ["POST /v1/status HTTP/1.1", "GET /metrics HTTP/1.1"];

slowTest(
  "no address serves a request hidden behind another one",
  async () => {
    await using dir = await tempDir();
    const caCerts = [await makePair(dir.path, "a")];
    const files = (flag: string) =>
      [`--${flag}-tls-cert`, `${dir.path}/a.crt`].concat(`--${flag}-tls-key`, `${dir.path}/a.key`);
    const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port: controlPort } = probe.addr;
    probe.close();
    const args = ["--control-bind", `127.0.0.1:${controlPort}`, ...files("control")];
    await using plain = await startDaemon(ONE_PROGRAM, { args });
    await using secure = await startDaemon(ONE_PROGRAM, { args: files("webhook") });
    const open = trigger("open", { workflow: "greet", webhook: { allowUnsigned: true } });
    for (const daemon of [plain, secure]) await daemon.apply(workflow("greet", "echo"), open);
    await using served = new ConsoleProcess(ONE_PROGRAM, {
      args: ["--no-open"],
      env: { SVC_DATA_DIR: plain.dataDir },
    });
    const consoleUrl = new URL(await served.ready());
    const tcp = ({ hostname, port }: URL) => Deno.connect({ hostname, port: Number(port) });
    const tls = (port: number) => Deno.connectTls({ hostname: "127.0.0.1", port, caCerts });
    const socket = `${plain.dataDir}/control-plane/svc.sock`;
    const addresses: readonly Address[] = [
      { name: "webhooks", connect: () => tcp(new URL(plain.url)), ...WEBHOOKS },
      {
        name: "webhooks with TLS",
        connect: () => tls(Number(new URL(secure.url).port)),
        lines: WEBHOOKS.lines.slice(0, 1), // each connection takes longer
        hidden: WEBHOOKS.hidden,
      },
      {
        name: "control socket",
        connect: () => Deno.connect({ transport: "unix", path: socket }),
        lines: CONTROL_LINES,
        hidden: ["/metrics", 200],
      },
      {
        name: "control plane with TLS",
        connect: () => tls(controlPort),
        lines: CONTROL_LINES.slice(0, 1),
        hidden: ["/metrics", 403],
      },
      {
        name: "console",
        connect: () => tcp(consoleUrl),
        host: consoleUrl.host,
        lines: ["POST /session HTTP/1.1", "GET / HTTP/1.1"],
        hidden: ["/app.js", 200],
      },
    ];
    for (const { name, connect, host = "a", lines, hidden: [path, status] } of addresses) {
      const headers = [`Host: ${host}`, "Content-Type: application/json"];
      const hidden = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      for (const line of lines) {
        for (const request of ambiguousRequests({ line, headers, hidden })) {
          using client = new RawClient(await connect());
          await checkOneAnswer(client, { text: request.text, what: `${name}: ${request.what}` });
        }
      }
      using client = new RawClient(await connect());
      await client.send(hidden);
      equal((await client.answer())?.status, status, `${name}: it is served by itself`);
    }
  },
  { fileOnly: NO_DATABASE, skip: NO_OPENSSL },
);
