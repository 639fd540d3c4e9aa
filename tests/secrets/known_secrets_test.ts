/**
 * What is hidden, and for how long: the values there are, and those a run in progress may have
 * read.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { latin1Text, utf8 } from "../../src/base/bytes.ts";
import { AppError } from "../../src/base/errors.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";
import { known, knownIn, storeOf } from "../helpers/known_secrets.ts";

const FIRST = "first-value";
const SECOND = "second-value";
const THIRD = "third-value";

/** A store whose one value can be changed, and what is hidden then. */
function bench() {
  const catalog = new Catalog([storeOf("one", { key: FIRST })]);
  const secrets = knownIn(catalog);
  const all = [FIRST, SECOND, THIRD];
  return {
    secrets,
    set: (value: string) =>
      catalog.change([{ op: "put", resource: storeOf("one", { key: value }) }]),
    drop: () =>
      catalog.change([{
        op: "delete",
        key: { kind: "SecretStore", project: "default", name: "one" },
      }]),
    addTrigger: () =>
      catalog.change([{ op: "put", resource: { ...storeOf("t", {}), kind: "Trigger" } }]),
    hidden: () => all.filter((value) => secrets.redact(value) === "***"),
  };
}

Deno.test("KnownSecrets hides the values of every project", () => {
  const other = { ...storeOf("two", { key: SECOND }), project: "other" };
  const secrets = knownIn(new Catalog([storeOf("one", { key: FIRST }), other]));
  equal(secrets.redact(`${FIRST} and ${SECOND}`), "*** and ***");
});

Deno.test("KnownSecrets forgets a value that no run can have read", () => {
  const { set, drop, hidden } = bench();
  deepEqual(hidden(), [FIRST]);
  set(SECOND);
  deepEqual(hidden(), [SECOND]);
  drop();
  deepEqual(hidden(), []);
});

Deno.test("KnownSecrets hides what a run in progress may have read, until its end", () => {
  const { secrets, set, drop, addTrigger, hidden } = bench();
  const before = secrets.runBegins();
  set(SECOND);
  const between = secrets.runBegins();
  addTrigger();
  deepEqual(hidden(), [FIRST, SECOND]);
  set(THIRD);
  drop();
  const late = secrets.runBegins();
  deepEqual(hidden(), [FIRST, SECOND, THIRD]);
  before[Symbol.dispose]();
  deepEqual(hidden(), [SECOND, THIRD], "the second may have read these");
  between[Symbol.dispose]();
  deepEqual(hidden(), []);
  late[Symbol.dispose]();
  deepEqual(hidden(), []);
});

Deno.test("KnownSecrets hides a value that came and went while a run lasted", () => {
  const { secrets, set, hidden } = bench();
  {
    using _run = secrets.runBegins();
    set(SECOND);
    set(THIRD);
    deepEqual(hidden(), [FIRST, SECOND, THIRD]);
  }
  deepEqual(hidden(), [THIRD]);
});

Deno.test("KnownSecrets keeps what an older run may have read when a younger one ends first", () => {
  const { secrets, set, hidden } = bench();
  using _older = secrets.runBegins();
  set(SECOND);
  {
    using _younger = secrets.runBegins();
    set(THIRD);
  }
  deepEqual(hidden(), [FIRST, SECOND, THIRD]);
});

Deno.test("KnownSecrets does not pile up values where something always runs", () => {
  const { secrets, set } = bench();
  const build = (value: string) => secrets.redact(value);
  let run = secrets.runBegins();
  for (let i = 0; i < 1000; i++) {
    set(`value-${i}-of-many`);
    const next = secrets.runBegins();
    run[Symbol.dispose]();
    run = next;
  }
  equal(build("value-998-of-many"), "value-998-of-many");
  equal(build("value-999-of-many"), "***");
  run[Symbol.dispose]();
});

Deno.test("KnownSecrets hides a value in a stream that began before it was made", () => {
  const { secrets, set } = bench();
  const redactor = secrets.redactor();
  equal(latin1Text(redactor.push(utf8(`${FIRST}\n`))), "***\n");
  set(SECOND);
  equal(latin1Text(redactor.push(utf8(`${SECOND}\n`))), "***\n");
});

Deno.test("KnownSecrets goes through values of every shape, and leaves other texts alone", () => {
  const secrets = known(FIRST);
  const before = { [FIRST]: [FIRST, 1, null, { a: `x ${FIRST}` }], b: true, c: "\uFEFFé😀" };
  deepEqual(secrets.redactAll(before), {
    "***": ["***", 1, null, { a: "x ***" }],
    b: true,
    c: "\uFEFFé😀",
  });
  equal(known().redact("\ud800"), "\ud800");
});

Deno.test("KnownSecrets hides what an operation was given, parts too, until it is over", () => {
  const { secrets, set, hidden } = bench();
  {
    using _operation = secrets.runBegins(["https://h.example/x9f8e7d6c5?key=given-one", SECOND]);
    deepEqual(hidden(), [FIRST, SECOND]);
    equal(secrets.redact("POST /x9f8e7d6c5: given-one"), "POST ***: ***");
    {
      using _other = secrets.runBegins([SECOND]);
      deepEqual(hidden(), [FIRST, SECOND]);
    }
    deepEqual(hidden(), [FIRST, SECOND], "the first is not over");
    set(SECOND);
    deepEqual(hidden(), [FIRST, SECOND], "the operation may get the value before it");
  }
  deepEqual(hidden(), [SECOND]);
  equal(secrets.redact("given-one"), "given-one");
});

Deno.test("KnownSecrets hides the daemon's own, before there is a catalog and after", () => {
  const secrets = new KnownSecrets();
  secrets.know(FIRST);
  equal(secrets.redact(`${FIRST} ${SECOND}`), `*** ${SECOND}`);
  secrets.follow(new Catalog([storeOf("one", { key: SECOND })]));
  equal(secrets.redact(`${FIRST} ${SECOND} ${THIRD}`), `*** *** ${THIRD}`);
  secrets.know(THIRD);
  equal(secrets.redact(`${FIRST} ${SECOND} ${THIRD}`), "*** *** ***");
});

Deno.test("KnownSecrets hides what a refusal says, and keeps what it is", () => {
  const secrets = known(FIRST);
  const cause = new Error("under it");
  const shown = secrets.redactError(
    new AppError("overloaded", `no ${FIRST}`, {
      cause,
      details: [`a ${FIRST}`, "b"],
      reason: FIRST,
      retryAfterSecs: 7,
    }),
  );
  deepEqual([shown.code, shown.message, shown.details], ["overloaded", "no ***", ["a ***", "b"]]);
  deepEqual([shown.reason, shown.retryAfterSecs, shown.cause], ["***", 7, cause]);
});
