/**
 * What other users of the machine can take from the owner of a console: they reach its port, and
 * have no key.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { RawClient } from "../helpers/raw_client.ts";
import { within } from "../helpers/within.ts";
import { codeOf, type ConsoleRig, consoleRig } from "../rigs/console_rig.ts";

/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

/** The head of a POST from the page. */
function head({ host }: ConsoleRig, path: string, ...more: readonly string[]): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    `origin: http://${host}`,
    "content-type: application/json",
    ...more,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function connect({ server, address }: ConsoleRig): Promise<RawClient> {
  return RawClient.connect(server.port, address.listensOn[0]);
}

Deno.test(
  "clients without a key take no place from clients with one, and keep no newcomer out",
  LOOSE,
  async () => {
    await using rig = await consoleRig();
    using clients = new DisposableStack();
    const bearer = `authorization: Bearer ${await rig.key()}`;
    // A refusal states its length, which RawClient needs to read on.
    const call = `${head(rig, "/v1/nonsense", bearer, "content-length: 2")}{}`;
    const owner = clients.use(await connect(rig));
    await owner.send(call);
    equal((await owner.answer())?.status, 403);
    const stalls = [
      "",
      "POST /session HTTP/1.1\r\n",
      head(rig, "/session", "content-length: 100"),
      head(rig, "/v1/status", "content-length: 100"),
    ];
    for (let round = 0; round < 50; round++) {
      for (const stall of stalls) {
        const stranger = clients.use(await connect(rig));
        await stranger.send(stall).catch(() => {}); // it may be gone already
      }
      if (round % 10 > 0) continue;
      const newcomer = clients.use(await connect(rig));
      await newcomer.send(call);
      equal((await newcomer.answer())?.status, 403, `a new connection in round ${round}`);
    }
    await owner.send(call);
    equal((await owner.answer())?.status, 403, "the connection of before");
    equal(codeOf(await rig.page("/session", { ticket: "x" })), "401 unauthorized");
  },
);

Deno.test("of a client without a key, only a ticket is read", LOOSE, async () => {
  await using rig = await consoleRig();
  const answers: string[] = [];
  const heads = [
    head(rig, "/v1/status", "content-length: 1000000"),
    head(rig, "/v1/status", "authorization: Bearer x", "transfer-encoding: chunked"),
    head(rig, "/nowhere", "content-length: 1000000"),
    head(rig, "/session", "content-length: 1025"),
    head(rig, "/session", "content-length: 100000000"),
    head(rig, "/session", "transfer-encoding: chunked"),
  ];
  for (const text of heads) {
    using client = await connect(rig);
    await client.send(text); // and no byte of the body
    const answer = await within(5000, client.answer());
    ok(answer !== undefined, text);
    answers.push(codeOf(answer));
  }
  deepEqual(answers, [
    "401 unauthorized",
    "401 unauthorized",
    "404 not_found",
    "413 too_large",
    "413 too_large",
    "413 too_large",
  ]);
  using client = await connect(rig);
  await client.send(`${head(rig, "/session", "content-length: 100")}{`);
  const late = await within(8000, client.answer()); // a second, where ten were given
  equal(late === undefined ? undefined : codeOf(late), "408 timeout");
  deepEqual(rig.calls, []);
});
