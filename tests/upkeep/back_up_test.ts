import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { backUp } from "../../src/upkeep/back_up.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { filesIn, finish, upkeepRig } from "../rigs/upkeep_rig.ts";

Deno.test("backUp copies all that is stored into one private file", async () => {
  await using rig = await upkeepRig();
  const file = join(rig.elsewhere, "copy.db");
  const { result } = await finish(backUp({ file, force: false }, rig.dirs));
  const { size, mode } = await Deno.stat(file);
  deepEqual([result.file, result.bytes, (mode ?? 0) & 0o777], [file, size, 0o600]);
  equal(result.keyFile, rig.dirs.secretKey);
  deepEqual(rig.tasksOf(file), [0, 1, 2].map(taskIdOf));
  deepEqual(filesIn(rig.elsewhere), ["copy.db"], "no log and no part is left beside it");
});

Deno.test("backUp copies one moment, while others write on without waiting for it", async () => {
  await using rig = await upkeepRig(0);
  await using store = await rig.open();
  const body = new Uint8Array(100_000);
  for (let n = 0; n < 300; n++) await accept(store, n, { body });
  const file = join(rig.elsewhere, "copy.db");
  const work = backUp({ file, force: false }, rig.dirs);
  const first = await work.next();
  ok(first.done !== true, "it has begun, and is not over");
  for (let n = 300; n < 400; n++) await accept(store, n, { body }); // it goes on only when asked
  await finish(work);
  equal(rig.tasksOf(file).length, 300, "what came after it had begun is not in it");
  equal(rig.tasksOf(rig.dirs.database).length, 400);
});

Deno.test("backUp that is left early leaves nothing behind, and no thread that goes on", async () => {
  await using rig = await upkeepRig(0);
  await using store = await rig.open();
  for (let n = 0; n < 300; n++) await accept(store, n, { body: new Uint8Array(100_000) });
  const work = backUp({ file: join(rig.elsewhere, "copy.db"), force: false }, rig.dirs);
  equal((await work.next()).done, false);
  await work.return(undefined as never);
  deepEqual(filesIn(rig.elsewhere), []);
});

const REFUSED = [
  { name: "a file that is there", make: "anything", force: false, says: /--force/ },
  {
    name: "with force, a file that is no database",
    make: "a letter",
    force: true,
    says: /not an earlier/,
  },
  { name: "with force, an empty file", make: "", force: true, says: /not an earlier/ },
] as const;

for (const { name, make, force, says } of REFUSED) {
  Deno.test(`backUp does not write over ${name}`, async () => {
    await using rig = await upkeepRig();
    const file = join(rig.elsewhere, "copy.db");
    await Deno.writeTextFile(file, make);
    await rejects(finish(backUp({ file, force }, rig.dirs)), says);
    equal(await Deno.readTextFile(file), make);
    deepEqual(filesIn(rig.elsewhere), ["copy.db"]);
  });
}

Deno.test("backUp with force takes the place of an earlier copy, and never of the database", async () => {
  await using rig = await upkeepRig(1);
  const file = join(rig.elsewhere, "copy.db");
  await finish(backUp({ file, force: false }, rig.dirs));
  {
    await using store = await rig.open();
    await accept(store, 1);
  }
  await finish(backUp({ file, force: true }, rig.dirs));
  equal(rig.tasksOf(file).length, 2);
  const link = join(rig.elsewhere, "link.db");
  await Deno.link(rig.dirs.database, link);
  await rejects(
    finish(backUp({ file: rig.dirs.database, force: true }, rig.dirs)),
    /not an earlier/,
  );
  await rejects(finish(backUp({ file: link, force: true }, rig.dirs)), /not an earlier/);
  await Deno.symlink(rig.dirs.database, join(rig.elsewhere, "symlink.db"));
  await rejects(
    finish(backUp({ file: join(rig.elsewhere, "symlink.db"), force: true }, rig.dirs)),
    /not an earlier/,
  );
});

Deno.test("backUp says why it cannot write, and refuses a path that depends on where one is", async () => {
  await using rig = await upkeepRig();
  const nowhere = join(rig.elsewhere, "missing", "copy.db");
  await rejects(finish(backUp({ file: nowhere, force: false }, rig.dirs)), {
    name: "AppError",
    code: "refused",
    message: /Cannot write ".*missing/,
  });
  await rejects(finish(backUp({ file: "copy.db", force: false }, rig.dirs)), { code: "usage" });
});
