/**
 * `svc db rekey` of a database in a file: every value opens with the new key and none with the old
 * one, which is kept for backups of before.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DataDir } from "../../src/base/data_dir.ts";
import { lockDataDir } from "../../src/base/lock.ts";
import { createKeyring, newKeyFile } from "../../src/secrets/keyring.ts";
import { readFormerKeys, writeNextKey } from "../../src/secrets/next_key.ts";
import { settleKey } from "../../src/storage/sealed_storage.ts";
import { backUp } from "../../src/upkeep/back_up.ts";
import { check, checkOwn } from "../../src/upkeep/check.ts";
import { rekey } from "../../src/upkeep/rekey.ts";
import { restore } from "../../src/upkeep/restore.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { sealUnbound } from "../helpers/sealed_unbound.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { afterEachChange } from "../helpers/each_change.ts";
import { NOT_SLOW, run } from "../helpers/program.ts";
import { filesIn, finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";
import { skippable } from "../helpers/requirements.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const VALUE = "a secret of some length";
const env = () => undefined;
const host = (dirs: DataDir) => ({ dirs, clock: setClock(NOW), env });

const rekeyed = async (rig: Pick<UpkeepRig, "dirs">, dryRun = false) =>
  (await finish(rekey({ dryRun }, host(rig.dirs)))).result;

/** The value as the key file of a data directory opens it. */
async function valueIn({ dirs }: Pick<UpkeepRig, "dirs">): Promise<string> {
  const keyring = await createKeyring(await Deno.readTextFile(dirs.secretKey));
  return await keyring.open({
    project: "default",
    store: "github",
    key: "current",
    createdAt: 1,
    generation: 1,
  }, sealedIn(dirs));
}

function sealedIn({ database }: Pick<DataDir, "database">): string {
  const [row] = rowsOf(database, "SELECT spec FROM resources WHERE kind = 'SecretStore'");
  return JSON.parse(String(row?.["spec"])).data.current;
}

const faultsOf = async ({ dirs }: UpkeepRig) =>
  (await finish(checkOwn({ env, alone: true }, dirs))).result.faults;

Deno.test("rekey seals every value with a new key, keeps the old one, and leaves a row", async () => {
  await using rig = await upkeepRig();
  const { secretKey } = rig.dirs;
  const [before, old] = [sealedIn(rig.dirs), await Deno.readTextFile(secretKey)];
  const { database, secretStores, values, changed, otherNodes } = await rekeyed(rig);
  deepEqual([database, secretStores, values, otherNodes], [rig.dirs.database, 1, 1, []]);
  equal(await valueIn(rig), VALUE);
  ok(await Deno.readTextFile(secretKey) !== old);
  equal(await Deno.readTextFile(changed?.kept ?? ""), old);
  match(changed?.kept ?? "", /secretstore\.key\.before-rekey-\d{8}T\d{6}Z$/);
  deepEqual(filesIn(join(rig.dirs.root, "secrets")).length, 2, "and nothing else");
  for (const path of [secretKey, changed?.kept ?? ""]) {
    equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  }
  deepEqual(await faultsOf(rig), []);
  const [row] = rowsOf(
    rig.dirs.database,
    "SELECT operation, target, caller, role, result FROM control_audit",
  );
  deepEqual({ ...row }, {
    operation: "db.rekey",
    target: `key ${changed?.from} to ${changed?.to}`,
    caller: "files",
    role: "admin",
    result: "done",
  });
  const file = new TextDecoder("latin1").decode(await Deno.readFile(rig.dirs.database));
  ok(!file.includes(before), "what the old key opens is not in the file any more");
  equal(rig.tasksOf(rig.dirs.database).length, 3);
});

Deno.test("rekey again keeps each key, also within one second", async () => {
  await using rig = await upkeepRig();
  const keys = [await Deno.readTextFile(rig.dirs.secretKey)];
  for (let n = 0; n < 3; n++) {
    await rekeyed(rig);
    keys.push(await Deno.readTextFile(rig.dirs.secretKey));
  }
  equal(await valueIn(rig), VALUE);
  const former = (await readFormerKeys(rig.dirs.secretKey)).map(({ text }) => text);
  deepEqual(former.toSorted(), keys.slice(0, -1).toSorted());
});

