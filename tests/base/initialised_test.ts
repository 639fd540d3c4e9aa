/**
 * What is said of a data directory that `svc init` has not made.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { whyNotInitialised } from "../../src/base/initialised.ts";
import { tempDir } from "../helpers/temp_dir.ts";

Deno.test("what has no database is not initialised, and the command names the directory", async () => {
  await using dir = await tempDir();
  const said = async (name: string) => {
    const root = join(dir.path, name);
    return (await whyNotInitialised(dataDirAt(root)))?.replaceAll(dir.path, "DIR");
  };
  const init = (name: string) =>
    `"svc init --data-dir ${name}", or name another one with --data-dir`;
  deepEqual(
    await said("none"),
    `There is no data directory "DIR/none": make it with ${init("DIR/none")}`,
  );
  deepEqual(
    await said("my data"),
    `There is no data directory "DIR/my data": make it with ${init("'DIR/my data'")}`,
  );
  await dir.write("file", "");
  deepEqual(
    await said("file"),
    '"DIR/file" is no directory: name the data directory with --data-dir',
  );
  deepEqual(
    await said("file/below"),
    undefined,
    "the reason is another one, which who wants to use it finds",
  );
  for (const made of ["svc.db", "database.url"]) {
    await Deno.mkdir(join(dir.path, made));
    deepEqual(
      await said(made),
      `The data directory "DIR/${made}" is not initialised: run ${init(`DIR/${made}`)}`,
    );
    await Deno.writeTextFile(join(dir.path, made, made), "");
    deepEqual(await said(made), undefined);
  }
});
