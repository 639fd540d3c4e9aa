/**
 * The proxy of a step: what is let through, what is refused, and what is said of it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok as yes,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { always, egressRig, HEAD, ok, rawServer } from "../rigs/egress_rig.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { openEgress } from "../../src/egress/egress.ts";

const connectTo = (authority: string, version = "1.1") =>
  `CONNECT ${authority} HTTP/${version}\r\nHost: ${authority}\r\n\r\n`;

Deno.test("CONNECT to an allowed host is a tunnel, whose bytes pass as they are", async () => {
  await using server = rawServer(async ({ until, send }) => {
    await until(/^\0hello\xff/);
    await send("\x01back\r\n\r\n\xfe");
    await until(/^more/);
    await send("done");
  });
  const host = `a.example:${server.port}`;
  await using rig = await egressRig({ allow: [host, `127.0.0.1:${server.port}`] });
  const client = await Deno.connect({ transport: "unix", path: rig.path });
  const write = (text: string) => client.write(Uint8Array.from(text, (c) => c.charCodeAt(0)));
  const buffer = new Uint8Array(1000);
  const read = async () => {
    const count = await client.read(buffer);
    return count === null ? null : new TextDecoder("latin1").decode(buffer.subarray(0, count));
  };
  await write(connectTo(host) + "\0hello\xff"); // the first bytes may come with the request
  equal(await read(), "HTTP/1.1 200 Connection established\r\n\r\n");
  equal(await read(), "\x01back\r\n\r\n\xfe".replace("\xfe", "þ"));
  await write("more");
  equal(await read(), "done");
  equal(await read(), null);
  client.close();
  const reached = await until("the end", () => rig.reached(host));
  deepEqual(
    { requests: reached.requests, sent: reached.sentBytes, received: reached.receivedBytes },
    { requests: 1, sent: 11, received: 14 },
  );
  equal(reached.way, "tunnel");
  deepEqual(rig.lines, []);
});

Deno.test("socat and OpenSSH ask for tunnels with HTTP/1.0", async () => {
  await using server = rawServer(({ send }) => send("SSH-2.0-x\r\n"));
  const address = `127.0.0.1:${server.port}`;
  await using rig = await egressRig({ allow: [address] });
  const answer = await rig.ask(`CONNECT ${address} HTTP/1.0\r\n\r\n`);
  equal(answer?.status, 200);
});
