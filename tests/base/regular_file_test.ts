/**
 * Files that are opened without waiting for anybody, and nothing else at their paths.
 *
 * @module
 */

import { rejects, strictEqual as equal, throws } from "node:assert/strict";
import { fileFault } from "../../src/base/file_fault.ts";
import { readRegularText, RegularFile } from "../../src/base/regular_file.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { socketRole } from "../../src/auth/caller.ts";
import { readSettingsFile } from "../../src/daemon/settings_file.ts";
import { readPair } from "../../src/http/server/tls_files.ts";
import { readKeyFile } from "../../src/secrets/key_file.ts";
import { findSharedDatabase } from "../../src/storage/shared_database.ts";
import { readPassword } from "../../src/store/postgres/database/password_file.ts";
import { LogFile } from "../../src/store/files/log_file.ts";
import { run } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

Deno.test("the content of a file is read, also through a link", async () => {
  await using temp = await tempDir();
  const path = await temp.write("file", "text");
  await Deno.symlink(path, `${temp.path}/link`);
  equal(readRegularText(path), "text");
  equal(readRegularText(`${temp.path}/link`), "text");
  equal(readRegularText(await temp.write("empty", "")), "");
  throws(() => RegularFile.open(`${temp.path}/link`, { noLink: true }));
});

Deno.test("anything but a regular file is refused at once, with the reason", async () => {
  await using temp = await tempDir();
  const fifo = `${temp.path}/fifo`;
  await run("mkfifo", [fifo]);
  using _socket = Deno.listen({ transport: "unix", path: `${temp.path}/socket` });
  const faults = {
    [fifo]: "it is not a regular file",
    [`${temp.path}/socket`]: "it is not a regular file",
    "/dev/null": "it is not a regular file",
    [temp.path]: "it is a directory",
    [`${temp.path}/none`]: "it does not exist",
    [`${await temp.write("file", "")}/x`]: "a part of its path is not a directory",
  };
  for (const [path, fault] of Object.entries(faults)) {
    for (const how of [{}, { for: "append" }, { for: "write", noLink: true }] as const) {
      throws(() => RegularFile.open(path, how), (error) => {
        equal(fileFault(error), fault, path);
        return true;
      });
    }
  }
});

Deno.test("bytes are read from a position, and written at the end", async () => {
  await using temp = await tempDir();
  const path = await temp.write("file", "0123456789");
  using file = RegularFile.open(path, { for: "append" });
  const buffer = new Uint8Array(4);
  equal(await file.read(buffer, 8), 2);
  equal(new TextDecoder().decode(buffer.subarray(0, 2)), "89");
  equal(await file.read(buffer, 100), 0);
  file.writeSync(new TextEncoder().encode("ab"));
  equal(new TextDecoder().decode(file.contentSync()), "");
  equal(readRegularText(path), "0123456789ab");
});

Deno.test("a file that is too long to hold is refused", async () => {
  await using temp = await tempDir();
  const path = await temp.write("file", "");
  await Deno.truncate(path, 16 * 1024 * 1024);
  equal(readRegularText(path).length, 16 * 1024 * 1024);
  await Deno.truncate(path, 16 * 1024 * 1024 + 1);
  await rejects(async () => await Promise.resolve(readRegularText(path)), /longer than/);
});

Deno.test("no file of the daemon is waited for where a pipe has taken its place", async () => {
  await using temp = await tempDir();
  const fifo = `${temp.path}/fifo`;
  const dirs = { ...dataDirAt(temp.path), udsPolicy: fifo, databaseUrl: fifo };
  await run("mkfifo", ["-m", "600", fifo]);
  const refused = /it is not a regular file/;
  equal((await socketRole(dirs)).role, "read_only");
  throws(() => readSettingsFile(fifo, temp.path), refused);
  throws(() => readPair({ certFile: fifo, keyFile: fifo }), refused);
  throws(() => findSharedDatabase(dirs), refused);
  await rejects(readKeyFile(fifo), refused);
  const address = { host: "db", port: 5432, user: "u", database: "d", sslmode: "disable" } as const;
  throws(() => readPassword(address, () => fifo), refused);
  const log = new LogFile(fifo);
  await rejects(async () => await log.open(), refused);
  await using writer = log.write({ onWritten() {}, stop: new AbortController().signal });
  await rejects(writer.append(new Uint8Array([10])), /not a regular file/);
});
