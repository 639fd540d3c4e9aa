/**
 * `svc github pr create` in a large repository, as a step feels it: until its pull request is queued.
 *
 * @module
 */

import { type FakeGitHubWithGit } from "../../../tests/fakes/github_git.ts";
import { startDaemon } from "../../../tests/helpers/daemon.ts";
import { missing } from "../../../tests/helpers/requirements.ts";
import { changeableGitHub, cloneOf, REPOSITORY } from "../../../tests/rigs/change_rig.ts";
import { runStep } from "../../../tests/rigs/step_rig.ts";
import type { Program } from "../../../tests/helpers/program.ts";
import type { Scenario } from "../scenario.ts";

const FILES = 50_000;
const IN_DIRECTORY = 100;
const CHANGED = 100;

export const prCreate: Scenario = {
  name: "pr-create",
  title: "svc github pr create in a step, until it is queued",
  async run({ program, rounds, size }) {
    const samples = missing("git") !== undefined || Deno.build.os !== "linux"
      ? []
      : await measure(program, rounds * (size === "quick" ? 1 : 3));
    return [{
      name: `${CHANGED} changed files of ${FILES.toLocaleString("en")}`,
      unit: "ms",
      samples,
      target: { atMost: 1000 },
    }];
  },
};

/** Milliseconds of the command, so many times; what it stores is held, so that nothing is sent meanwhile. */
async function measure(program: Program, times: number): Promise<number[]> {
  await using fake = await changeableGitHub();
  await addFiles(fake);
  await using clone = await cloneOf(fake);
  await using daemon = await startDaemon(program);
  const { state, printed } = await runStep(
    { daemon, fake, clone },
    { isolation: "worktree", outside: true, may: { pull: { max: times, hold: "always" } } },
    `for n in $(seq ${times}); do
       for f in $(seq ${CHANGED}); do echo "// $n" >>"src/$f/0.ts"; done
       begun=$(date +%s%N)
       svc github pr create --all --title "Change $n" --key "change-$n"
       echo "took $((($(date +%s%N) - begun) / 1000)) µs"
     done`,
  );
  const took = [...printed.matchAll(/^took ([0-9]+) µs$/gm)].map(([, us]) => Number(us) / 1000);
  if (state !== "succeeded" || took.length !== times) {
    throw new Error(`The step failed: ${printed}`);
  }
  return took;
}

/** Commits the files in the repository of the stand-in. */
async function addFiles({ git }: FakeGitHubWithGit): Promise<void> {
  const child = new Deno.Command("git", {
    args: ["-C", git.directory(REPOSITORY), "fast-import", "--quiet"],
    stdin: "piped",
  }).spawn();
  const lines = [
    "commit refs/heads/main",
    "committer T <t@example.com> 1700000000 +0000",
    "data 4\nmany",
    "from refs/heads/main^0",
    ...Array.from({ length: FILES }, (_, n) => {
      const text = `export const value${n} = ${n};\n`.repeat(10);
      const name = `src/${Math.floor(n / IN_DIRECTORY) + 1}/${n % IN_DIRECTORY}.ts`;
      return `M 100644 inline ${name}\ndata ${text.length}\n${text}`;
    }),
    "",
  ];
  await new Blob([lines.join("\n")]).stream().pipeTo(child.stdin);
  const { success } = await child.status;
  if (!success) throw new Error("git fast-import has failed");
}
