/**
 * Actors that send requests which triggers must accept, and requests which they must refuse.
 *
 * @module
 */

import type { Random } from "../../tests/helpers/random.ts";
import { KEYS, MAX_BODY } from "./site.ts";
import type { Hit, Shot, World } from "./world.ts";

/**
 * Triggers that accept every signed request; a trigger listed several times is chosen more often.
 */
const GOOD = [
  "quick",
  "quick",
  "quick",
  "quick",
  "quick",
  "wide",
  "wide",
  "fails",
  "sleeps",
  "hard",
  "late",
  "ask",
  "tree",
  "replace",
  "replace",
  "queue",
  "debounced",
  "debounced",
  "limited",
  "limited",
];
const ACCEPTED = ["200 accepted"];
/**
 * The allowed answers to a repetition: `accepted` too, because its task may have failed meanwhile.
 */
const REPEATED = ["200 duplicate", "200 accepted"];

/** A body with a new key and number. */
export function bodyOf(random: Random, more: Record<string, unknown> = {}): string {
  const n = random.between(0, 2 ** 31);
  return JSON.stringify({ n, key: random.pick(KEYS), text: "$(touch PWN) `id` {{ x }}", ...more });
}

/** Triggers with concurrency groups; they get several requests of a group at once. */
const SHARING = ["replace", "queue"];

/** Good requests: some in a burst, some sent again, and every unanswered one sent again. */
export async function sendGood(world: World, random: Random): Promise<void> {
  const trigger = random.pick(GOOD);
  const shares = SHARING.includes(trigger);
  const burst = shares ? random.between(1, 3) : random.chance(0.1) ? random.between(2, 10) : 1;
  const same = shares ? { key: random.pick(KEYS) } : {};
  const shots = Array.from({ length: burst }, () => ({
    trigger,
    body: bodyOf(random, same),
    delivery: crypto.randomUUID(),
  }));
  await Promise.all(shots.map((shot) => sendUntilAnswered(world, shot)));
  const [first] = shots;
  if (first !== undefined && random.chance(0.3)) await world.shoot(first, REPEATED);
}

/** Sends a request until it is answered, as platforms do. */
async function sendUntilAnswered(world: World, shot: Shot): Promise<void> {
  let hit = await world.shoot(shot, ACCEPTED);
  while ((hit === undefined || hit.outcome === "503") && !world.stop.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    hit = await world.shoot(shot, REPEATED);
  }
}

/** The ping of GitHub. */
const PING = '{"zen":"Keep it logically awesome.","hook_id":1}';

/** Requests whose outcome depends on the settings of the trigger. */
export async function sendDecided(world: World, random: Random): Promise<void> {
  const key = random.pick(KEYS);
  const body = bodyOf(random, { key });
  await random.pick<() => Promise<Hit | undefined>>([
    () =>
      world.shoot({ trigger: "picky", body }, [`200 ${key === "red" ? "accepted" : "filtered"}`]),
    () => world.shoot({ trigger: "forbid", body }, ["200 accepted", "200 skipped"]),
    () => world.shoot({ trigger: "forbid", body }, ["200 accepted", "200 skipped"]),
    () => world.shoot({ trigger: "rejecting", body }, ["200 accepted", "429"]),
    () =>
      world.shoot({ trigger: "quick", body: PING, headers: { "x-github-event": "ping" } }, [
        "200 pong",
      ]),
  ])();
}

