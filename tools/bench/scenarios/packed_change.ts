/**
 * A change that a task hands over: the memory that the daemon needs for it, whatever its pack unpacks
 * to, and how long 20 MB take to a server of git on this machine.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { TOKEN } from "../../../tests/fakes/github.ts";
import { fakeGitHubWithGit } from "../../../tests/fakes/github_git.ts";
import { missing } from "../../../tests/helpers/requirements.ts";
import { tempDir } from "../../../tests/helpers/temp_dir.ts";
import { type FileSpecs, PackBuilder, packedChange } from "../../../tests/rigs/pack_builder.ts";
import type { PackedChangeJob, PackedChangeTimes } from "../packed_change_program.ts";
import type { Figure, Scenario } from "../scenario.ts";

const MB = 1_000_000;
const REPOSITORY = "brightwater/tidepool";

export const packedChanges: Scenario = {
  name: "packed-change",
  title: "a change that a task hands over, checked and sent on",
  async run(context) {
    if (missing("git") !== undefined || Deno.build.os !== "linux") return figuresOf([]);
    const times: PackedChangeTimes[] = [];
    for (let round = 0; round < context.rounds; round++) {
      context.note(`packed-change: round ${round + 1} of ${context.rounds}`);
      times.push(await measure());
    }
    return figuresOf(times);
  },
};

function figuresOf(times: readonly PackedChangeTimes[]): Figure[] {
  return [
    {
      name: "memory for a pack that unpacks to 200 MB",
      unit: "MB",
      samples: times.map(({ bombBytes }) => bombBytes / MB),
      target: { atMost: 50 },
    },
    {
      name: "memory for a change of 20 MB, read, committed and sent",
      unit: "MB",
      samples: times.map(({ largeBytes }) => largeBytes / MB),
      target: { atMost: 50 },
    },
    {
      name: "a push of 20 MB to git on this machine",
      unit: "ms",
      samples: times.map(({ pushMs }) => pushMs),
      target: { atMost: 3000 },
    },
  ];
}

async function measure(): Promise<PackedChangeTimes> {
  await using dir = await tempDir();
  await using fake = await fakeGitHubWithGit();
  const parent = await fake.git.find(REPOSITORY, "main") ?? "";
  const job: PackedChangeJob = {
    bomb: await changeTo(dir.path, { bomb: { content: new Uint8Array(200 * 1024 * 1024) } }),
    large: await changeTo(dir.path, noise(20, MB)),
    url: `${fake.url}/${REPOSITORY}.git`,
    authorization: `Basic ${btoa(`x-access-token:${TOKEN.token}`)}`,
    parent,
  };
  await dir.write("change.json", JSON.stringify(job));
  const program = fileURLToPath(new URL("../packed_change_program.ts", import.meta.url));
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", program, dir.path],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("The program that opens packs has failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function changeTo(dir: string, files: FileSpecs) {
  const builder = new PackBuilder();
  const start = builder.commit(builder.files({ "README.md": "# Tidepool\n" }));
  const tree = builder.files({ "README.md": "# Tidepool\n", ...files });
  return await packedChange(dir, { start, tree, pack: builder.pack() });
}

/** Files that no packing makes smaller. */
function noise(count: number, bytes: number): FileSpecs {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => {
    const content = new Uint8Array(bytes);
    for (let at = 0; at < bytes; at += 65_536) {
      crypto.getRandomValues(content.subarray(at, at + 65_536));
    }
    return [`noise/${n}`, { content }];
  }));
}
