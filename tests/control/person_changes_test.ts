/**
 * What Persons do, in the control audit: each change has a row in their name, and callers that are nobody
 * in particular have none. From it come the list by caller, and when a Person was seen last.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { connect } from "../../src/api/client.ts";
import { OPERATIONS } from "../../src/api/operations.ts";
import { recordingPersons } from "../../src/control/records/person_changes.ts";
import { toText, trigger } from "../helpers/manifests.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const ada = (role = "operator") =>
  toText([{ kind: "Person", metadata: { name: "ada" }, spec: { role, is: ["header:ada"] } }]);
const flow = (run: string) =>
  toText([
    { kind: "Workflow", metadata: { name: "w" }, spec: { steps: [{ id: "a", run }] } },
    trigger("go", { workflow: "w" }),
  ]);

type Row = Readonly<Record<string, unknown>>;

async function rowsOf({ client }: ControlRig, caller: string): Promise<Row[]> {
  const { items } = await client.call("get", { what: "control-audit", caller, limit: 99 });
  return items as unknown as Row[];
}

const shown = (rows: readonly Row[]) =>
  rows.map(({ operation, target, result }) => `${operation} ${target} ${result}`).toReversed();

controlTest(
  "what a Person changes has a row in its name, and what the socket does has none",
  async (rig) => {
    await rig.apply(ada(), flow("true"));
    const { token } = await rig.client.call("token.create", {
      person: "ada",
      ttl_secs: 600,
      name: "laptop",
    });
    using her = connect({ socket: rig.dirs.socket }, token);
    await rig.client.call("trigger.suspend", { name: "go" });
    await rig.client.call("trigger.resume", { name: "go" });
    deepEqual(await rowsOf(rig, "ada"), []);

    await her.call("get", { what: "tasks" });
    await her.call("trigger.suspend", { name: "go" });
    await her.call("trigger.resume", { name: "go" });
    await rejects(her.call("trigger.suspend", { name: "gone" }));
    for await (const _ of her.stream("task.cancel.matching", { dry_run: true, state: "pending" }));
    for await (
      const _ of her.stream("task.cancel.matching", { state: "pending", reason: "a secret reason" })
    );
    for await (const _ of her.stream("delivery.redeliver", { trigger: "go", reason: "x" }));
    const files = [{ name: "-", text: flow("date") }];
    await her.call("apply", { files, dry_run: true });
    await her.call("apply", { files, dry_run: false });
    await her.call("delete", { targets: [{ what: "trigger", names: ["go"] }] });
    const rows = await rowsOf(rig, "ada");
    deepEqual(shown(rows), [
      "trigger.suspend trigger/go done",
      "trigger.resume trigger/go done",
      "trigger.suspend trigger/gone failed",
      "task.cancel.matching tasks: state=pending done",
      "delivery.redeliver deliveries: trigger=go, reason=x done",
      "apply workflow/w done",
      "delete trigger/go done",
    ]);
    deepEqual(await rowsOf(rig, "ad"), [], "a caller is a whole name");
  },
);

controlTest(
  "a login has a row, and a Person is seen with what it does, not with what one of its name did",
  async (rig) => {
    await rig.apply(ada());
    const { token } = await rig.client.call("token.create", {
      gateway: true,
      role: "operator",
      ttl_secs: 600,
      name: "console",
    });
    using gateway = connect({ socket: rig.dirs.socket }, token);
    const logIn = async (person: string) => {
      const call = { name: "person.login", body: "{}", by: "console", person } as const;
      const answer = await gateway.forward(call, new AbortController().signal);
      return [answer.status, await answer.json()] as const;
    };
    const seen = async () => {
      const { items, columns } = await rig.client.call("get", { what: "persons" });
      equal(columns?.some((column) => JSON.stringify(column).includes("SEEN")), true);
      return (items[0]?.["status"] as Row)["last_seen_at"];
    };
    equal(await seen(), undefined);
    deepEqual(await logIn("header:ada"), [200, { person: "ada" }]);
    equal((await logIn("header:eve"))[0], 401);
    const [row] = await rowsOf(rig, "ada");
    deepEqual(
      [row?.["operation"], row?.["target"], row?.["client"], row?.["result"]],
      ["person.login", "person/ada", "console", "done"],
    );
    equal(await seen(), row?.["created_at"]);
    const described = await rig.client.call("describe", {
      what: "person",
      name: "ada",
      reveal: false,
    });
    equal((described["status"] as Row)["last_seen_at"], row?.["created_at"]);

    await rejects(
      rig.client.call("person.login", {}),
      { code: "forbidden" },
      "the socket logs nobody in",
    );
    await rig.client.call("delete", { targets: [{ what: "person", names: ["ada"] }] });
    await rig.apply(ada());
    equal(await seen(), undefined);
    match(String((await rowsOf(rig, "socket"))[0]?.["operation"]), /^apply$/);
  },
);

Deno.test("a stream that its reader leaves has an end in the audit, and one that fails its reason", async () => {
  const ends: unknown[] = [];
  const host = {
    audited: () => Promise.reject(new Error("a stream is none")),
    startAudited: () =>
      Promise.resolve((failure?: unknown) => Promise.resolve(void ends.push(failure))),
  };
  const lines = async function* () {
    yield await Promise.resolve(1);
    yield 2;
    throw new Error("broken");
  };
  const handlers = Object.fromEntries(Object.keys(OPERATIONS).map((name) => [name, lines]));
  const { "task.retry.matching": retry } = recordingPersons(handlers as never, host);
  const caller = { name: "ada", person: "ada", role: "operator" } as const;
  const read = () => retry({}, caller, new AbortController().signal);
  for await (const _ of read()) break;
  deepEqual(ends, [undefined]);
  await rejects(async () => {
    for await (const _ of read());
  }, /broken/);
  match(String(ends[1]), /broken/);
});
