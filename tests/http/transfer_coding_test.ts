/**
 * No request that is hidden behind another one is served, whatever a server listens on and whether
 * or not it reads the body.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type HttpServer, serve, type ServeOptions } from "../../src/http/server/serve.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ambiguousRequests, checkOneAnswer } from "./ambiguous_requests.ts";
import { RawClient } from "../helpers/raw_client.ts";

/** What a server listens on, and how to get there. */
interface Way {
  readonly name: string;
  readonly options: (dir: string) => Promise<Partial<ServeOptions> & Pick<ServeOptions, "on">>;
  readonly connect: (server: HttpServer, dir: string) => Promise<Deno.Conn>;
}

const ON = { hostname: "127.0.0.1", port: 0 };
const tcp: Way["connect"] = ({ port }) => Deno.connect({ hostname: "127.0.0.1", port });

const WAYS: readonly Way[] = [
  { name: "TCP", options: () => Promise.resolve({ on: ON }), connect: tcp },
  {
    name: "TCP, with streams as answers",
    options: () => Promise.resolve({ on: ON, streams: true }),
    connect: tcp,
  },
  {
    name: "TCP, served by the runtime",
    options: () =>
      Promise.resolve({ on: ON, findConnectionServer: () => Promise.resolve({ lack: "a test" }) }),
    connect: tcp,
  },
  {
    name: "TLS",
    options: async (dir) => {
      await makePair(dir, "a");
      return { on: ON, tls: { certFile: `${dir}/a.crt`, keyFile: `${dir}/a.key` } };
    },
    connect: async ({ port }, dir) => {
      const caCerts = [await Deno.readTextFile(`${dir}/a.crt`)];
      return await Deno.connectTls({ hostname: "127.0.0.1", port, caCerts });
    },
  },
  {
    name: "a Unix socket",
    options: (dir) => Promise.resolve({ on: { path: `${dir}/s.sock` } }),
    connect: (_server, dir) => Deno.connect({ transport: "unix", path: `${dir}/s.sock` }),
  },
];

for (const { name, options, connect } of WAYS) {
  const reason = name === "TLS" ? NO_OPENSSL : undefined;
  Deno.test({
    ...skippable(`what is hidden behind a request is never served: ${name}`, reason),
    // A connection that was cut is gone a moment later, which the sanitizers take for a leak.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using dir = await tempDir();
      const served: string[] = [];
      await using server = await serve({
        drainMs: 100,
        log: { debug() {}, info() {}, warn() {}, error() {} },
        async handler(request) {
          const { pathname } = new URL(request.url);
          served.push(pathname);
          if (pathname === "/read") await request.text();
          return new Response(pathname);
        },
        ...await options(dir.path),
      });
      const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
      const lines = ["POST /read HTTP/1.1", "POST /unread HTTP/1.1", "GET /get HTTP/1.1"];
      for (const line of name === "TLS" ? lines.slice(0, 1) : lines) { // it takes longer
        for (const request of ambiguousRequests({ line, headers: ["Host: a"], hidden })) {
          using client = new RawClient(await connect(server, dir.path));
          await checkOneAnswer(client, request);
          deepEqual(served.splice(0).filter((path) => path === "/hidden"), [], request.what);
        }
      }
      // What is meant to follow does.
      using client = new RawClient(await connect(server, dir.path));
      await client.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" + hidden);
      match((await client.answer())?.body ?? "", /read/);
      equal((await client.answer())?.body, "/hidden");
    },
  });
}
