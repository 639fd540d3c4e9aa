/**
 * Whether the APIs of a sandbox are reached: by the rules by which its traffic leaves, and without a
 * request.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import type { Network } from "../../src/resources/network.ts";
import { reachApis } from "../../src/tasks/sandbox/sandbox_network.ts";

const { signal } = new AbortController();

/** What is said of the APIs at these addresses. */
async function reach(urls: readonly string[], resolve: (name: string) => Promise<string[]>) {
  const network: Network = {
    inject: urls.map((url, index) => ({ url, env: `URL_${index}` })),
  };
  const planned = { name: "agents", spec: { network } };
  const dialling = { resolve };
  return await Array.fromAsync(reachApis(planned, { clock: systemClock, signal, dialling }));
}

const unknown = () => Promise.reject(new Error("no such name"));

Deno.test("an API is connected to once, and sent nothing", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`;
  const accepting = (async () => {
    using connection = await listener.accept();
    return await connection.read(new Uint8Array(10));
  })();
  deepEqual(await reach([`${url}/v1`, `${url}/v2`], unknown), [{ api: url }]);
  deepEqual(await accepting, null);
});

Deno.test("an API that is not reached says why", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`;
  listener.close();
  deepEqual(await reach([url], unknown), [{ api: url, fault: "nothing listens there" }]);
  deepEqual(await reach(["https://api.example.com"], unknown), [
    { api: "https://api.example.com", fault: "its name is not known (DNS)" },
  ]);
  const [inside] = await reach(["https://api.example.com"], () => Promise.resolve(["10.0.0.1"]));
  match(inside?.fault ?? "", /^api\.example\.com:443 is 10\.0\.0\.1, .* "agents" does not name$/);
});

Deno.test("a network without rules has no APIs", async () => {
  for (const network of ["all", "none"] as const) {
    const reached = reachApis({ spec: { network } }, { clock: systemClock, signal });
    deepEqual(await Array.fromAsync(reached), []);
  }
});
