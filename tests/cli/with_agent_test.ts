/**
 * `svc connect … --with` on a terminal: what is asked for, and what is applied when the platform is
 * connected.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, rejects } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { command } from "../../src/cli/commands/connect_slack.ts";
import type { Io } from "../../src/cli/io.ts";
import { contextOf } from "../rigs/command_context.ts";
import { screen } from "../rigs/screen.ts";

/** A terminal before a daemon with these resources, whose user types these lines. */
function before(resources: Readonly<Record<string, unknown>>, typed: string[], isOpen = true) {
  const asked: string[] = [];
  const applied: string[] = [];
  const client = {
    call(name: string, input: Record<string, unknown>) {
      if (name === "apply") {
        applied.push(...(input["files"] as { text: string }[]).map(({ text }) => text));
        return Promise.resolve({ results: [], warnings: [], hook_failures: [] });
      }
      const spec = resources[`${input["what"]}/${input["name"]}`];
      if (spec === undefined) return Promise.reject(new AppError("not_found", "No such resource"));
      return Promise.resolve({ spec });
    },
    async *stream(name: string) {
      asked.push(name);
      const check = { ok: isOpen, fault: null, message: "it is closed" };
      yield { result: { name: "slack", to: "slack", resources: [], hooks: [], check } };
    },
    [Symbol.dispose]() {},
  };
  const { io, text } = screen(true, {
    inIsTerminal: true,
    env: (name) => name === "HOME" ? "/nowhere" : undefined,
    hiddenLine: (prompt) => (asked.push(prompt), typed.shift()),
    connect: (() => client) as unknown as Io["connect"],
  });
  const run = (options: Record<string, unknown>) =>
    Promise.resolve(command.run(contextOf(command, io, { options }), {} as never));
  return { run, asked, applied, text };
}

const DEFAULT = { "workspace/default": { path: "workspaces/default" } };
const TOKENS = ["xoxb-1", "xapp-1"];

Deno.test("the key of the agent is asked for before anything is done", async () => {
  const { run, asked, applied } = before(DEFAULT, [...TOKENS, "the-key"]);
  deepEqual(await run({ with: "codex" }), 0);
  deepEqual(asked.slice(2), ["api_key of Codex (not shown): ", "connect.slack"]);
  const all = applied.join("\n");
  match(all, /"api_key": "the-key"/);
  match(all, /^kind: Agent$/m);
  match(all, /agent: "codex"\n/);
  match(all, /path: "workspaces\/default"\n {2}isolation: copy\n/);
});

Deno.test("a key that is not entered, or no place to work, and nothing is done", async () => {
  const broken = before(DEFAULT, [...TOKENS]);
  await rejects(() => broken.run({ with: "codex" }), /Nothing was changed: the api_key of Codex/);
  const nowhere = before({}, [...TOKENS, "the-key"]);
  await rejects(() => nowhere.run({ with: "codex" }), /Say where the agent works with --clone DIR/);
  for (const { asked, applied } of [broken, nowhere]) {
    deepEqual([asked.includes("connect.slack"), applied], [false, []]);
  }
});

Deno.test("an Agent that is there stays as it is, and needs no key", async () => {
  const known = { ...DEFAULT, "agent/codex": { command: "mine", output: "codex" } };
  const { run, asked, applied } = before(known, [...TOKENS]);
  deepEqual(await run({ with: "codex", clone: "~/app" }), 0);
  deepEqual(asked.length, 3);
  deepEqual(applied.length, 1);
  match(applied[0] ?? "", /path: "~\/app"\n {2}isolation: worktree\n {2}fetch: true\n/);
});

Deno.test("how to ask the agent is told only where events arrive", async () => {
  for (const isOpen of [true, false]) {
    const { run, text } = before(
      { ...DEFAULT, "agent/mine": { command: "x" } },
      [...TOKENS],
      isOpen,
    );
    deepEqual(await run({ with: "mine" }), isOpen ? 0 : 1);
    deepEqual(/^Now write to the app/m.test(text.out), isOpen, text.out);
  }
});
