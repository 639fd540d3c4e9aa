/**
 * Actors that change what other actors rely on: they rotate keys, suspend a trigger, and break the
 * files of policy and roles for a moment.
 *
 * @module
 */

import { join } from "node:path";
import { toText } from "../../tests/helpers/manifests.ts";
import type { Random } from "../../tests/helpers/random.ts";
import { BROKEN_POLICY, GOOD_POLICY, TOGGLED, writePolicy } from "./site.ts";
import type { World } from "./world.ts";

/** Makes a change, and repeats it until it is confirmed. */
export async function disturb(world: World, random: Random): Promise<void> {
  switch (random.between(0, 8)) {
    case 0:
    case 1:
    case 2:
      return await rotate(world);
    case 3:
    case 4:
      return await setPaused(world, world.paused.value !== true);
    case 5:
      return await breakPolicy(world, random);
    case 6:
    case 7:
      return await toggleStore(world);
    default:
      return await breakRoles(world, random);
  }
}

async function rotate(world: World): Promise<void> {
  const value = `a key of its own: ${crypto.randomUUID()}`;
  const input = { store: "rotating", key: "webhook_secret", value, create: false };
  await insist(() =>
    world.key.change(value, async () => await world.call("secret.rotate", input) !== undefined)
  );
  world.journal.count("key rotated");
}

async function setPaused(world: World, paused: boolean): Promise<void> {
  const name = paused ? "trigger.suspend" : "trigger.resume";
  await insist(() =>
    world.paused.change(
      paused,
      async () => await world.call(name, { name: "paused" }) !== undefined,
    )
  );
  world.journal.count(name);
}

async function toggleStore(world: World): Promise<void> {
  const next = world.store.value === "there" ? "gone" : "there";
  const apply = { files: [{ name: "-", text: toText([TOGGLED]) }], dry_run: false };
  const targets = [{ what: "secretstores", names: ["toggled"] }];
  const remove = { targets, used: "delete" } as const;
  await insist(() =>
    world.store.change(
      next,
      async () =>
        next === "there"
          ? await world.call("apply", apply) !== undefined
          // A daemon may be killed after the deletion and before its answer; then the store is
          // gone.
          : await world.call("delete", remove, ["not_found"]) !== undefined || await isGone(world),
    )
  );
  world.journal.count(`store ${next}`);
}

async function isGone(world: World): Promise<boolean> {
  const stores = await world.call("get", { what: "secretstores" });
  return stores !== undefined && !stores.names.includes("secretstore/toggled");
}

async function breakPolicy(world: World, random: Random): Promise<void> {
  await setPolicy(world, "broken");
  await new Promise((resolve) => setTimeout(resolve, random.between(500, 1500)));
  await setPolicy(world, "good");
  world.journal.count("policy broken");
}

async function setPolicy(world: World, state: "good" | "broken"): Promise<void> {
  await world.policy.change(state, async () => {
    await writePolicy(world.site, state === "good" ? GOOD_POLICY : BROKEN_POLICY);
    return true;
  });
}

async function breakRoles(world: World, random: Random): Promise<void> {
  const paths = world.site.directories.map(({ path }) =>
    join(path, "control-plane/uds-policy.yaml")
  );
  await world.roles.change("broken", async () => {
    for (const path of paths) {
      await Deno.writeTextFile(path, "max_role: [emperor\n", { mode: 0o600 });
    }
    return true;
  });
  await new Promise((resolve) => setTimeout(resolve, random.between(300, 800)));
  await world.roles.change("good", async () => {
    for (const path of paths) await Deno.remove(path);
    return true;
  });
  world.journal.count("roles broken");
}

/** Repeats `act` until it succeeds, also after the actors are to stop. */
async function insist(act: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await act()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("What was to be changed could not be, many times over");
}
