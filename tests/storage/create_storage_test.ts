/**
 * Data directories that share a PostgreSQL: the first makes what they share, others join with its key.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { defined } from "../../src/base/defined.ts";
import { AppError } from "../../src/base/errors.ts";
import { initDataDir } from "../../src/init.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
import { isThere } from "../../src/base/durable_files.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** `svc init --database` in a directory. */
async function init(
  path: string,
  url: string,
  { keyFile, env = () => undefined }: {
    keyFile?: string;
    env?: (name: string) => string | undefined;
  } = {},
): Promise<void> {
  await initDataDir(dataDirAt(path), {
    clock: systemClock,
    env,
    shared: { url, name: path },
    ...defined({ keyFile }),
  });
}

async function refused(work: Promise<unknown>, sentence: RegExp): Promise<void> {
  const error = await work.then(() => undefined, (error) => error);
  match(error instanceof AppError ? error.message : `no refusal: ${error}`, sentence);
  equal(error.code, "refused");
}

postgresTest("others join a database with the key of the first, and with no other", async () => {
  await using database = await createEmptyDatabase();
  await using temp = await tempDir();
  const [first, other, joined] = ["first", "other", "joined"].map((name) => `${temp.path}/${name}`);
  if (first === undefined || other === undefined || joined === undefined) throw new Error();
  await init(first, database.url);
  await init(first, database.url);
  const keyFile = dataDirAt(first).secretKey;
  const foreign = await temp.write("foreign.key", newKeyFile());
  await refused(
    init(joined, database.url),
    /is missing, and the secrets of the database are sealed with key [0-9a-f]{16}: .*--key-file/,
  );
  await refused(
    init(joined, database.url, { keyFile: foreign }),
    /sealed with key [0-9a-f]{16}, and the file is key [0-9a-f]{16}: give the file of a daemon/,
  );
  equal(await isThere(joined), false, "a join that is refused leaves nothing");
  await init(joined, database.url, { keyFile });
  await init(joined, database.url, { keyFile });
  await init(other, `${database.url}_not_there`).catch(() => {});
  equal(await isThere(other), false, "one that cannot be reached leaves nothing");
  await refused(
    init(joined, database.url, { keyFile: foreign }),
    /sealed with key [0-9a-f]{16}, and the file is key [0-9a-f]{16}: give the file of a daemon/,
  );
  await Deno.copyFile(foreign, dataDirAt(joined).secretKey);
  const options = { env: () => undefined, run: "r", clock: systemClock };
  await refused(openStorage(dataDirAt(joined), options), /sealed with key/);
});

Deno.test("a daemon that is alone is called as its machine, and says since when it runs", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(`${temp.path}/alone`);
  await initDataDir(dir, { clock: systemClock, env: () => undefined });
  const before = systemClock.now();
  const options = { env: () => undefined, run: "r", clock: systemClock };
  await using storage = await openStorage(dir, options);
  const [node, ...others] = await storage.store.listNodes();
  deepEqual([node?.id, node?.name, node?.leaseUntil, others], [
    "r",
    Deno.hostname(),
    undefined,
    [],
  ]);
  ok((node?.startedAt ?? 0) >= before);
});

postgresTest(
  "a join that was killed between its two files is finished by the next one",
  async () => {
    await using database = await createEmptyDatabase();
    await using temp = await tempDir();
    const path = `${temp.path}/a`;
    await init(path, database.url);
    await Deno.remove(dataDirAt(path).databaseUrl);
    await init(path, database.url);
    equal(await Deno.readTextFile(dataDirAt(path).databaseUrl), `${database.url}\n`);
  },
);

postgresTest("a password stands in no command line, and may stand in a variable", async () => {
  await using database = await createEmptyDatabase();
  await using temp = await tempDir();
  const url = new URL(database.url);
  url.password = "s3cret";
  const secret = url.href;
  const work = init(`${temp.path}/a`, secret);
  await refused(work, /holds a password, and other users .* can read command lines/);
  const env = (name: string) => name === "SVC_DATABASE_URL" ? secret : undefined;
  const other = "postgres://nobody@127.0.0.1:1/nowhere";
  await refused(
    init(`${temp.path}/b`, other, { env }),
    /--database names PostgreSQL "nowhere" at 127\.0\.0\.1:1, and SVC_DATABASE_URL, which .* names PostgreSQL "/,
  );
  equal(await isThere(`${temp.path}/b`), false);
  url.password = "";
  url.username = "nobody";
  const plain = url.href;
  await init(`${temp.path}/b`, plain, { env });
  await init(`${temp.path}/b`, plain, { env });
  const kept = await Deno.readTextFile(dataDirAt(`${temp.path}/b`).databaseUrl);
  equal(kept, `${plain}\n`);
});
