/**
 * The address of a console of one person: new each time, and where its links lead to, alone.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { newAddress } from "../../src/console/address.ts";
import { type ConsoleRig, consoleRig } from "../rigs/console_rig.ts";

/** What every new address is on a machine that has all of 127.0.0.0/8, and on others. */
const KINDS = {
  address: () => newAddress(() => undefined),
  name: () => newAddress((variable) => variable === "WSL_DISTRO_NAME" ? "Debian" : undefined),
} as const;

const HAS_IPV6 = Deno.networkInterfaces().some(({ address }) => address === "::1");

Deno.test("each console has an address of its own, that no other program has by chance", () => {
  for (const [kind, shape] of [["address", ADDRESS], ["name", NAME]] as const) {
    const made = Array.from({ length: 200 }, () => KINDS[kind]().host);
    for (const host of made) match(host, shape);
    equal(new Set(made).size > 198, true, kind);
    for (const host of made) equal(new URL(`http://${host}:8137/`).host, `${host}:8137`);
  }
});

const ADDRESS = /^127\.(?!0\.|255\.)[0-9]+\.[0-9]+\.(?!0$|255$)[0-9]+$/;
const NAME = /^[0-9a-f]{32}\.localhost$/;

for (const kind of ["address", "name"] as const) {
  const without = kind === "name" && !HAS_IPV6;
  const name = `it listens where its links lead to, and nowhere else on this machine: ${kind}` +
    (without ? " (SKIPPED: there is no ::1)" : "");
  Deno.test({ name, ignore: without }, async () => {
    await using rig = await consoleRig({ address: KINDS[kind]() });
    const { port } = rig.server;
    const own = Deno.networkInterfaces().map(({ address }) => address);
    const reached = new Set<string>();
    for (const hostname of [...rig.address.listensOn, "127.0.0.1", "127.0.0.2", "::1", ...own]) {
      const connection = await Deno.connect({ hostname, port }).catch(() => undefined);
      if (connection === undefined) continue;
      connection.close();
      reached.add(hostname);
    }
    deepEqual([...reached], [...rig.address.listensOn]);
    equal((await rig.send("GET /", { host: rig.host })).status, 200);
    await works(rig, await rig.key());
  });
}

Deno.test({
  name: "a name whose other address is somebody else's is not used" +
    (HAS_IPV6 ? "" : " (SKIPPED: there is no ::1)"),
  ignore: !HAS_IPV6,
  async fn() {
    using taken = Deno.listen({ hostname: "::1", port: 0 });
    const { port } = taken.addr;
    await rejects(consoleRig({ address: KINDS.name(), port }), {
      code: "refused",
      message: new RegExp(`^Cannot listen on ::1:${port}: `),
    });
    // Nothing is left at the one that was free.
    using free = Deno.listen({ hostname: "127.0.0.1", port });
    equal(free.addr.port, port);
  },
});

async function works(rig: ConsoleRig, key: string): Promise<void> {
  const { status } = await rig.page("/v1/status", {}, { authorization: `Bearer ${key}` });
  equal(status, 200);
}
