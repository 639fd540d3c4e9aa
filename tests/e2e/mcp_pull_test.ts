/**
 * `github_pr_create` of `svc mcp`: a model hands over its working tree, from inside its sandbox.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { NO_DATABASE, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { runStep, stepRig } from "../rigs/step_rig.ts";

const calls = (...given: readonly Record<string, unknown>[]) =>
  given.map((params, id) =>
    JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }) + "\n"
  ).join("");

programTest("a model opens a pull request with what lies in its worktree", async () => {
  await using rig = await stepRig();
  const first = calls(
    {
      name: "github_pr_create",
      arguments: { title: "Say more", body: "As asked.", key: "more", start: "0".repeat(40) },
    },
    { name: "github_pr_create", arguments: { title: "Say more", body: "As asked.", key: "more" } },
  );
  const script = `
echo "one more line" > more.txt
printf '%s' '${first}' | svc mcp | sort
printf '%s' '${calls({ name: "github_pr_push", arguments: {} })}' | svc mcp`;
  const { task, state, printed } = await runStep(rig, { isolation: "worktree" }, script);
  equal(state, "succeeded", printed);
  const answers = printed.split("\n").filter((line) => line.includes('"jsonrpc"'))
    .map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  const [bad, made, pushed] = answers;
  match(bad.result.content[0].text, /Unknown field "start"/);
  const { state: queued, files, added, task_id } = JSON.parse(made.result.content[0].text);
  deepEqual([queued, files, added, task_id], ["pending", 1, 1, task]);
  equal(pushed.error.code, -32602, "may has no push, so there is no such tool");
  const messages = await rig.daemon.json("get", "outbox") as { kind: string }[];
  deepEqual(messages.map(({ kind }) => kind), ["github-pull"]);
}, { skip: missing("git") ?? NO_SANDBOX, fileOnly: NO_DATABASE });
