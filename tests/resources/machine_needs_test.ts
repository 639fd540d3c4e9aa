/**
 * The needs of each kind on the machine, and those that only the shell can know.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { readManifests } from "../../src/resources/read_manifests.ts";
import { programOf } from "../../src/resources/shell_line.ts";

const COMMANDS: readonly [line: string, program: string | undefined][] = [
  ["claude --print", "claude"],
  ['codex exec "$1"', "codex"],
  ["# my agent\n\n  claude", "claude"],
  ["MODEL=opus LEVEL= claude --print", "claude"],
  ["exec claude", "claude"],
  ["claude|tee log", "claude"],
  ["claude>log", "claude"],
  ["/opt/agent/run.sh x", "/opt/agent/run.sh"],
  ["~/bin/agent", "~/bin/agent"],
  ["git-lfs.x+1 a", "git-lfs.x+1"],
  ["./agent.sh", "./agent.sh"],
  ["[ -e ~/x ] || { mkdir ~/x; }\nexec gemini --yolo $FLAGS\n", "gemini"],
  ["mkdir -p x\nexec gemini", "gemini"],
  // Only the shell knows.
  ["export PATH=/opt/bin\nexec gemini", undefined],
  ["[ -e x ] &&\nexec gemini", undefined],
  ["[ -e x ] || \\\nexec gemini", undefined],
  ["if true; then\nexec gemini\nfi", undefined],
  ["[ -e x ]\n  exec gemini", undefined],
  ["'$A'\nexec \"$AGENT\"", undefined],
  ["PATH=/opt/bin:$PATH claude", undefined],
  ["PATH=/opt/bin claude", undefined],
  ["A=$(date) claude", undefined],
  ["cd app && claude", undefined],
  ["set -u; claude", undefined],
  ["if true; then claude; fi", undefined],
  ["[ -f x ] && claude", undefined],
  ["! claude", undefined],
  ["(claude)", undefined],
  ["{ claude; }", undefined],
  ["ask() { claude; }; ask", undefined],
  ["ask () { claude; }; ask", undefined],
  ['"$AGENT" --print', undefined],
  ["$AGENT", undefined],
  ["'my agent'", undefined],
  ["my\\ agent", undefined],
  ["exec -a x claude", undefined],
  ["~me/bin/agent", undefined],
  ["cl*", undefined],
  ["# nothing", undefined],
  ["", undefined],
];

for (const [line, program] of COMMANDS) {
  Deno.test(`the program of ${JSON.stringify(line)}: ${program ?? "unknown"}`, () => {
    equal(programOf(line), program);
  });
}

/** The needs of one resource, each as `place what`. */
function needsOf(kind: string, spec: string): string[] {
  const text = `kind: ${kind}\nmetadata: {name: n}\nspec: ${spec}\n`;
  const { machine, errors } = readManifests({ files: [{ name: "f", text }], crds: [] });
  deepEqual(errors, []);
  return machine.map(({ need: { at, ...need } }) => `${at.join(".")} ${JSON.stringify(need)}`);
}

const RESOURCES: readonly [title: string, kind: string, spec: string, needs: readonly string[]][] =
  [
    [
      "a workspace",
      "Workspace",
      "{path: ~/code}",
      ['spec.path {"needs":"directory","path":"~/code","repository":false}'],
    ],
    [
      "a workspace of worktrees",
      "Workspace",
      "{path: /srv/code, isolation: worktree}",
      ['spec.path {"needs":"directory","path":"/srv/code","repository":true}'],
    ],
    [
      "a workspace of some nodes",
      "Workspace",
      "{path: /srv/code, nodes: [gpu, box-2]}",
      [
        'spec.path {"needs":"directory","path":"/srv/code","repository":false,"nodes":["gpu","box-2"]}',
        'spec.nodes {"needs":"nodes","nodes":["gpu","box-2"]}',
      ],
    ],
    ["an agent", "Agent", "{command: claude}", [
      'spec.command {"needs":"program","name":"claude"}',
    ]],
    ["an agent with a PATH", "Agent", "{command: claude, env: {PATH: /opt/bin}}", []],
    ["an agent in the directory of its step", "Agent", "{command: ./agent.sh}", []],
    [
      "shells of a workflow",
      "Workflow",
      "{shell: bash, steps: [{id: a, run: x, shell: [python3, -u]}, {id: b, run: x, shell: sh}, " +
      "{id: c, run: x, shell: [./own]}, {id: d, run: x, shell: [node], env: {PATH: /opt}}], " +
      "finally: [{id: z, run: x, shell: [ruby]}]}",
      [
        'spec.shell {"needs":"program","name":"bash"}',
        'spec.steps.0.shell {"needs":"program","name":"python3"}',
        'spec.finally.0.shell {"needs":"program","name":"ruby"}',
      ],
    ],
    [
      "a workflow with a PATH",
      "Workflow",
      "{env: {PATH: /o}, shell: bash, steps: [{id: a, run: x}]}",
      [],
    ],
    [
      "a trigger on files",
      "Trigger",
      '{event: {source: filesystem, filesystem: {paths: ["in/*.csv", "*.txt"]}}, ' +
      "action: {workflow: w, workspace: app}}",
      [
        'spec.event.filesystem.paths.0 {"needs":"watched","workspace":"app","below":"in"}',
        'spec.event.filesystem.paths.1 {"needs":"watched","workspace":"app","below":""}',
      ],
    ],
    [
      "another trigger",
      "Trigger",
      "{event: {source: cron, cron: {schedule: 0 0 * * *}}, action: {workflow: w, workspace: app}}",
      [],
    ],
  ];

for (const [title, kind, spec, needs] of RESOURCES) {
  Deno.test(`what ${title} needs`, () => deepEqual(needsOf(kind, spec), needs));
}

function faultsOf(kind: string, spec: string): readonly string[] {
  const text = `kind: ${kind}\nmetadata: {name: n}\nspec: ${spec}\n`;
  return readManifests({ files: [{ name: "f", text }], crds: [] }).errors;
}

Deno.test("the home directory of another user is refused, with what to write", () => {
  deepEqual(faultsOf("Workspace", "{path: ~you/code}"), [
    'f:3:8: spec.path: Only "~/" stands for a home directory, that of the daemon\'s user: ' +
    'write the whole path in place of "~you", or "./~you/code" for a directory of that name',
  ]);
});

Deno.test("a glob cannot start at the home directory", () => {
  const event = "{source: filesystem, filesystem: {paths: [~/in/*.csv]}}";
  deepEqual(faultsOf("Trigger", `{event: ${event}, action: {workflow: w, workspace: app}}`), [
    'f:3:57: spec.event.filesystem.paths.0: "~/in/*.csv" leaves the workspace: globs are ' +
    'relative to its path, without ".."',
  ]);
});