Deno.test("rekey with --dry-run changes nothing", async () => {
  await using rig = await upkeepRig();
  const before = [await Deno.readTextFile(rig.dirs.secretKey), sealedIn(rig.dirs)];
  const { values, changed } = await rekeyed(rig, true);
  deepEqual([values, changed], [1, undefined]);
  deepEqual([await Deno.readTextFile(rig.dirs.secretKey), sealedIn(rig.dirs)], before);
  deepEqual(filesIn(join(rig.dirs.root, "secrets")), ["secretstore.key"]);
});

Deno.test("rekey seals values of the earlier form in the present one", async () => {
  await using rig = await upkeepRig();
  const key = (await Deno.readTextFile(rig.dirs.secretKey)).replace("svc2", "svc1");
  await Deno.writeTextFile(rig.dirs.secretKey, key);
  const place = { project: "default", store: "github", key: "current" };
  const data = { current: await sealUnbound(key, place, VALUE) };
  rig.change(`UPDATE resources SET spec = '${JSON.stringify({ data })}'`);
  await rekeyed(rig);
  match(await Deno.readTextFile(rig.dirs.secretKey), /^svc2 /);
  match(sealedIn(rig.dirs), /^svc2\./);
  equal(await valueIn(rig), VALUE);
});

/** What keeps the key from being changed, and why. */
const REFUSED: readonly {
  readonly name: string;
  readonly spoil: (rig: UpkeepRig) => unknown;
  readonly says: RegExp;
}[] = [
  {
    name: "a value that does not open",
    spoil: (rig) =>
      rig.change(`UPDATE resources SET spec = replace(spec, 'svc2.', 'svc2.00000000')`),
    says: /^Some secrets do not open, nothing was changed$/,
  },
  {
    name: "another key",
    spoil: ({ dirs }) => Deno.writeTextFile(dirs.secretKey, newKeyFile()),
    says: /^Some secrets do not open, nothing was changed$/,
  },
  {
    name: "a link",
    spoil: async ({ dirs, elsewhere }) => {
      await Deno.rename(dirs.secretKey, join(elsewhere, "key"));
      await Deno.symlink(join(elsewhere, "key"), dirs.secretKey);
    },
    says: /is a link, so its key is managed elsewhere: replace it with the file itself/,
  },
  {
    name: "a database of a newer svc",
    spoil: (rig) => rig.change("PRAGMA user_version = 9999"),
    says: /was written by a newer svc/,
  },
];

for (const { name, spoil, says } of REFUSED) {
  Deno.test(`rekey refuses ${name} and changes nothing`, async () => {
    await using rig = await upkeepRig();
    await spoil(rig);
    const before = [await Deno.readTextFile(rig.dirs.secretKey), sealedIn(rig.dirs)];
    await rejects(rekeyed(rig), { name: "AppError", code: "refused", message: says });
    deepEqual([await Deno.readTextFile(rig.dirs.secretKey), sealedIn(rig.dirs)], before);
    equal((await Deno.lstat(rig.dirs.secretKey)).isSymlink, name === "a link");
    deepEqual(filesIn(join(rig.dirs.root, "secrets")).length, name === "a link" ? 0 : 1);
  });
}

Deno.test(skippable("rekey is refused while a daemon holds the directory", NOT_SLOW), async () => {
  await using rig = await upkeepRig();
  using _daemon = await lockDataDir(rig.dirs, setClock());
  await rejects(rekeyed(rig), /Another daemon runs on/);
});

Deno.test(
  skippable("rekey that cannot write the database leaves the old key in its place", NOT_SLOW),
  async () => {
    await using rig = await upkeepRig();
    const before = await Deno.readTextFile(rig.dirs.secretKey);
    {
      using other = new DatabaseSync(rig.dirs.database);
      other.exec("BEGIN IMMEDIATE");
      await rejects(rekeyed(rig), /database is locked/);
    }
    equal(await Deno.readTextFile(rig.dirs.secretKey), before);
    deepEqual(filesIn(join(rig.dirs.root, "secrets")), ["secretstore.key"]);
    equal(await valueIn(rig), VALUE);
  },
);

/** A data directory as a kill left it. */
async function imagesOf(rig: UpkeepRig, work: () => Promise<unknown>): Promise<DataDir[]> {
  const images: DataDir[] = [];
  await afterEachChange(async () => {
    const root = join(rig.elsewhere, `image${images.length}`);
    const copied = await run("cp", ["-a", rig.dirs.root, root]);
    equal(copied.code, 0, copied.stderr);
    const moved = (path: string) => path.replace(rig.dirs.root, root);
    images.push(
      Object.fromEntries(
        Object.entries(rig.dirs).map(([name, path]) => [name, moved(path)]),
      ) as unknown as DataDir,
    );
  }, work);
  return images;
}

