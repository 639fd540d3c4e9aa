/**
 * What is said of a data directory that `svc init` has not made.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { join } from "node:path";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { findMissing, refuseMissing } from "../../src/base/initialised.ts";
import { tempDir } from "../helpers/temp_dir.ts";

Deno.test("a directory without a database is not initialised, and the option names the directory", async () => {
  await using dir = await tempDir();
  const at = (name: string) => dataDirAt(join(dir.path, name));
  const option = (root: string) => `--data-dir ${root}`;
  const none = at("none");
  deepEqual(await findMissing(none), { fault: "does not exist", option: option(none.root) });
  await rejects(refuseMissing(none), {
    code: "refused",
    message: `The data directory "${none.root}" does not exist: run "svc init ${
      option(none.root)
    }"`,
  });
  const spaced = at("my data");
  deepEqual(await findMissing(spaced), {
    fault: "does not exist",
    option: option(`'${spaced.root}'`),
  });
  await dir.write("file", "");
  deepEqual(await findMissing(at("file")), { fault: "is not a directory" });
  await rejects(refuseMissing(at("file")), { message: /is not a directory: name another one/ });
  deepEqual(await findMissing(at("file/below")), undefined, "its user finds the reason");
  for (const database of ["svc.db", "database.url"]) {
    const made = at(`of-${database}`);
    await Deno.mkdir(made.root);
    deepEqual(await findMissing(made), { fault: "is not initialised", option: option(made.root) });
    await Deno.writeTextFile(join(made.root, database), "");
    deepEqual(await findMissing(made), undefined);
    await refuseMissing(made);
  }
});
