/**
 * What a command is told when something on the way to the daemon answers in its place.
 *
 * @module
 */

import { rejects } from "node:assert/strict";
import { connect } from "../../src/api/client.ts";

const ANSWERS: readonly (readonly [what: string, answer: () => Response, says: RegExp])[] = [
  [
    "a daemon that is stopping",
    () => new Response(null, { status: 503, headers: { connection: "close" } }),
    /^The daemon is stopping: try again when it runs again$/,
  ],
  [
    "a proxy",
    () => new Response("<html>Bad Gateway</html>", { status: 502 }),
    /^Something other than the daemon answered: HTTP 502$/,
  ],
];

for (const [what, answer, says] of ANSWERS) {
  Deno.test(`the answer of ${what} is no answer of the daemon`, async () => {
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, answer);
    using client = connect({ url: `http://127.0.0.1:${server.addr.port}` });
    await rejects(client.call("status", {}), { code: "unreachable", message: says });
  });
}
