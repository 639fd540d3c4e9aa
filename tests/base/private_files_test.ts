/**
 * The data directory is its owner's alone: what is open to others is closed, or refused.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { dirname, join } from "node:path";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { closeToOthers, findOpenToOthers } from "../../src/base/private_files.ts";
import { NOT_ROOT, skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const OTHER = 65_534;
const REFUSED = { name: "AppError", code: "refused" };

/** A data directory with something of everything, closed to others. */
async function rig() {
  const temp = await tempDir();
  const dirs = dataDirAt(join(temp.path, "data"));
  for (const path of [dirs.controlPlane, dirname(dirs.secretKey), dirs.scripts, dirs.bin]) {
    await Deno.mkdir(path, { recursive: true });
    await Deno.chmod(path, 0o700);
  }
  await Deno.chmod(dirs.root, 0o700);
  for (const path of [dirs.database, dirs.secretKey, dirs.lock, join(dirs.scripts, "check.sh")]) {
    await Deno.writeTextFile(path, "x");
    await Deno.chmod(path, 0o600);
  }
  return { dirs, temp: temp.path, [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose]() };
}

async function modeOf(path: string): Promise<string> {
  return (((await Deno.stat(path)).mode ?? 0) & 0o7777).toString(8);
}

/** What may be open, how, and what becomes of it. */
const MENDED: readonly [(dirs: DataDir) => string, number, string, RegExp][] = [
  [(dirs) => dirs.root, 0o777, "700", /was 0777.*others could write/],
  [(dirs) => dirs.root, 0o755, "700", /was 0755.*others could read it/],
  [(dirs) => dirs.root, 0o710, "700", /was 0710/],
  [(dirs) => dirs.bin, 0o777, "700", /bin" \(was 0777\)/],
  [(dirs) => dirs.scripts, 0o775, "700", /scripts" \(was 0775\)/],
  [(dirs) => dirs.controlPlane, 0o777, "700", /control-plane"/],
  [(dirs) => dirname(dirs.secretKey), 0o755, "700", /secrets"/],
  [(dirs) => dirs.secretKey, 0o644, "600", /secretstore\.key" \(was 0644\).*could read it/],
  [(dirs) => dirs.secretKey, 0o640, "600", /secretstore\.key"/],
  [(dirs) => dirs.database, 0o666, "600", /svc\.db".*could write/],
  [(dirs) => join(dirs.scripts, "check.sh"), 0o777, "755", /check\.sh"/],
  [(dirs) => join(dirs.scripts, "check.sh"), 0o720, "700", /check\.sh"/],
];

for (const [pathOf, mode, closed, says] of MENDED) {
  Deno.test(`closeToOthers closes ${pathOf(dataDirAt("/d"))} of mode ${mode.toString(8)}`, async () => {
    await using t = await rig();
    const path = pathOf(t.dirs);
    await Deno.chmod(path, mode);
    match(await closeToOthers(t.dirs) ?? "", says);
    equal(await modeOf(path), closed);
    equal(await closeToOthers(t.dirs), undefined, "there is nothing left to say");
    deepEqual(await findOpenToOthers(t.dirs), []);
  });
}

Deno.test("closeToOthers leaves a private directory, and scripts that others may read, alone", async () => {
  await using t = await rig();
  await Deno.chmod(join(t.dirs.scripts, "check.sh"), 0o755);
  await Deno.chmod(t.dirs.secretKey, 0o400);
  equal(await closeToOthers(t.dirs), undefined);
  equal(await modeOf(t.dirs.secretKey), "400");
});

Deno.test("closeToOthers says one line, however much it closed", async () => {
  await using t = await rig();
  for (let n = 0; n < 50; n++) {
    await Deno.mkdir(join(t.dirs.scripts, `${n}`));
    await Deno.chmod(join(t.dirs.scripts, `${n}`), 0o777);
  }
  const line = await closeToOthers(t.dirs) ?? "";
  match(line, /and 45 more; others could write/);
  equal(line.includes("\n"), false);
});

Deno.test("closeToOthers changes no mode through a link", async () => {
  await using t = await rig();
  const outside = join(t.temp, "outside");
  await Deno.mkdir(outside);
  await Deno.writeTextFile(join(outside, "file"), "x");
  await Deno.chmod(join(outside, "file"), 0o666);
  await Deno.symlink(join(outside, "file"), join(t.dirs.scripts, "link.sh"));
  equal(await closeToOthers(t.dirs), undefined);
  await Deno.chmod(outside, 0o777);
  await Deno.symlink(outside, t.dirs.logs);
  await rejects(closeToOthers(t.dirs), (error: Error & { details?: readonly string[] }) => {
    match(error.details?.join() ?? "", /Others can write to ".*outside".*chmod go-w/);
    return true;
  });
  equal(await modeOf(outside), "777");
  equal(await modeOf(join(outside, "file")), "666");
  match((await findOpenToOthers(t.dirs)).join(), /outside/);
});

Deno.test("closeToOthers takes a key that a link leads to only while others cannot read it", async () => {
  await using t = await rig();
  const key = join(t.temp, "key");
  await Deno.rename(t.dirs.secretKey, key);
  await Deno.symlink(key, t.dirs.secretKey);
  await Deno.chmod(key, 0o440);
  equal(await closeToOthers(t.dirs), undefined);
  await Deno.chmod(key, 0o444);
  await rejects(closeToOthers(t.dirs), REFUSED);
});

Deno.test("closeToOthers follows the link that is the data directory itself", async () => {
  await using t = await rig();
  const link = join(t.temp, "link");
  await Deno.symlink(t.dirs.root, link);
  await Deno.chmod(t.dirs.root, 0o777);
  match(await closeToOthers(dataDirAt(link)) ?? "", /was 0777/);
  equal(await modeOf(t.dirs.root), "700");
});

for (
  const [name, prepare] of [
    ["that everybody shares", (path: string) => Deno.chmod(path, 0o1777)],
    ["with other things in it", (path: string) => Deno.mkdir(join(path, "Documents"))],
  ] as const
) {
  Deno.test(`closeToOthers does not close a directory ${name}`, async () => {
    await using temp = await tempDir();
    await Deno.chmod(temp.path, 0o755);
    await prepare(temp.path);
    const before = await modeOf(temp.path);
    await rejects(closeToOthers(dataDirAt(temp.path)), REFUSED);
    equal(await modeOf(temp.path), before);
  });
}

/** Paths of the data directory that closeToOthers leaves to who reads them. */
const POLICIES = ["udsPolicy", "pluginPolicy"];

for (const name of Object.keys(dataDirAt("/d")) as (keyof DataDir)[]) {
  const isPolicy = POLICIES.includes(name);
  Deno.test(`closeToOthers ${isPolicy ? "leaves the mode of" : "takes from others"} ${name}`, async () => {
    await using t = await rig();
    const path = t.dirs[name];
    await Deno.writeTextFile(path, "x", { createNew: true }).catch(() => {}); // what is there
    await Deno.chmod(path, (await Deno.stat(path)).isDirectory ? 0o777 : 0o666);
    const said = await closeToOthers(t.dirs);
    equal(/was 0[67][67][67]/.test(said ?? ""), !isPolicy);
    equal(((await Deno.stat(path)).mode ?? 0) & 0o022, isPolicy ? 0o022 : 0);
  });
  Deno.test({
    ...skippable(
      `closeToOthers ${isPolicy ? "leaves" : "refuses"} ${name} of another user`,
      NOT_ROOT,
    ),
    async fn() {
      await using t = await rig();
      await Deno.writeTextFile(t.dirs[name], "x", { createNew: true }).catch(() => {});
      await Deno.chown(t.dirs[name], OTHER, OTHER);
      if (isPolicy) equal(await closeToOthers(t.dirs), undefined);
      else await rejects(closeToOthers(t.dirs), REFUSED);
    },
  });
  Deno.test({
    ...skippable(
      `closeToOthers ${
        isPolicy ? "leaves" : "refuses"
      } a link of ${name} to a file of another user`,
      NOT_ROOT,
    ),
    async fn() {
      await using t = await rig();
      if (name === "root") return;
      const elsewhere = join(t.temp, "elsewhere");
      await Deno.writeTextFile(elsewhere, "x");
      await Deno.chown(elsewhere, OTHER, OTHER);
      await Deno.remove(t.dirs[name], { recursive: true }).catch(() => {});
      await Deno.symlink(elsewhere, t.dirs[name]);
      if (isPolicy) equal(await closeToOthers(t.dirs), undefined);
      else await rejects(closeToOthers(t.dirs), REFUSED);
    },
  });
}

for (
  const [name, pathOf] of [
    ["the directory", (dirs: DataDir) => dirs.root],
    ["the key", (dirs: DataDir) => dirs.secretKey],
    ["the database", (dirs: DataDir) => dirs.database],
    ["a script", (dirs: DataDir) => join(dirs.scripts, "check.sh")],
    ["a program in bin/", (dirs: DataDir) => join(dirs.bin, "git")],
  ] as const
) {
  Deno.test({
    ...skippable(`closeToOthers refuses ${name} of another user`, NOT_ROOT),
    async fn() {
      await using t = await rig();
      await Deno.writeTextFile(join(t.dirs.bin, "git"), "x", { mode: 0o700 });
      const path = pathOf(t.dirs);
      await Deno.chown(path, OTHER, OTHER);
      await rejects(closeToOthers(t.dirs), (error: Error & { details?: readonly string[] }) => {
        match(error.details?.join() ?? "", /belongs to user 65534, and not to user 0: chown it/);
        return true;
      });
    },
  });
}
