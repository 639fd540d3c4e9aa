/**
 * The lines of a password file, as PostgreSQL's own programs read them.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import type { DatabaseAddress } from "../../../src/store/postgres/database/database_url.ts";
import { findPassword } from "../../../src/store/postgres/database/password_file.ts";

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
