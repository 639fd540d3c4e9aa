/**
 * Data directories that share a PostgreSQL: the first makes what they share, others join with its key.
 *
 * @module
 */

import { match, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { AppError } from "../../src/base/errors.ts";
import { initDataDir } from "../../src/init.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
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
    ...(keyFile === undefined ? {} : { keyFile }),
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
  await refused(
    init(other, database.url),
    /sealed with key [0-9a-f]{16}, .*: put the file of a daemon/,
  );
  await refused(
    init(other, database.url, { keyFile: dataDirAt(first).secretKey }),
    /another key than .*: remove it if nothing was sealed with it/,
  );
  await init(joined, database.url, { keyFile: dataDirAt(first).secretKey });
  await Deno.copyFile(dataDirAt(other).secretKey, dataDirAt(joined).secretKey);
  const options = { env: () => undefined, run: "r", clock: systemClock };
  await refused(openStorage(dataDirAt(joined), options), /sealed with key/);
});

postgresTest("a password stands in no command line, and may stand in a variable", async () => {
  await using database = await createEmptyDatabase();
  await using temp = await tempDir();
  const url = new URL(database.url);
  url.password = "s3cret";
  const work = init(`${temp.path}/a`, url.href);
  await refused(work, /holds a password, and everybody .* can read command lines/);
  const env = (name: string) => name === "SVC_DATABASE_URL" ? url.href : undefined;
  const plain = "postgres://nobody@127.0.0.1:1/nowhere";
  await init(`${temp.path}/b`, plain, { env });
  await init(`${temp.path}/b`, plain, { env });
  const kept = await Deno.readTextFile(dataDirAt(`${temp.path}/b`).databaseUrl);
  equal(kept, `${plain}\n`);
});
