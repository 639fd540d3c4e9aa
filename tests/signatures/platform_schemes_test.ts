/**
 * The contract of all signature schemes, over real requests: they pass, and fail after any single
 * change.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Verdict, VerifyFailure } from "../../src/signatures/scheme.ts";
import { SCHEMES } from "../../src/platforms/schemes.ts";
import {
  type Case,
  CASES,
  FACTS,
  keysOf,
  lowerCase,
  optionsOf,
  requestOf,
  schemeNamed,
  unsigned,
  VECTORS,
} from "./platform_cases.ts";

/** Verifies a case with something changed. */
async function verify(
  one: Case,
  changes: Partial<Case> = {},
  secrets: readonly string[] = [one.secret],
): Promise<Verdict> {
  return await schemeNamed(one.scheme).verify(
    requestOf(one, changes),
    keysOf(...secrets),
    optionsOf(one),
  );
}

/** One test for each case, one step each. */
function forEach(
  name: string,
  cases: readonly Case[],
  body: (one: Case) => Promise<void>,
): void {
  Deno.test(`signature schemes: ${name}`, async (t) => {
    for (const one of cases) await t.step(`${one.scheme}: ${one.name}`, () => body(one));
  });
}

async function keyOf(outcome: Promise<Verdict>): Promise<string> {
  const verdict = await outcome;
  return verdict.ok ? verdict.keyName : verdict.reason;
}

async function refuses(verdict: Promise<Verdict>, ...reasons: VerifyFailure[]): Promise<void> {
  const { ok: passed, ...rest } = await verdict;
  equal(passed, false);
  const { reason } = rest as { reason: VerifyFailure };
  ok(reasons.includes(reason), `${reason} is none of ${reasons.join(", ")}`);
}

const BODY_SIGNED = CASES.filter(({ signs }) => signs.body !== false);
const SECRET_IN_HEADER = CASES.filter(({ signs }) => signs.secret === undefined);
const TIME_SIGNED = CASES.filter(({ signs }) => signs.time);
const IN_BODY = CASES.filter(({ memberOfSignature }) => memberOfSignature !== undefined);
const IN_HEADER = SECRET_IN_HEADER.filter(({ memberOfSignature }) =>
  memberOfSignature === undefined
);
const URL_SIGNED = CASES.filter(({ signs }) => signs.url);
const CAN_SIGN = CASES.filter((one) =>
  schemeNamed(one.scheme).sign !== undefined && !one.secret.startsWith("whpk_")
);

Deno.test("signature schemes: every scheme and every vector has its case", () => {
  deepEqual(
    SCHEMES.map(({ name }) => name).filter((name) => !CASES.some(({ scheme }) => scheme === name)),
    [],
  );
  deepEqual(VECTORS.map(({ name }) => name).filter((name) => !Object.hasOwn(FACTS, name)), []);
  deepEqual(Object.keys(FACTS).length, VECTORS.length);
});

Deno.test("signature schemes: either signs or says why not", () => {
  for (const { name, sign, cannotSign } of SCHEMES) {
    equal(sign === undefined, cannotSign !== undefined, name);
  }
});

forEach("verifies the real request", CASES, async (one) => {
  equal(await keyOf(verify(one)), "key1");
});

forEach("refuses a changed body byte", BODY_SIGNED, async (one) => {
  const changed = one.body.length === 0 ? new Uint8Array([0]) : one.body.slice();
  changed[changed.length - 1] = 0x51;
  await refuses(
    verify(one, { body: changed }),
    "no_key_matches",
    "signature_malformed",
    "body_hash_differs",
  );
});

forEach("refuses a body with a byte more or less", BODY_SIGNED, async (one) => {
  const longer = new Uint8Array([...one.body, 0x0a]);
  await refuses(
    verify(one, { body: longer }),
    "no_key_matches",
    "signature_malformed",
    "body_hash_differs",
  );
});

forEach("refuses another key", CASES, async (one) => {
  await refuses(verify(one, {}, [one.otherSecret]), "no_key_matches", "topic_not_allowed");
});

forEach("tries every key", CASES, async (one) => {
  const secrets = ["", one.otherSecret, "\u0000 ,=", "whsec_", "whpk_", one.secret, "last"];
  equal(await keyOf(verify(one, {}, secrets)), "key6");
});

forEach("refuses an empty secret and an empty store", CASES, async (one) => {
  await refuses(verify(one, {}, [""]), "no_usable_key");
  await refuses(verify(one, {}, ["", ""]), "no_usable_key");
  await refuses(verify(one, {}, []), "no_usable_key");
});

forEach("refuses a body without its signature", IN_BODY, async (one) => {
  await refuses(verify(one, unsigned(one)), "signature_missing_in_body");
});

