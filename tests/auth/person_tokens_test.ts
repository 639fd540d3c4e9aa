/**
 * Tokens of a Person: they act in its name and with its role as it is at each call, and end with it,
 * streams that are open included.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { type Client, connect } from "../../src/api/client.ts";
import { ManualClock, setClock } from "../helpers/manual_clock.ts";
import { newToken, personOf } from "../../src/auth/tokens.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { watchRights } from "../../src/control/server/stream_rights.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { AppError } from "../../src/base/errors.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { within } from "../helpers/within.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const ada = (role: string) => `kind: Person\nmetadata: {name: ada}\nspec: {role: ${role}}\n`;
const WORKFLOW = [{
  name: "w.yaml",
  text: "kind: Workflow\nmetadata: {name: w}\nspec: {steps: [{id: a, run: make}]}\n",
}];

async function tokenOf(rig: ControlRig, more: Record<string, unknown> = {}): Promise<string> {
  const input = { person: "ada", ttl_secs: 60, name: "laptop", ...more };
  return (await rig.client.call("token.create", input as never)).token;
}

const deleteAda = ({ client }: ControlRig) =>
  client.call("delete", { targets: [{ what: "person", names: ["ada"] }] });
const you = async (client: Client) => (await client.call("status", {})).caller;
const GONE = /the Person "ada", who does not exist any more: ask an admin for a new one/;
const gone = (error: AppError) => error.code === "forbidden" && GONE.test(error.message);

controlTest("a token acts with the lower of its role and that of its Person now", async (rig) => {
  await rejects(tokenOf(rig), /No Person "ada": "svc get persons" lists them/);
  await rig.apply(ada("operator"));
  using own = connect({ socket: rig.dirs.socket }, await tokenOf(rig));
  using most = connect({ socket: rig.dirs.socket }, await tokenOf(rig, { role: "admin" }));
  using least = connect({ socket: rig.dirs.socket }, await tokenOf(rig, { role: "read_only" }));
  const roles = async () =>
    (await Promise.all([own, most, least].map(you))).map(({ name, role }) => `${name} ${role}`);
  deepEqual(await roles(), ["ada operator", "ada operator", "ada read_only"]);
  await rig.apply(ada("admin"));
  deepEqual(await roles(), ["ada operator", "ada admin", "ada read_only"]);
  await rig.apply(ada("read_only"));
  deepEqual(await roles(), ["ada read_only", "ada read_only", "ada read_only"]);
  await rejects(own.call("apply", { files: WORKFLOW, dry_run: false }), { code: "forbidden" });
  const { items } = await rig.client.call("get", { what: "control-audit", limit: 99 });
  const [denied] = items as unknown as readonly Record<string, string>[];
  deepEqual([denied?.["caller"], denied?.["role"], denied?.["result"]], [
    "ada",
    "read_only",
    "denied",
  ]);
  const tokens = await rig.client.call("get", { what: "tokens", limit: 99 });
  deepEqual(
    (tokens.items as unknown as readonly Record<string, string>[])
      .map(({ person, role }) => `${person} ${role}`),
    ["ada read_only", "ada admin", "ada operator"],
  );
});

controlTest(
  "a token ends with its Person, and is not that of the next one of this name",
  async (rig) => {
    await rig.apply(ada("admin"));
    using client = connect({ socket: rig.dirs.socket }, await tokenOf(rig));
    equal((await you(client)).name, "ada");
    await deleteAda(rig);
    await rejects(you(client), gone);
    // As a renamed Person does, which is another one.
    await rig.apply(ada("admin").replace("name: ada", "name: lovelace"));
    await rejects(you(client), gone);
    await rig.apply(ada("admin"));
    await rejects(you(client), gone);
    using again = connect({ socket: rig.dirs.socket }, await tokenOf(rig));
    equal((await you(again)).name, "ada");
  },
);

for (
  const [what, change] of [
    ["was deleted", deleteAda],
    ["got a lower role", (rig: ControlRig) => rig.apply(ada("read_only"))],
  ] as const
) {
  controlTest(`a stream ends in its midst when its Person ${what}`, async (rig) => {
    await rig.apply(ada("operator"));
    using client = connect({ socket: rig.dirs.socket }, await tokenOf(rig));
    const lines = client.stream("get.watch", { what: "tasks" } as never)[Symbol.asyncIterator]();
    await within(15_000, lines.next());
    const rest = (async () => {
      while (!(await lines.next()).done) { /* what was sent before */ }
    })().then(() => "ended", (error: AppError) => error.code);
    await change(rig);
    equal(await within(15_000, rest), "unreachable");
  });
}

controlTest(
  "a stream goes on when its Person gets a higher role, or another changes",
  async (rig) => {
    await rig.apply(ada("operator"), ada("operator").replace("name: ada", "name: bob"));
    using client = connect({ socket: rig.dirs.socket }, await tokenOf(rig));
    const lines = client.stream("get.watch", { what: "triggers" } as never)[Symbol.asyncIterator]();
    await within(15_000, lines.next());
    await rig.apply(ada("admin"));
    await rig.client.call("delete", { targets: [{ what: "person", names: ["bob"] }] });
    equal((await you(client)).role, "operator");
    await lines.return?.(undefined);
  },
);

Deno.test("who has lost the rights is looked for again by time, as no change tells of a revoked token", async () => {
  const clock = new ManualClock();
  const events = new EventHub<DaemonEvents>({ error() {} });
  let now: Caller | undefined = { name: "ada", role: "operator" };
  let fault: AppError | undefined;
  const identify = () => fault === undefined ? Promise.resolve(now) : Promise.reject(fault);
  const caller: Caller = { name: "ada", role: "operator" };
  const request = new Request("http://svc/");
  using rights = watchRights(request, caller, { identify, events, clock });
  const look = async () => {
    await clock.advance(15_000);
    return rights.signal.aborted;
  };
  equal(await look(), false);
  fault = new AppError("unreachable", "the database is away");
  equal(await look(), false, "nobody knows");
  fault = undefined;
  now = { name: "ada", role: "admin" };
  equal(await look(), false);
  now = undefined;
  equal(await look(), true);
  match(String(rights.signal.reason), /You lost the rights/);
});

Deno.test("a token is its Person's where the clock was set back after the Person was applied", () => {
  const resource = {
    kind: "Person",
    project: "",
    name: "ada",
    metadata: {},
    spec: { role: "operator" },
    generation: 1,
    createdAt: 1000,
    updatedAt: 1000,
  };
  const catalog = new Catalog([resource]);
  const host = { clock: setClock(500), newId: () => "01J", catalog };
  const { record } = newToken({ person: "ada", ttlSecs: 1, name: "x" }, host);
  equal(personOf(record, catalog)?.name, "ada");
  throws(() => personOf({ ...record, createdAt: 999 }, catalog), GONE);
});
