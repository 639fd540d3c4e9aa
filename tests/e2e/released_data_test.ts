/**
 * Every data directory and database of before opens: it is migrated, all that is in it is read, and
 * its work goes on.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { SCHEMA_VERSION as POSTGRES_VERSION } from "../../src/store/postgres/database/migrations.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/engine/migrations.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, type Program, runSvc, slowTest, SOURCE } from "../helpers/program.ts";
import { releasedData, writeKey, writeReleased } from "../helpers/released_data.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** As `tests/fixtures/data_dirs/make.ts` has it. */
const SECRET = "kept from the release of then";

/** Starts a daemon on what is there, reads everything, and has its work go on to the end. */
async function goOn(program: Program, dir: DataDir): Promise<string> {
  const directory = { path: dir.root, [Symbol.asyncDispose]: () => Promise.resolve() };
  await using daemon = await startDaemon(program, { directory });
  const outcomes =
    (await daemon.json("get", "deliveries") as { trigger: string; outcome: string }[])
      .map(({ trigger, outcome }) => `${trigger} ${outcome}`);
  deepEqual(outcomes.toSorted(), [
    "broken accepted",
    "later accepted",
    "later accepted",
    "main filtered",
    "push accepted",
    "push accepted",
    "push duplicate",
    "push rejected",
    "review accepted",
    "review accepted",
    "review accepted",
  ]);
  const store = await daemon.json("describe", "secretstore/github") as { spec: { data: object } };
  deepEqual(store.spec.data, { webhook_secret: SECRET });
  const later = (await daemon.tasks()).filter(({ trigger }) => trigger === "later");
  deepEqual(later.map(({ state }) => state), ["pending"]);
  match(later[0]?.reason ?? "", /^delayed by debounce until 20/);
  equal((await daemon.svc(["task", "cancel", later[0]?.id ?? ""])).code, 0);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const body = '{"n":1,"ref":"other"}';
  const again = (headers: Record<string, string>) =>
    daemon.send("/webhook/push", { body, headers: { ...githubHeaders(SECRET, body), ...headers } });
  equal((await again({ "x-github-delivery": "push-1" })).json["status"], "duplicate");
  equal((await again({})).json["status"], "accepted");
  const states = (await daemon.settled()).map(({ trigger, state }) => `${trigger} ${state}`);
  deepEqual(states.toSorted(), [
    "broken failed",
    "later cancelled",
    "push succeeded",
    "push succeeded",
    "push succeeded",
    "review succeeded",
    "review succeeded",
    "review succeeded",
  ]);
  match((await daemon.svc(["task", "logs", "latest"])).stdout, /done/);
  const checked = await daemon.svc(["db", "check"]);
  equal(checked.code, 0, checked.stderr + checked.stdout);
  return daemon.log;
}

for (const data of releasedData("file")) {
  slowTest(
    `a data directory of schema ${data.version} opens, and its work goes on`,
    async (program) => {
      await using temp = await tempDir();
      const dir = dataDirAt(temp.path);
      await writeReleased(data, dir);
      const init = await runSvc(program, ["init", "--data-dir", dir.root]);
      equal(init.code, 0, init.stderr);
      const log = await goOn(program, dir);
      const copies = [...Deno.readDirSync(dir.root)].map(({ name }) => name)
        .filter((name) => name.includes(".before-migration-"));
      if (data.version === SCHEMA_VERSION) return deepEqual(copies, []);
      equal(copies.length, 1);
      match(log, new RegExp(`is migrated from schema ${data.version} to ${SCHEMA_VERSION}; `));
      const copy = `${dir.root}/${copies[0]}`;
      const checked = await runSvc(program, ["db", "check", copy, "--data-dir", dir.root]);
      equal(checked.code, 0, checked.stderr + checked.stdout);
    },
    { fileOnly: "these have their database in a file" },
  );
}

for (const data of releasedData("postgres")) {
  postgresTest(`a PostgreSQL of schema ${data.version} opens, and its work goes on`, async () => {
    await using temp = await tempDir();
    await using database = await createEmptyDatabase();
    {
      const owner = { node: "tests", run: "tests" };
      await using connections = new Connections({ url: database.url, owner, max: 1 });
      await connections.use((db) => db.exec(data.sql));
    }
    const dir = dataDirAt(temp.path);
    const key = `${temp.path}/key`;
    await writeKey(data.key, key);
    const joined = ["--database", database.url, "--node", "two", "--key-file", key];
    const place = ["--data-dir", dir.root];
    const program = ONE_PROGRAM.onPostgres === true ? ONE_PROGRAM : SOURCE;
    const init = await runSvc(program, ["init", ...place, ...joined]);
    equal(init.code, 0, init.stderr);
    const isOld = data.version < POSTGRES_VERSION;
    const says = `migrated from schema ${data.version} to ${POSTGRES_VERSION}`;
    equal(init.stderr.includes(says), isOld, init.stderr);
    await goOn(program, dir);
  });
}
