/**
 * Persons who change between a question and its answers: deleted, made anew under another name, with the
 * identities of somebody else, out of their group. One human never counts as two, and who may answer is
 * asked at the moment of the answer.
 *
 * @module
 */

import { match, rejects, strictEqual as equal } from "node:assert/strict";
import { type Client, connect } from "../../../src/api/client.ts";
import { until } from "../../helpers/until.ts";
import { type ControlRig, controlTest } from "../../rigs/control_rig.ts";

const person = (name: string, groups: readonly string[] = ["ops"], is: readonly string[] = []) =>
  JSON.stringify({ kind: "Person", metadata: { name }, spec: { role: "operator", groups, is } });

const asking = (approval: Record<string, unknown>) =>
  JSON.stringify({
    kind: "Workflow",
    metadata: { name: "ship" },
    spec: { steps: [{ id: "ok", approval: { ask: "Deploy?", ...approval } }] },
  });

const START = JSON.stringify({
  kind: "Trigger",
  metadata: { name: "ship" },
  spec: {
    event: { source: "webhook", webhook: { allowUnsigned: true } },
    action: { workflow: "ship", workspace: "default" },
  },
});

const HOME =
  '{"kind": "Workspace", "metadata": {"name": "default"}, "spec": {"path": "workspaces/default"}}';

/** People with tokens, and a question to them. */
class Scene implements Disposable {
  readonly #clients = new DisposableStack();
  readonly #rig: ControlRig;

  constructor(rig: ControlRig) {
    this.#rig = rig;
  }

  async as(name: string): Promise<Client> {
    const { token } = await this.#rig.client.call("token.create", {
      person: name,
      ttl_secs: 600,
      name: `of-${name}`,
    });
    return this.#clients.use(connect({ socket: this.#rig.dirs.socket }, token));
  }

  async remove(name: string): Promise<void> {
    await this.#rig.client.call("delete", { targets: [{ what: "person", names: [name] }] });
  }

  /** What the question of a task says to somebody who approves it. */
  async approve(client: Client, id: string): Promise<string> {
    const { digest } = await this.#rig.client.call("approval", { id });
    const answer = { id, answer: "approved", digest } as const;
    return (await client.call("approval.answer", answer)).text;
  }

  /** The open question that is the newest. */
  async question(known: readonly string[] = []): Promise<string> {
    return await until("the question", async () => {
      const { items } = await this.#rig.client.call("get", { what: "approvals" });
      const open = items as unknown as readonly { readonly task_id: string }[];
      return open.find(({ task_id: id }) => !known.includes(id))?.task_id;
    });
  }

  [Symbol.dispose](): void {
    this.#clients.dispose();
  }
}

const sceneTest = (
  name: string,
  approval: Record<string, unknown>,
  body: (scene: Scene, rig: ControlRig) => Promise<void>,
) =>
  controlTest(name, async (rig) => {
    using scene = new Scene(rig);
    const people = ["ada", "bob"].map((one) => person(one));
    await rig.apply(HOME, asking({ by: ["@ops"], ...approval }), START, ...people);
    await body(scene, rig);
  });

const fire = (client: Client) => client.call("trigger.fire", { name: "ship", payload: "{}" });

sceneTest("a Person who is renamed does not count twice", { need: 2 }, async (scene, rig) => {
  await fire(rig.client);
  const id = await scene.question();
  match(await scene.approve(await scene.as("ada"), id), /your answer counts, 1 of 2/);
  await scene.remove("ada");
  await rig.apply(person("lovelace"));
  const lovelace = await scene.as("lovelace");
  match(await scene.approve(lovelace, id), /your answer counts, 1 of 2/);
  match(await scene.approve(lovelace, id), /your answer already, 1 of 2/);
  match(await scene.approve(await scene.as("bob"), id), /approved, and the task goes on/);
});

sceneTest("another Person of a name has not answered yet", { need: 2 }, async (scene, rig) => {
  await fire(rig.client);
  const id = await scene.question();
  await scene.approve(await scene.as("ada"), id);
  await scene.remove("ada");
  await rig.apply(person("ada"));
  match(await scene.approve(await scene.as("bob"), id), /your answer counts, 1 of 2/);
  match(await scene.approve(await scene.as("ada"), id), /approved, and the task goes on/);
});

sceneTest("who is applied again is who it was", { need: 2 }, async (scene, rig) => {
  await fire(rig.client);
  const id = await scene.question();
  await scene.approve(await scene.as("ada"), id);
  await rig.apply(person("ada", [], ["github:1"]));
  match(await scene.approve(await scene.as("bob"), id), /approved, and the task goes on/);
});

sceneTest("no Person looks at what she has started under another name", {
  fourEyes: true,
}, async (scene, rig) => {
  await fire(await scene.as("ada"));
  const first = await scene.question();
  await scene.remove("ada");
  await rig.apply(person("lovelace"));
  const lovelace = await scene.as("lovelace");
  await rejects(
    scene.approve(lovelace, first),
    /whether lovelace is somebody else than ada, who has started the task: that Person was deleted/,
  );
  await rig.client.call("task.cancel", { ids: [first] });
  await until("its end", async () => {
    const { items } = await rig.client.call("get", { what: "tasks", name: first });
    return (items as unknown as readonly { state: string }[])[0]?.state === "cancelled" ||
      undefined;
  });
  await (await scene.as("bob")).call("task.retry", { id: first });
  const second = await scene.question([first]);
  await scene.remove("bob");
  await rig.apply(person("robert"));
  await rejects(
    scene.approve(await scene.as("robert"), second),
    /whether robert is somebody else than bob, who has retried the task: that Person was deleted/,
  );
});

sceneTest("who is out of the group answers no more", {}, async (scene, rig) => {
  await fire(rig.client);
  const id = await scene.question();
  const ada = await scene.as("ada");
  await rig.apply(person("ada", []));
  await rejects(scene.approve(ada, id), /ada is not among those who may answer: @ops/);
  await scene.remove("bob");
  await rejects(scene.approve(ada, id), /not among/);
  await rig.apply(person("ada", ["ops"]));
  match(await scene.approve(ada, id), /approved, and the task goes on/);
  const { items } = await rig.client.call("get", { what: "control-audit", limit: 99 });
  const rows = JSON.stringify(items).match(/task\/[^"]*ok approved [0-9a-f]{8} \w+/g) ?? [];
  equal(rows.length, 3, "each try has a row");
});