/** Requests that must not start a task. */
export async function sendBad(world: World, random: Random): Promise<void> {
  const body = bodyOf(random);
  const trigger = random.pick(GOOD);
  const broken = random.pick(["null", "[]", "{", '{"a":1}x', '"\ud800"', "", "7"]);
  const tooMuch = "x".repeat(MAX_BODY);
  const fitting = "x".repeat(MAX_BODY - body.length - 100);
  const chunked = random.chance(0.5);
  await random.pick<() => Promise<Hit | undefined>>([
    () => world.shoot({ trigger, body, secret: "another one, also of 32 bytes" }, ["401"]),
    () => world.shoot({ trigger, body, headers: { "x-hub-signature-256": "sha256=" } }, ["401"]),
    () => world.shoot({ trigger: "dangling-store", body }, ["401"]),
    () => world.shoot({ trigger: "dangling-crd", body }, ["401"]),
    () => world.shoot({ trigger: "open-to-nobody", body }, ["401"]),
    () => world.shoot({ trigger: "nobody", body }, ["404"]),
    () => world.shoot({ trigger, body, send: { method: "GET" } }, ["405"]),
    () => world.shoot({ trigger, body: broken }, ["400"]),
    () => world.shoot({ trigger, body, headers: { "content-type": "image/png" } }, ["415"]),
    () => world.shoot({ trigger, body, headers: { "content-encoding": "gzip" } }, ["415"]),
    () => world.shoot({ trigger, body: tooMuch + body, send: { chunked } }, ["413"]),
    () =>
      world.shoot(
        { trigger: "quick", body: bodyOf(random, { fitting }), send: { chunked } },
        ACCEPTED,
      ),
  ])();
}

/** Requests to triggers with plugins, to the rotated one, and to the suspended one. */
export async function sendSwitched(world: World, random: Random): Promise<void> {
  const body = bodyOf(random);
  switch (random.between(0, 5)) {
    case 0: {
      const [key, secret] = [world.key.watch(), world.key.value];
      const old = random.chance(0.2);
      if (secret === undefined) return;
      const shot = { trigger: "rotated", body, secret: old ? `${secret} of yesterday` : secret };
      const hit = await world.shoot(shot, ["200 accepted", "401"]);
      const wanted = old ? "401" : "200 accepted";
      insist(world, hit, key() === undefined ? undefined : wanted, "rotated");
      return;
    }
    case 1: {
      const paused = world.paused.watch();
      const hit = await world.shoot({ trigger: "paused", body }, ["200 accepted", "200 skipped"]);
      const known = paused();
      const wanted = known === true ? "200 skipped" : "200 accepted";
      insist(world, hit, known === undefined ? undefined : wanted, "paused");
      return;
    }
    case 2: {
      const store = world.store.watch();
      const hit = await world.shoot({ trigger: "toggled", body }, ["200 accepted", "401"]);
      const known = store();
      const wanted = known === "gone" ? "401" : known && "200 accepted";
      insist(world, hit, wanted, `toggled (store ${known})`);
      return;
    }
    default:
      return await sendToPlugins(world, random, body);
  }
}

const PASSES = ["yes", "yes", "yes", "yes", "no", "slow"];

async function sendToPlugins(world: World, random: Random, body: string): Promise<void> {
  const pass = random.pick(PASSES);
  const turn = random.chance(0.1) ? "broken" : "well";
  const policy = world.policy.watch();
  const headers = { "x-soak-pass": pass, "x-soak-turn": turn };
  const hit = await world.shoot({ trigger: "checked", body, headers }, [
    "200 accepted",
    "401",
    "502",
  ]);
  const good = pass !== "yes" ? "401" : turn === "broken" ? "502" : "200 accepted";
  const state = policy();
  const wanted = state === "broken" ? "401" : state && good;
  insist(world, hit, wanted, `checked (pass ${pass}, turn ${turn}, policy ${state})`);
}

/** A request that the interceptor lets through, whose failures in a row end with it. */
export async function sendThroughPlugins(world: World, random: Random): Promise<void> {
  const headers = { "x-soak-pass": "yes", "x-soak-turn": "well" };
  const body = bodyOf(random);
  await world.shoot({ trigger: "checked", body, headers }, ["200 accepted", "401", "502"]);
}

function insist(
  world: World,
  hit: Hit | undefined,
  wanted: string | undefined,
  what: string,
): void {
  if (hit === undefined || wanted === undefined) return;
  if (hit.outcome === wanted || hit.outcome === "503") return;
  world.journal.fault(`${what} was answered ${hit.outcome}, and it has to be ${wanted}`);
}
