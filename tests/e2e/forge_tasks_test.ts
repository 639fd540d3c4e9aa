/**
 * A task acts at the forge of its event only: with the commands, the tools, the limits and the report of
 * that forge, whatever its workflow allows at the other.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { FORGE_WORDS, type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";

const REPOSITORY = "brightwater/tidepool";
const PAYLOADS: Readonly<Record<ForgeName, Record<string, unknown>>> = {
  github: {
    repository: { full_name: REPOSITORY },
    issue: { number: 7, title: "t", pull_request: {} },
    sender: { login: "mona", id: 7 },
  },
  gitlab: {
    object_kind: "merge_request",
    project: { path_with_namespace: REPOSITORY },
    user: { id: 7, username: "mona" },
    object_attributes: { iid: 7, id: 70, title: "t", state: "opened", action: "open" },
  },
};
const OTHER = { github: "gitlab", gitlab: "github" } as const;

/** Nothing listens there: what is queued waits. */
const API = "http://127.0.0.1:1";

function manifests(forge: ForgeName): Manifest[] {
  const token = { fromSecret: { store: "tokens", key: "token" } };
  const allowed = { comment: { max: 2 }, react: {} };
  const other = OTHER[forge];
  const run = [
    `svc ${forge} may -o json > may.json`,
    `svc ${forge} comment --text "It is fine" --key a`,
    `svc ${forge} react --with eyes`,
    `if svc ${forge} review --body x 2> review; then exit 9; fi`,
    `if svc ${other} comment --text x 2> other; then exit 9; fi`,
    `svc ${other} may -o json > other.json`,
    "printf '%s\\n' " +
    `'{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | svc mcp > tools.json`,
  ].join("\n");
  return [
    secretStore("tokens", { token: "a-token-of-the-forge", hook: "the-secret-of-the-hook" }),
    ...FORGES.map((name) => ({
      kind: "Connection",
      metadata: { name },
      spec: {
        [name]: { [name === "github" ? "repository" : "project"]: REPOSITORY, api: API, token },
      },
    })),
    {
      kind: "Workflow",
      metadata: { name: "answer" },
      spec: {
        may: { [forge]: allowed, [other]: { ...allowed, review: {} } },
        steps: [{ id: "say", run }],
      },
    },
    {
      kind: "Trigger",
      metadata: { name: "answer" },
      spec: {
        event: { source: "webhook", webhook: { secret: { fromRef: "tokens" } } },
        action: { workflow: "answer", workspace: "default" },
        report: { github: { comment: "At GitHub" }, gitlab: { comment: "At GitLab" } },
      },
    },
  ];
}

const read = (daemon: TestDaemon, name: string) => Deno.readTextFile(`${daemon.workspace}/${name}`);

for (const forge of FORGES) {
  programTest(`a task acts at the forge of its event only: ${forge}`, async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(...manifests(forge));
    using client = daemon.client();
    await client.call("trigger.fire", {
      name: "answer",
      payload: JSON.stringify(PAYLOADS[forge]),
    });
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded", task?.reason);

    const may = JSON.parse(await read(daemon, "may.json"));
    deepEqual([may.connection, may.repository], [forge, REPOSITORY]);
    deepEqual(may.outputs.map(({ output }: { output: string }) => output), ["comment", "react"]);
    match(await read(daemon, "review"), new RegExp(`may\\.${forge}\\.review is not in Workflow`));

    const { title } = FORGE_WORDS[forge];
    const why = new RegExp(
      `came from an event of ${title}, so it acts at ${title} only: use svc ${forge}`,
    );
    match(await read(daemon, "other"), why);
    const other = JSON.parse(await read(daemon, "other.json"));
    deepEqual([other.outputs, other.connection, other.repository], [[], null, null]);
    deepEqual(other.refused.length, 3);
    for (const { why: said } of other.refused) match(said, why);

    const { result } = JSON.parse(await read(daemon, "tools.json"));
    const tools = (result.tools as { name: string }[]).map(({ name }) => name).toSorted();
    deepEqual(tools, [
      ...["comment", "may", "react"].map((name) => `${forge}_${name}`),
      "inbox_read",
      "output_set",
      "task_look",
    ]);

    const messages = await daemon.json("get", "outbox") as {
      kind: string;
      target: Record<string, unknown>;
    }[];
    deepEqual(messages.map(({ kind }) => kind).toSorted(), [
      `${forge}-comment`,
      `${forge}-comment`,
      `${forge}-reaction`,
    ]);
  });
}