/** What has to be true of a data directory once what uses it next has settled its key. */
async function isSettled(dirs: DataDir, what: string): Promise<void> {
  equal(await valueIn({ dirs }), VALUE, what);
  const left = filesIn(join(dirs.root, "secrets"));
  ok(!left.some((name) => name.endsWith(".next")), `${what}: ${left}`);
  await rekeyed({ dirs });
  equal(await valueIn({ dirs }), VALUE, `${what}, and changed again`);
}

Deno.test("rekey that is killed after any of its changes is finished or undone", async () => {
  await using rig = await upkeepRig();
  const images = await imagesOf(rig, () => rekeyed(rig));
  ok(images.length > 10, `${images.length} changes`);
  const outcomes = new Set<boolean>();
  for (const [n, dirs] of images.entries()) {
    outcomes.add(await settleKey(dirs, host(dirs)) !== undefined);
    await isSettled(dirs, `image ${n}`);
  }
  deepEqual(outcomes, new Set([false, true]));
});

Deno.test(
  skippable("to settle the key may itself be killed after any of its changes", NOT_SLOW),
  async () => {
    await using rig = await upkeepRig();
    const whole = await imagesOf(rig, () => rekeyed(rig));
    const cutOff = whole.filter((dirs) => filesIn(join(dirs.root, "secrets")).length > 1);
    let killed = 0;
    for (const [n, dirs] of cutOff.entries()) {
      const inner = await imagesOf(
        { ...rig, dirs, elsewhere: await Deno.makeTempDir({ dir: rig.elsewhere }) },
        () => settleKey(dirs, host(dirs)),
      );
      killed += inner.length;
      for (const [m, again] of inner.entries()) {
        await settleKey(again, host(again));
        await isSettled(again, `image ${n}, killed again at ${m}`);
      }
    }
    ok(killed > 10, `killed ${killed} times`);
  },
);

Deno.test("a new key that opens nothing is not taken, and neither is dropped when neither opens", async () => {
  await using rig = await upkeepRig();
  const next = `${rig.dirs.secretKey}.next`;
  await writeNextKey(rig.dirs.secretKey, newKeyFile());
  await Deno.writeTextFile(rig.dirs.secretKey, newKeyFile());
  equal(await settleKey(rig.dirs, host(rig.dirs)), undefined);
  ok((await Deno.stat(next)).isFile);
  await rejects(rekeyed(rig), /do not open/);
  ok((await Deno.stat(next)).isFile);
  await Deno.rename(rig.dirs.database, join(rig.elsewhere, "svc.db"));
  equal(await settleKey(rig.dirs, host(rig.dirs)), undefined);
  ok((await Deno.stat(next)).isFile, "a database that is away may be sealed with it");
});

Deno.test(
  skippable(
    "a backup of before is restored with the kept key, and sealed with the new one",
    NOT_SLOW,
  ),
  async () => {
    await using rig = await upkeepRig();
    const file = join(rig.elsewhere, "copy.db");
    await finish(backUp({ file, force: false }, rig.dirs));
    const { changed } = await rekeyed(rig);
    const { result: found } = await finish(check({ file, alone: false }, rig.dirs));
    deepEqual([found.faults, found.notes.length], [[], 1]);
    match(found.notes[0] ?? "", /open with a former key, ".*before-rekey-/);
    const request = { file, cancelTasks: false, dropSecrets: false, revokeTokens: false };
    const { result } = await finish(restore(request, host(rig.dirs)));
    deepEqual([result.formerKey, result.dropped, result.secrets], [changed?.kept, [], []]);
    equal(await valueIn(rig), VALUE);
    deepEqual(await faultsOf(rig), []);

    await rekeyed(rig);
    for (const { path } of await readFormerKeys(rig.dirs.secretKey)) await Deno.remove(path);
    await rejects(
      finish(restore(request, host(rig.dirs))),
      /belong to another key, nothing was changed: .*"secretstore\.key\.before-rekey-1"/,
    );
    await Deno.copyFile(rig.dirs.secretKey, `${rig.dirs.secretKey}.before-rekey-1`);
    await rejects(finish(restore(request, host(rig.dirs))), /belong to another key/);
  },
);
