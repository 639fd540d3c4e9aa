/**
 * The lines of a password file, as PostgreSQL's own programs read them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import type { DatabaseAddress } from "../../../src/store/postgres/database/database_url.ts";
import { toAddress, toDriverConfig } from "../../../src/store/postgres/database/driver_config.ts";
import { findPassword } from "../../../src/store/postgres/database/password_file.ts";
import { tempDir } from "../../helpers/temp_dir.ts";

const ADDRESS: DatabaseAddress = {
  host: "db",
  port: 5432,
  user: "svc",
  database: "hooks",
  sslmode: "disable",
};

const FILES: readonly (readonly [string, string | undefined, Partial<DatabaseAddress>?])[] = [
  ["db:5432:hooks:svc:one", "one"],
  ["# db:5432:hooks:svc:none\n\ndb:5432:hooks:svc:one\r\n", "one"],
  ["*:*:*:*:any\ndb:5432:hooks:svc:late", "any"],
  ["other:*:*:*:none", undefined],
  ["db:5433:hooks:svc:none", undefined],
  ["db:5432:hooks:svc:with:colons", "with:colons"],
  ["db:5432:hooks:svc:with\\:both\\\\", "with:both\\"],
  ["db:5432:a\\:b:svc:one", "one", { database: "a:b" }],
  ["db:5432:hooks:svc", undefined],
  ["db:5432:hooks", undefined],
  ["localhost:5432:hooks:svc:one", "one", { host: "/run/postgresql" }],
  ["/srv/socket:5432:hooks:svc:one", "one", { host: "/srv/socket" }],
  ["\\:\\:1:5432:hooks:svc:one", "one", { host: "::1" }],
];

for (const [file, password, address = {}] of FILES) {
  Deno.test(`${JSON.stringify(file)} has ${password ?? "none"}`, () => {
    equal(findPassword(file, { ...ADDRESS, ...address }), password);
  });
}

Deno.test("each password and key that is used is told of, to be hidden", async () => {
  await using dir = await tempDir();
  const [file, key] = [join(dir.path, "pgpass"), join(dir.path, "key.pem")];
  await Deno.writeTextFile(file, "*:*:*:me:of\\:the-file\n", { mode: 0o600 });
  await Deno.writeTextFile(key, "-----KEY-----", { mode: 0o600 });
  const told: string[] = [];
  const env = (name: string) => name === "PGPASSFILE" ? file : undefined;
  const configOf = (url: string) =>
    toDriverConfig(toAddress(url, env), env, (secret) => told.push(secret));
  await configOf("postgres://me@h/db?sslmode=disable").password();
  deepEqual(told.splice(0), ["of:the-file", "of\\:the-file"]);
  await configOf("postgres://me:of-the%20address@h/db?sslmode=disable").password();
  deepEqual(told.splice(0), ["of-the address", "of-the address"]);
  configOf(`postgres://me@h/db?sslcert=${key}&sslkey=${key}`);
  deepEqual(told, ["-----KEY-----"]);
});
