/**
 * Requests to paths that no trigger has: what an operator needs to see of them stays, whatever
 * strangers send, and they learn nothing by it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { createLog } from "../../src/base/log.ts";
import { addressMeant, UnknownPaths } from "../../src/intake/unknown_paths.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { MANIFEST, manifestResources, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TEAM = triggerYaml("push", { project: "team" }) + triggerYaml("comment");

function setUp() {
  const clock = new ManualClock();
  const logged: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    clock,
    write: (line) => void logged.push(line),
  });
  const catalog = new Catalog(manifestResources(MANIFEST + TEAM));
  const paths = new UnknownPaths({ catalog, clock, log });
  const post = (path: string, remote = "192.0.2.1") => paths.note({ method: "POST", path, remote });
  const seen = () => paths.list().map(({ path, count, meant }) => [path, count, meant]);
  return { clock, logged, catalog, paths, post, seen };
}

const MEANT: readonly (readonly [string, string | undefined])[] = [
  ["/webhook/pushh", "/webhook/push"],
  ["/webhook/push/", "/webhook/push"],
  ["/webhook/Push", "/webhook/push"],
  ["/webhooks/push", "/webhook/push"],
  ["/push", "/webhook/push"],
  ["/webhook/default/psuh", "/webhook/push"],
  ["/webhook/team/pusch", "/webhook/team/push"],
  ["/webhook/coment", "/webhook/comment"],
  ["/source/slack/default/pushh", "/source/slack/default/push"],
  ["/source/slack/team/push/", "/source/slack/team/push"],
  ["/source/push", "/source/slack/default/push"],
  ["/wp-login.php", undefined],
  ["/", undefined],
];

for (const [path, address] of MEANT) {
  Deno.test(`the address that was meant by ${path}: ${address}`, () => {
    const all = ["/webhook/push", "/webhook/team/push", "/webhook/comment"];
    equal(addressMeant(path, all), address);
  });
}

Deno.test("paths are counted, the latest first, and are gone once a trigger has them", () => {
  const { clock, post, seen, catalog, paths } = setUp();
  post("/webhook/pushh");
  clock.time += 1000;
  post("/nothing/like/it");
  clock.time += 1000;
  post("/webhook/pushh");
  deepEqual(seen(), [["/webhook/pushh", 2, "/webhook/push"], ["/nothing/like/it", 1, undefined]]);
  const [first] = paths.list();
  equal((first?.lastAt ?? 0) - (first?.firstAt ?? 0), 2000);
  const [resource] = manifestResources(triggerYaml("pushh"));
  ok(resource);
  catalog.change([{ op: "put", resource }]);
  deepEqual(seen(), [["/nothing/like/it", 1, undefined]]);
});

Deno.test("a flood of random paths takes no place from paths that resemble a trigger", () => {
  const { post, seen, logged, clock } = setUp();
  post("/webhook/pushh");
  seen();
  for (let n = 0; n < 5000; n++) {
    post(`/webhook/${crypto.randomUUID()}`, `192.0.2.${n % 250}`);
    if (n % 50 === 0) seen();
  }
  const after = seen();
  ok(after.some(([path]) => path === "/webhook/pushh"));
  ok(after.length <= 17, `${after.length}`);
  ok(logged.length <= 10, `${logged.length} lines within a minute`);
  clock.time += 60_000;
  post("/webhook/psuh");
  seen();
  ok(logged.at(-1)?.includes('"did_you_mean":"POST /webhook/push"'), logged.at(-1));
});

Deno.test("a repeated path is not pushed out by paths that come once, also near a trigger", () => {
  const { post, seen } = setUp();
  for (let n = 0; n < 2; n++) post("/webhook/pushh");
  for (let n = 0; n < 100; n++) {
    post(`/webhook/push${n % 10}`);
    seen();
  }
  post("/webhook/coment");
  const near = seen();
  ok(near.some(([path]) => path === "/webhook/pushh"), JSON.stringify(near));
  equal(near.length, 5, "four near push, one near comment");
});

Deno.test("one sender has a share of what is looked at, and a long path is cut", () => {
  const { post, seen } = setUp();
  for (let n = 0; n < 100; n++) post(`/webhook/push${n % 2}`, "192.0.2.9");
  post(`/webhook/${"x".repeat(5000)}`);
  const found = seen();
  equal(
    found.reduce(
      (sum, [path, count]) => String(path).includes("push") ? sum + Number(count) : sum,
      0,
    ),
    8,
  );
  ok(found.every(([path]) => String(path).length <= 200));
});

Deno.test("a lost request is answered as ever, and remembered wherever it got lost", async () => {
  await using rig = await webhookRig({ manifest: MANIFEST });
  const bodies = [];
  for (
    const path of ["/webhook/pushh", "/webhook/push/", "/hook/x", "/source/slack/default/pusch"]
  ) {
    const response = await rig.post(path, "{}");
    equal(response.status, path.startsWith("/source") ? 401 : 404, path);
    const { request_id: _, ...body } = await response.json();
    if (response.status === 404) bodies.push(body);
  }
  deepEqual(bodies, [bodies[0], bodies[0], bodies[0]]);
  const get = await rig.handler(new Request("http://127.0.0.1/webhook/push"), "192.0.2.7");
  equal(get.status, 405);
  await rig.handler(new Request("http://127.0.0.1/favicon.ico"), "192.0.2.7");
  deepEqual(
    rig.host.unknownPaths.list().map(({ method, path }) => `${method} ${path}`).toSorted(),
    [
      "GET /webhook/push",
      "POST /hook/x",
      "POST /source/slack/default/pusch",
      "POST /webhook/push/",
      "POST /webhook/pushh",
    ],
  );
  deepEqual(await rig.deliveries(), [], "none of them is a delivery");
});
