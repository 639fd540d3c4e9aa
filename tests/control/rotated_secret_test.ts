/**
 * A secret that is changed in place while its sender keeps the old one: what is told of the key is
 * told of the value that it has, in `describe` and `explain` alike, over restarts too.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { keyUseText, type KeyUseView } from "../../src/api/key_use.ts";
import { systemClock } from "../../src/base/clock.ts";
import { keyUseView } from "../../src/control/records/key_use_view.ts";
import { SECRET } from "../rigs/webhook_rig.ts";
import { type ControlRig, controlRig } from "../rigs/control_rig.ts";

const STORE = (current: string) =>
  `kind: SecretStore\nmetadata: {name: gh}\nspec: {data: {hook: ${current}, other: never that}}\n`;
const TRIGGER = `kind: Trigger
metadata: {name: push}
spec:
  event: {source: webhook, webhook: {secret: {fromRef: gh}, signatureHeader: X-Hub-Signature-256}}
  action: {workflow: none, workspace: none}
`;

async function keysOf(rig: ControlRig): Promise<Record<string, KeyUseView>> {
  const wanted = { what: "secretstore", name: "gh", reveal: false };
  const { status } = await rig.client.call("describe", wanted);
  return (status as { keys: Record<string, KeyUseView> }).keys;
}

async function refused(rig: ControlRig): Promise<readonly string[]> {
  equal((await rig.post("push", "{}"))["http"], 401);
  const listed = await rig.client.call("get", { what: "delivery", limit: 1 });
  const [delivery] = listed.items;
  match(
    String(delivery?.["reason"]),
    /^the signature fits no key of SecretStore "gh", whose "hook" was changed 1m\S* earlier \(another/,
  );
  return (await rig.client.call("delivery.explain", { id: String(delivery?.["id"]) })).advice;
}

Deno.test({
  name: "after a rotation in place the old value's matches are told as the old value's",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    let ahead = 0;
    const clock = Object.assign(Object.create(systemClock), {
      now: () => systemClock.now() + ahead,
    }) as typeof systemClock;
    await using rig = await controlRig(undefined, clock);
    const told = async (key = "hook") => {
      const text = keyUseText((await keysOf(rig))[key] ?? never(), clock.now());
      // what takes a moment here takes none in the text
      return text.replace(/\b\d+ms\b/g, "0s").replace(/\b(\d+)m\d+s\b/g, "$1m");
    };
    await rig.apply(STORE(SECRET), TRIGGER);
    equal(await told(), "never matched, set 0s ago");
    equal((await rig.post("push", "{}"))["http"], 200);
    ahead += 5 * 60_000;
    equal(await told(), "last matched 5m ago");

    const rotate = (value: string) =>
      rig.client.call("secret.rotate", { store: "gh", key: "hook", value, create: false });
    await rotate("a new value of it");
    ahead += 60_000;
    const previous = "value changed 1m ago, not matched since; the value before it matched 6m ago";
    equal(await told(), previous);
    equal(await told("other"), "never matched, set 6m ago");
    const advice = await refused(rig);
    const facts = advice.find((line) => line.includes("value changed")) ?? "";
    match(facts, /^SecretStore "gh" has hook \(value changed 1m\S* ago, not matched since; the/);
    match(
      facts,
      /the value before it matched 6m\S* ago\), other \(never matched, set 6m\S* ago\)$/,
    );
    match(
      advice.join("\n"),
      /^Perhaps the sender still uses the earlier value: .*svc secret set gh old$/m,
    );

    await rig.restart();
    equal(await told(), previous, "after a restart");
    // An apply that does not change a value does not change the report about it.
    await rotate("a new value of it");
    await rig.apply(STORE("a new value of it").replace("never that", "another one"));
    equal(await told(), previous, "set to what it is, and beside a change of another key");
    equal(await told("other"), "never matched, set 0s ago");

    await rotate("a third value of it");
    ahead += 60_000;
    equal(
      await told(),
      "value changed 1m ago, not matched since; an earlier value matched 7m ago",
      "rotated twice",
    );
    await rotate(SECRET);
    equal((await rig.post("push", "{}"))["http"], 200);
    equal(await told(), "last matched 0s ago");
    const { hook } = await keysOf(rig);
    deepEqual([hook?.last_matched_value, hook?.matched], ["current", 2]);

    await rotate("a new value of it");
    ahead += 60_000;
    const remove = (key: string) =>
      rig.client.call("secret.remove", { store: "gh", key, force: false });
    const removed = await remove("hook");
    match(
      keyUseText(removed, clock.now()),
      /^value changed 1m\S* ago, not matched since; the value before it matched 1m\S* ago$/,
    );
    deepEqual([removed.last_matched_value, removed.matched], ["previous", 2]);
    await rejects(remove("other"), {
      message: /"other" is the only key of SecretStore "gh" \(never matched, set 2m\S* ago\), and/,
    });
  },
});

Deno.test({
  name: "what a store keeps of its changes is in no manifest and no view of it",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using rig = await controlRig();
    await rig.apply(STORE(SECRET));
    const shown = await rig.client.call("describe", {
      what: "secretstore",
      name: "gh",
      reveal: true,
    });
    deepEqual(shown["metadata"], { name: "gh", project: "default" });
    deepEqual(shown["spec"], { data: { hook: SECRET, other: "never that" } });
    await rig.restart();
    const again = await rig.apply(STORE(SECRET));
    deepEqual(again.results.map(({ action }) => action), ["unchanged"]);
  },
});

Deno.test("of a store from before its changes were kept, nobody claims which value matched", async () => {
  const view = async (lastAt: number) => {
    const { keys } = await keyUseView({
      kind: "SecretStore",
      project: "default",
      name: "gh",
      metadata: {},
      spec: { data: { hook: SECRET } },
      generation: 2,
      createdAt: 0,
      updatedAt: 1000,
    }, {
      store: {
        listKeyUse: (project, store) =>
          Promise.resolve([{ project, store, key: "hook", trigger: "push", count: 1, lastAt }]),
        recordKeyUse: never,
      },
      keyUses: { flush: () => Promise.resolve() },
      clock: { now: () => 5000 },
    });
    return keys["hook"] ?? never();
  };
  const [before, after] = [await view(999), await view(1000)];
  deepEqual([before.last_matched_value, after.last_matched_value], [null, "current"]);
  equal(keyUseText(before, 5000), "last matched 4s ago");
});

function never(): never {
  throw new Error("There is no such key");
}