forEach(
  "refuses a header that is missing, empty, doubled or has a blank",
  IN_HEADER,
  async (one) => {
    const signed = Object.keys(one.headers).filter((name) =>
      /signature|token|auth|hmac|trello/i.test(name)
    )
      .filter((name) => !/timestamp/i.test(name));
    const value = one.headers[signed[0] ?? ""] ?? "";
    equal(signed.length, 1);
    const with_ = (text: string) =>
      verify(one, { headers: { ...one.headers, [signed[0] ?? ""]: text } });
    const missing = ["signature_header_missing", "secret_missing"] as const;
    await refuses(verify(one, { headers: {} }), ...missing);
    await refuses(with_(""), ...missing);
    await refuses(with_(`${value}, ${value}`), "signature_malformed");
    // Where a comma separates signatures, two of them are two of a list.
    const { separator } = schemeNamed(one.scheme).hmacSpec?.(optionsOf(one))?.form ?? {};
    if (separator !== ",") await refuses(with_(`${value},${value}`), "signature_malformed");
    await refuses(with_(`${value} `), "signature_malformed");
    await refuses(with_(` ${value}`), "signature_malformed");
  },
);

forEach("holds the time against the window, on both sides", TIME_SIGNED, async (one) => {
  const at = (now: number) => verify(one, { now });
  await refuses(at(one.now - 301), "timestamp_outside_window");
  await refuses(at(one.now + 301), "timestamp_outside_window");
  const within = one.signs.time === true ? 300 : 299; // a time in a body may have a fraction
  equal((await at(one.now - within)).ok, true);
  equal((await at(one.now + within)).ok, true);
});

const TIME_IN_HEADER = TIME_SIGNED.filter(({ signs }) => signs.time === true);

forEach(
  "refuses a time that is missing, changed or not in its form",
  TIME_IN_HEADER,
  async (one) => {
    const header = schemeNamed(one.scheme).signedTime?.header(optionsOf(one)) ?? one.header;
    const headers = lowerCase(one.headers);
    const own = header === one.header ? one.header.toLowerCase() : header;
    const value = headers[own] ?? "";
    const given = /^t=([0-9]+)/.exec(value)?.[1] ?? value;
    const with_ = (text: string) =>
      verify(one, { headers: { ...headers, [own]: value.replace(given, () => text) } });
    await refuses(with_(""), "timestamp_missing");
    for (const text of [`${given}, ${given}`, "NaN", "1.7e9", "0x6553f100", `-${given}`, "１７"]) {
      await refuses(with_(text), "timestamp_malformed", "signature_malformed");
    }
    await refuses(with_(String(one.now + 1)), "no_key_matches");
  },
);

forEach("refuses another URL", URL_SIGNED, async (one) => {
  for (const url of [`${one.url}&x=1`, one.url.replace("https", "http"), "", "::"]) {
    await refuses(verify(one, { url }), "no_key_matches", "body_not_signed", "body_hash_differs");
  }
});

forEach("signs what it verifies, as the platform does", CAN_SIGN, async (one) => {
  const scheme = schemeNamed(one.scheme);
  const [key = { name: "", value: "" }] = keysOf(one.secret);
  const input = {
    body: one.body,
    url: one.url,
    now: one.now * 1000 + 999,
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  };
  const headers = await scheme.sign?.(input, key, optionsOf(one)) ?? {};
  const { "Content-Type": type, ...own } = one.headers;
  const sent = type === undefined ? headers : { ...headers, "Content-Type": type };
  equal((await verify(one, { headers: sent })).ok, true);
  const expected = { own, none: headers, given: one.signed }[
    one.signed === undefined ? "none" : one.signed === "own" ? "own" : "given"
  ];
  deepEqual(lowerCase(headers), lowerCase(expected as Record<string, string>));
});

forEach("refuses to sign with a key anyone has", CAN_SIGN, async (one) => {
  const input = { body: one.body, url: one.url, now: 0, id: "i" };
  await rejects(
    async () =>
      await schemeNamed(one.scheme).sign?.(input, { name: "k", value: "" }, optionsOf(one)),
    { name: "AppError", code: "invalid" },
  );
});

/** xorshift: the same garbage on every run. */
function* garbage(seed: number): Generator<string> {
  const pieces =
    "sha256= v0= v1, v1a, t=1 , = Bearer Basic whsec_ whpk_ %zz %ff \u0000 é \ud800 {} 0 f A"
      .split(" ");
  for (let state = seed;;) {
    let text = "";
    for (let i = 0; i < 6; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      text += (pieces[Math.abs(state) % pieces.length] ?? "").repeat(1 + Math.abs(state >> 8) % 3);
    }
    yield text;
  }
}

forEach("never throws and never passes on garbage", SECRET_IN_HEADER, async (one) => {
  const words = garbage(one.name.length + 7);
  const word = () => words.next().value ?? "";
  for (let i = 0; i < 60; i++) {
    const headers = Object.fromEntries(Object.keys(one.headers).map((name) => [name, word()]));
    const body = new TextEncoder().encode(word());
    const changes = one.memberOfSignature === undefined ? { headers } : { body };
    equal((await verify(one, changes, [one.secret, word()])).ok, false);
    equal((await verify(one, { headers, body, url: word() }, [word(), word()])).ok, false);
    equal((await verify(one, {}, [word()])).ok, false);
  }
});
