/**
 * Addresses of databases: what each part means, and what is refused.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import {
  type DatabaseAddress,
  holdsPassword,
  parseDatabaseUrl,
  placeOf,
} from "../../../src/store/postgres/database/database_url.ts";

const PLAIN: DatabaseAddress = {
  host: "db.internal",
  port: 5432,
  user: "svc",
  database: "svc",
  sslmode: "verify-full",
};
const LOCAL = { sslmode: "disable" } as const;

const ADDRESSES: readonly (readonly [string, Partial<DatabaseAddress>])[] = [
  ["postgres://svc@db.internal/svc", {}],
  ["postgresql://svc@db.internal:6000/svc", { port: 6000 }],
  ["postgres://svc@localhost/svc", { host: "localhost", ...LOCAL }],
  ["postgres://svc@127.3.2.1/svc", { host: "127.3.2.1", ...LOCAL }],
  ["postgres://svc@[::1]/svc", { host: "::1", ...LOCAL }],
  ["postgres://svc@10.0.0.1/svc", { host: "10.0.0.1" }],
  ["postgres://svc@127.evil.example/svc", { host: "127.evil.example" }],
  ["postgres:///svc?host=/run/postgresql&user=svc", { host: "/run/postgresql", ...LOCAL }],
  ["postgres://svc@localhost/svc?host=/tmp/s&port=6000", { host: "/tmp/s", port: 6000, ...LOCAL }],
  ["postgres://svc@%2Ftmp%2Fs/svc", { host: "/tmp/s", ...LOCAL }],
  ["postgres://db.internal/svc", { user: "somebody" }],
  ["postgres://a%40b:p%3A%2F@db.internal/s%20vc", {
    user: "a@b",
    password: "p:/",
    database: "s vc",
  }],
  ["postgres://svc@db.internal/svc?sslmode=disable", LOCAL],
  ["postgres://svc@localhost/svc?sslmode=verify-full", { host: "localhost" }],
  [
    "postgres://svc@db.internal/svc?sslmode=verify-ca&sslrootcert=/a&sslcert=/b&sslkey=/c",
    { sslmode: "verify-ca", sslrootcert: "/a", sslcert: "/b", sslkey: "/c" },
  ],
];

for (const [url, expected] of ADDRESSES) {
  Deno.test(`${url} is an address`, () => {
    deepEqual(parseDatabaseUrl(url, "somebody"), { ...PLAIN, ...expected });
  });
}

const FAULTS: readonly (readonly [string, RegExp])[] = [
  ["db.internal/svc", /is none: write it as "postgres:\/\/user@host\/database"/],
  ["mysql://a:s3cret@b/c", /is none/],
  ["postgres://a:s3cret@h:99999/d", /is none/],
  ["postgres://a:s3cret@/d", /is none|names no host/],
  ["postgres://a:s3cret@h1,h2/d", /names no host, or several/],
  ["postgres://:s3cret@h/d", /names no user/],
  ["postgres://a:s3cret@h", /names no database/],
  ["postgres://a:s3cret@h/d?port=0", /no port in "0"/],
  ["postgres://a:s3cret@h/d?ssl_mode=require", /has "ssl_mode", which is not one of host, port/],
  ["postgres://a@h/d?password=s3cret", /has "password", which is not one of/],
  [
    "postgres://a:s3cret@h/d?sslmode=prefer",
    /an attacker on the way could turn off: write verify-full/,
  ],
  ["postgres://a:s3cret@h/d?sslmode=yes", /sslmode=yes: write verify-full/],
  ["postgres://a:s3cret@h/d?sslcert=/b", /one of sslcert and sslkey/],
  ["postgres://a:s3cret%ZZ@h/d", /a % that starts no escape/],
];

for (const [url, sentence] of FAULTS) {
  Deno.test(`${url} is refused, without its password`, () => {
    throws(() => parseDatabaseUrl(url), ({ code, message }) => {
      equal(code, "refused");
      equal(message.includes("s3cret"), false);
      return sentence.test(message);
    });
  });
}

Deno.test("a place is said without a password", () => {
  equal(placeOf(PLAIN), "db.internal:5432");
  equal(placeOf({ ...PLAIN, host: "::1" }), "[::1]:5432");
  equal(placeOf({ ...PLAIN, host: "/tmp" }), "the socket /tmp/.s.PGSQL.5432");
});

Deno.test("a password in an address is known", () => {
  equal(holdsPassword("postgres://a:b@h/d"), true);
  equal(holdsPassword("postgres://a@h/d"), false);
  equal(holdsPassword("nothing"), false);
});
