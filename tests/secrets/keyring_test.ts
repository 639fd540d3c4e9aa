/**
 * Secret values at rest: what was sealed opens in its own place with its own key, and
 * nowhere else; and no error tells a value.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual as notEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import {
  createKeyring,
  newKeyFile,
  type SecretPlace,
  withoutUnbound,
} from "../../src/secrets/keyring.ts";
import { sealUnbound } from "../helpers/sealed_unbound.ts";

const PLACE: SecretPlace = {
  project: "default",
  store: "github",
  key: "webhook_secret",
  createdAt: 1_700_000_000_000,
  generation: 7,
};
const VALUE = "s3cr3t-value-of-a-test";
const INTERNAL = { name: "AppError", code: "internal" };

const VALUES: readonly [what: string, value: string][] = [
  ["text", VALUE],
  ["nothing", ""],
  ["one character", "x"],
  ["line breaks", "-----BEGIN KEY-----\nabc\r\n-----END KEY-----\n"],
  ["NUL and control characters", "a\0b\x1b\x7f"],
  ["a byte order mark", "\uFEFFx"],
  ["characters beyond ASCII", "é😀\u2028"],
  ["dots", "svc1.abc.def"],
  ["a megabyte", "x".repeat(1_000_000)],
];

for (const [what, value] of VALUES) {
  Deno.test(`open gives back ${what}`, async () => {
    const keyring = await createKeyring(newKeyFile());
    equal(await keyring.open(PLACE, await keyring.seal(PLACE, value)), value);
  });
}

Deno.test("seal hides the value and is different every time", async () => {
  const keyring = await createKeyring(newKeyFile());
  const sealed = await Promise.all(Array.from({ length: 100 }, () => keyring.seal(PLACE, VALUE)));
  equal(new Set(sealed).size, 100);
  const nonces = sealed.map((one) => atob(one.split(".")[2] ?? "").slice(0, 12));
  equal(new Set(nonces).size, 100);
  for (const one of sealed) {
    match(one, /^svc2\.[0-9a-f]{8}\.[A-Za-z0-9+/]+=*$/);
    equal(one.includes(VALUE) || atob(one.split(".")[2] ?? "").includes(VALUE), false);
  }
});

Deno.test("open works with another keyring of the same file", async () => {
  const file = newKeyFile();
  const sealed = await (await createKeyring(file)).seal(PLACE, VALUE);
  equal(await (await createKeyring(`\n ${file}  \n`)).open(PLACE, sealed), VALUE);
});

const ELSEWHERE: readonly SecretPlace[] = [
  { ...PLACE, project: "other" },
  { ...PLACE, store: "other" },
  { ...PLACE, key: "other" },
  { ...PLACE, generation: 6 },
  { ...PLACE, generation: 8 },
  { ...PLACE, createdAt: PLACE.createdAt + 1 },
  { ...PLACE, createdAt: PLACE.generation, generation: PLACE.createdAt },
  { ...PLACE, project: "defaultgithub", store: "", key: "webhook_secret" },
  { ...PLACE, store: 'github","webhook', key: "_secret" },
  { ...PLACE, store: "github\nwebhook_secret", key: "" },
  { ...PLACE, project: "", store: "default", key: "github" },
  { ...PLACE, project: "Default" },
];

for (const place of ELSEWHERE) {
  Deno.test(`open refuses a value that was moved to ${JSON.stringify(place)}`, async () => {
    const keyring = await createKeyring(newKeyFile());
    const sealed = await keyring.seal(PLACE, VALUE);
    await rejects(keyring.open(place, sealed), INTERNAL);
  });
}

Deno.test("open refuses a value of another key and names both keys", async () => {
  const [one, two] = [await createKeyring(newKeyFile()), await createKeyring(newKeyFile())];
  const sealed = await one.seal(PLACE, VALUE);
  const id = sealed.split(".")[1] ?? "";
  await rejects(two.open(PLACE, sealed), (error: Error) => {
    match(error.message, /SecretStore "github" key "webhook_secret"/);
    ok(error.message.includes(id));
    return true;
  });
});

Deno.test("open refuses a value of another key behind a forged id", async () => {
  const [one, two] = [await createKeyring(newKeyFile()), await createKeyring(newKeyFile())];
  const [, , hidden] = (await one.seal(PLACE, VALUE)).split(".");
  const [, id] = (await two.seal(PLACE, VALUE)).split(".");
  await rejects(two.open(PLACE, `svc2.${id}.${hidden}`), INTERNAL);
});

Deno.test("open refuses a value with any one bit changed", async () => {
  const keyring = await createKeyring(newKeyFile());
  const [format, id, text = ""] = (await keyring.seal(PLACE, VALUE)).split(".");
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1);
    const sealed = `${format}.${id}.${btoa(String.fromCharCode(...changed))}`;
    await rejects(keyring.open(PLACE, sealed), INTERNAL, `byte ${at}`);
  }
});

Deno.test("open refuses a value with any one character changed", async () => {
  const keyring = await createKeyring(newKeyFile());
  const sealed = await keyring.seal(PLACE, VALUE);
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice(0, at) + (sealed[at] === "B" ? "C" : "B") + sealed.slice(at + 1);
    await rejects(keyring.open(PLACE, changed), INTERNAL, `character ${at} of ${sealed}`);
  }
});

Deno.test("open refuses a text that is not a sealed value", async () => {
  const keyring = await createKeyring(newKeyFile());
  const sealed = await keyring.seal(PLACE, VALUE);
  const [format, id, text = ""] = sealed.split(".");
  const bad = [
    "",
    ".",
    "..",
    VALUE,
    format ?? "",
    `${format}.${id}`,
    `${format}.${id}.`,
    `${format}.${id}.AAAA`,
    `${format}.${id}.${text.slice(0, 16)}`,
    `${format}.${id}.${text.slice(0, -4)}`,
    `${format}.${id}.${text}AAAA`,
    `${format}.${id}.!!!!`,
    `svc3.${id}.${text}`,
    ` ${sealed}`,
    `${sealed}\n`,
  ];
  for (const one of bad) await rejects(keyring.open(PLACE, one), INTERNAL, one);
});

Deno.test("open refuses a value with more behind it", async () => {
  const keyring = await createKeyring(newKeyFile());
  const sealed = await keyring.seal(PLACE, VALUE);
  await rejects(keyring.open(PLACE, `${sealed}.more`), INTERNAL);
});

Deno.test("newKeyFile makes another key of 32 bytes every time", () => {
  const files = Array.from({ length: 50 }, newKeyFile);
  equal(new Set(files).size, 50);
  for (const file of files) {
    match(file, /^svc2 [A-Za-z0-9+/]{43}=\n$/);
    equal(atob(file.slice(5).trim()).length, 32);
  }
});

const KEY = btoa("k".repeat(32));

const DAMAGED: readonly [what: string, file: string][] = [
  ["nothing", ""],
  ["blanks", " \n"],
  ["no format", KEY],
  ["no key", "svc2"],
  ["another format", `svc3 ${KEY}`],
  ["31 bytes", `svc1 ${btoa("k".repeat(31))}`],
  ["33 bytes", `svc1 ${btoa("k".repeat(33))}`],
  ["no base64", `svc1 ${"!".repeat(44)}`],
  ["a cut line", `svc1 ${KEY.slice(0, -1)}`],
  ["two keys", `svc1 ${KEY} ${KEY}`],
  ["two lines", `svc1 ${KEY}\nsvc1 ${KEY}\n`],
  ["a byte order mark", `\uFEFF\0svc1 ${KEY}`],
];

for (const [what, file] of DAMAGED) {
  Deno.test(`createKeyring refuses a key file with ${what} and does not show it`, async () => {
    await rejects(createKeyring(file), (error: Error & { code?: string }) => {
      deepEqual([error.name, error.code], ["AppError", "invalid"]);
      equal(error.message.includes(KEY.slice(0, 20)), false);
      return true;
    });
  });
}

Deno.test("a value of the earlier form opens while the key file says so, and not after", async () => {
  const bound = newKeyFile();
  const before = await createKeyring(bound.replace("svc2", "svc1"));
  const sealed = await sealUnbound(bound, PLACE, VALUE);
  deepEqual([before.opensUnbound, before.isUnbound(sealed)], [true, true]);
  equal(await before.open(PLACE, sealed), VALUE);
  await rejects(before.open({ ...PLACE, key: "other" }, sealed), INTERNAL);
  equal(withoutUnbound(bound.replace("svc2", "svc1")), bound);
  equal(withoutUnbound(bound), bound);
  const after = await createKeyring(bound);
  equal(after.opensUnbound, false);
  await rejects(after.open(PLACE, sealed), /sealed by an earlier svc.*belongs to this database/);
  const anew = await before.seal(PLACE, VALUE);
  equal(before.isUnbound(anew), false);
  equal(await after.open(PLACE, anew), VALUE);
});

Deno.test("neither form opens under the name of the other", async () => {
  const file = newKeyFile();
  const both = await createKeyring(file.replace("svc2", "svc1"));
  const bound = await both.seal(PLACE, VALUE);
  await rejects(both.open(PLACE, bound.replace("svc2", "svc1")), INTERNAL);
  const unbound = await sealUnbound(file, PLACE, VALUE);
  await rejects(both.open(PLACE, unbound.replace("svc1", "svc2")), INTERNAL);
});

Deno.test("no error of open holds the value or the key", async () => {
  const file = newKeyFile();
  const keyring = await createKeyring(file);
  const sealed = await keyring.seal(PLACE, VALUE);
  const tries = [
    keyring.open({ ...PLACE, key: "other" }, sealed),
    keyring.open(PLACE, `${sealed.slice(0, -8)}AAAAAAAA`),
    keyring.open(PLACE, "x"),
  ];
  for (const tried of await Promise.allSettled(tries)) {
    notEqual(tried.status, "fulfilled");
    const text = tried.status === "rejected" ? `${tried.reason} ${tried.reason.cause}` : "";
    equal(text.includes(VALUE) || text.includes(file.slice(5, 25)), false);
  }
});
