/**
 * One contract over every signature scheme: what is genuine is accepted, and nothing that differs
 * from it in any way. Expected signatures are literals from outside (`fixtures/`), never computed
 * by the code under test. A new scheme needs a row here, or a request in its platform's sample; a
 * scheme without either fails.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { findBase64, findHex, latin1Bytes, toBase64, toHex, utf8 } from "../../src/base/bytes.ts";
import { defined } from "../../src/base/defined.ts";
import type {
  DigestEncoding,
  SchemeOptions,
  SigningKey,
  Verdict,
} from "../../src/signatures/scheme.ts";
import { signsInBody } from "../../src/platforms/platform.ts";
import { PLATFORMS } from "../../src/platforms/platforms.ts";
import { findScheme, SCHEMES } from "../../src/platforms/schemes.ts";
import { SAMPLES } from "../platforms/sample.ts";

/** One entry of `fixtures/signatures.json`. */
interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly body_utf8: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly now?: number;
}

const FIXTURE = new URL("../fixtures/signatures.json", import.meta.url);
const VECTORS: readonly Vector[] = JSON.parse(await Deno.readTextFile(FIXTURE));

/** Vectors of standards that the fixture does not hold. */
const FROM_RFCS: readonly Vector[] = [
  {
    name: "RFC 7617 section 2",
    secret: "Aladdin:open sesame",
    body_utf8: "{}",
    headers: { Authorization: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
  },
  {
    name: "RFC 6750 section 2.1",
    secret: "mF_9.B5f-4.1JqM",
    body_utf8: "{}",
    headers: { Authorization: "Bearer mF_9.B5f-4.1JqM" },
  },
];

/** One row of the contract. */
interface Row {
  /** Name of the scheme in a manifest. */
  readonly scheme: string;
  /** Name of its vector. */
  readonly vector: string;
  /** Header of the signature, where it is not the scheme's own. */
  readonly header?: string;
  /** Settings of the scheme `hmac`. */
  readonly hmac?: SchemeOptions["hmac"];
  /** Time of signing in seconds, for schemes that sign one. */
  readonly signedAt?: number;
  /** Whether the secret is in a header, and not in the body. */
  readonly inHeader?: false;
  /** How the digest is written; absent where the header holds no digest. */
  readonly digest?: DigestEncoding;
  /** Offset in the value of a part that the platform tells receivers to ignore. */
  readonly ignoredFrom?: string;
  /** What stands before the digest. */
  readonly prefix?: string;
  /** Headers beside the signature that are signed too. */
  readonly signedHeaders?: readonly string[];
  /** Whether the body is covered; `false` for secrets that are sent as they are. */
  readonly coversBody?: false;
  /** Whether the URL is covered. */
  readonly coversUrl?: true;
  /** A well-formed key of another sender; any other text where absent. */
  readonly otherKey?: string;
}

const OWN_ROWS: readonly Row[] = [
  {
    scheme: "sha256",
    vector: "github-docs",
    header: "X-Hub-Signature-256",
    digest: "hex",
    prefix: "sha256=",
  },
  {
    scheme: "sha256",
    vector: "adnanh-sha256",
    header: "X-Signature",
    digest: "hex",
    prefix: "sha256=",
  },
  {
    scheme: "auto",
    vector: "adnanh-sha256",
    header: "X-Signature",
    digest: "hex",
    prefix: "sha256=",
  },
  { scheme: "github", vector: "github-docs", digest: "hex", prefix: "sha256=" },
  {
    scheme: "auto",
    vector: "github-docs",
    header: "X-Hub-Signature-256",
    digest: "hex",
    prefix: "sha256=",
  },
  {
    scheme: "slack",
    vector: "slack-docs-slash-command",
    signedAt: 1531420618,
    digest: "hex",
    prefix: "v0=",
    signedHeaders: ["X-Slack-Request-Timestamp"],
  },
  {
    scheme: "auto",
    vector: "slack-url-verification (ref)",
    header: "X-Slack-Signature",
    signedAt: 1531420618,
    digest: "hex",
    prefix: "v0=",
    signedHeaders: ["X-Slack-Request-Timestamp"],
  },
  { scheme: "line", vector: "line-docs-verify-empty-events", digest: "base64" },
  {
    scheme: "auto",
    vector: "line-docs-verify-empty-events",
    header: "X-Line-Signature",
    digest: "base64",
  },
  { scheme: "shopify", vector: "convoy-shopify", digest: "base64" },
  {
    scheme: "stripe",
    vector: "stripe-dotnet-sdk",
    signedAt: 1533204620,
    ignoredFrom: ",v0=",
    digest: "hex",
    prefix: "t=1533204620,v1=",
  },
  {
    scheme: "standard-webhooks",
    vector: "standard-webhooks-v1",
    signedAt: 1614265330,
    digest: "base64",
    prefix: "v1,",
    signedHeaders: ["webhook-id", "webhook-timestamp"],
    otherKey: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
  },
  {
    scheme: "standard-webhooks",
    vector: "standard-webhooks-v1a-ed25519",
    signedAt: 1614265330,
    digest: "base64",
    prefix: "v1a,",
    signedHeaders: ["webhook-id", "webhook-timestamp"],
    otherKey: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
  },
  { scheme: "twilio", vector: "twilio-docs", digest: "base64", coversUrl: true },
  {
    scheme: "discord",
    vector: "discord-ping (ref)",
    signedAt: 1700000000,
    digest: "hex",
    signedHeaders: ["X-Signature-Timestamp"],
    otherKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  },
  {
    scheme: "hmac",
    vector: "github-sha1-legacy",
    header: "X-Hub-Signature",
    hmac: { algorithm: "sha1", prefix: "sha1=" },
    digest: "hex",
    prefix: "sha1=",
  },
  {
    scheme: "hmac",
    vector: "tekton-bitbucket-server-example",
    header: "X-Hub-Signature",
    hmac: { algorithm: "sha1", prefix: "sha1=" },
    digest: "hex",
    prefix: "sha1=",
  },
  {
    scheme: "hmac",
    vector: "convoy-sha512-hex",
    header: "X-Convoy-Signature",
    hmac: { algorithm: "sha512" },
    digest: "hex",
  },
  {
    scheme: "hmac",
    vector: "adnanh-empty-body-sha1",
    header: "X-Signature",
    hmac: { algorithm: "sha1" },
    digest: "hex",
  },
  {
    scheme: "hmac",
    vector: "adnanh-empty-body-sha512",
    header: "X-Signature",
    hmac: { algorithm: "sha512", encoding: "hex" },
    digest: "hex",
  },
  {
    scheme: "hmac",
    vector: "scalr",
    header: "X-Signature",
    hmac: { algorithm: "sha1", template: "{body}{timestamp}", timestampHeader: "Date" },
    signedAt: 1504765804,
    digest: "hex",
    signedHeaders: ["Date"],
  },
  {
    scheme: "hmac",
    vector: "zendesk (ref)",
    header: "X-Zendesk-Webhook-Signature",
    hmac: {
      algorithm: "sha256",
      encoding: "base64",
      template: "{timestamp}{body}",
      timestampHeader: "X-Zendesk-Webhook-Signature-Timestamp",
    },
    signedAt: 1651775548,
    digest: "base64",
    signedHeaders: ["X-Zendesk-Webhook-Signature-Timestamp"],
  },
  { scheme: "gitlab", vector: "gitlab-token", coversBody: false },
  {
    scheme: "basic",
    vector: "RFC 7617 section 2",
    coversBody: false,
    otherKey: "Aladdin:open barley",
  },
  { scheme: "bearer", vector: "RFC 6750 section 2.1", coversBody: false },
];

/** Requests of the platforms' samples. */
const FROM_SAMPLES = [...SAMPLES.values()].flatMap(({ requests = [] }) => requests)
  // here everything is a change of a header; tests/platforms/ have their own of what is in the body
  .filter(({ memberOfSignature }) => memberOfSignature === undefined);

/** A request of a sample as a row; how its digest is written is what the platform's file says. */
function toRow(
  { name, scheme, header, now, signs, otherSecret }: typeof FROM_SAMPLES[number],
): Row {
  const found = findScheme(scheme);
  const options = { signatureHeader: header.toLowerCase(), toleranceSecs: 300 };
  const spec = found?.hmacSpec?.(options);
  const time = found?.signedTime?.header(options);
  return {
    scheme,
    vector: name,
    header,
    otherKey: otherSecret,
    ...(spec === undefined ? {} : { digest: spec.form.encoding, prefix: spec.form.prefix }),
    ...(signs.time === undefined || now === undefined ? {} : { signedAt: now }),
    ...(time === undefined ? {} : { signedHeaders: [time] }),
    ...(signs.secret === undefined ? {} : { inHeader: false }),
    ...defined({ coversBody: signs.body, coversUrl: signs.url }),
  };
}

const ROWS: readonly Row[] = [...OWN_ROWS, ...FROM_SAMPLES.map(toRow)];

/** What a sender sends, with headers by lower-case name. */
interface Sent {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string;
  readonly now: number;
}

/** A row with everything that is needed to send its vector. */
class Contract {
  readonly row: Row;
  readonly vector: Vector;
  readonly options: SchemeOptions;
  readonly genuine: Sent;

  constructor(row: Row) {
    const vector = [...VECTORS, ...FROM_RFCS, ...FROM_SAMPLES].find((one) =>
      one.name === row.vector
    );
    ok(vector !== undefined, `no vector is called ${row.vector}`);
    const scheme = findScheme(row.scheme, row.header);
    ok(scheme !== undefined, `no scheme is called ${row.scheme}`);
    this.row = row;
    this.vector = vector;
    this.options = {
      signatureHeader: (row.header ?? scheme.defaultHeader).toLowerCase(),
      toleranceSecs: 300,
      ...defined({ hmac: row.hmac }),
    };
    const cut = row.ignoredFrom ?? "\n";
    const headers = Object.fromEntries(
      Object.entries(vector.headers)
        .map(([name, value]) => [name.toLowerCase(), value.split(cut)[0] ?? ""]),
    );
    this.genuine = {
      body: utf8(vector.body_utf8),
      headers,
      url: vector.url ?? "https://example.com/webhook/t",
      now: (row.signedAt ?? vector.now ?? 1_700_000_000) * 1000,
    };
  }

  get signature(): string {
    return this.genuine.headers[this.options.signatureHeader] ?? "";
  }

  get keys(): SigningKey[] {
    return [{ name: "k", value: this.vector.secret }];
  }

  async verify(changes: Partial<Sent>, keys: readonly SigningKey[] = this.keys): Promise<Verdict> {
    const { headers, ...sent } = { ...this.genuine, ...changes };
    const header = (name: string) => Object.hasOwn(headers, name) ? headers[name] : undefined;
    const scheme = findScheme(this.row.scheme, this.row.header);
    ok(scheme !== undefined);
    return await scheme.verify({ ...sent, arrivedUrl: sent.url, header }, keys, this.options);
  }

  /** The key with which the request passes as it is, or why it does not. */
  async keyOf(keys: readonly SigningKey[] = this.keys): Promise<string> {
    const verdict = await this.verify({}, keys);
    return verdict.ok ? verdict.keyName : verdict.reason;
  }

  /** The genuine request with another value in the header of the signature. */
  signedWith(value: string): Promise<Verdict> {
    return this.verify({
      headers: { ...this.genuine.headers, [this.options.signatureHeader]: value },
    });
  }

  async refuses(verdict: Promise<Verdict>, what: string): Promise<void> {
    equal((await verdict).ok, false, `accepted ${what}`);
  }
}

const CONTRACTS = ROWS.map((row) => new Contract(row));

/** `bytes` with the lowest bit of the one at `at` turned over. */
function flipped(bytes: Uint8Array, at: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

Deno.test("SCHEMES holds every scheme of the contract once, each with a row here", () => {
  const names = SCHEMES.map((scheme) => scheme.name);
  deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  const inHeaders = names.filter((name) =>
    !PLATFORMS.some((platform) => platform.name === name && signsInBody(platform))
  );
  deepEqual(inHeaders.filter((name) => !ROWS.some((row) => row.scheme === name)), []);
  ok(names.includes("sha256"));
});

Deno.test("findScheme gives nothing for a name there is none for", () => {
  const names = ["", "SHA256", "sha1", "none", "toString", "__proto__", "auto "];
  deepEqual(names.map((name) => findScheme(name)), names.map(() => undefined));
});

for (const contract of CONTRACTS) {
  const { row, vector, genuine, options } = contract;
  const test = (criterion: string, fn: () => Promise<void>) =>
    Deno.test(`${row.scheme} (${row.vector}) ${criterion}`, fn);

  test("accepts the published signature and names the key", async () => {
    equal(await contract.keyOf(), "k");
  });

  test("accepts it under any one of several keys, wherever it stands", async () => {
    const other = { name: "other", value: row.otherKey ?? "another-secret" };
    const right = { name: "right", value: vector.secret };
    const third = { name: "third", value: "a-third-secret" };
    for (const keys of [[right, other], [other, right, third], [third, other, right]]) {
      equal(await contract.keyOf(keys), "right");
    }
  });

  test("passes over an empty key on its way to the right one", async () => {
    const keys = [{ name: "empty", value: "" }, ...contract.keys];
    equal(await contract.keyOf(keys), "k");
  });

  test("refuses another key", async () => {
    const value = row.otherKey ?? "another-secret";
    deepEqual(await contract.verify({}, [{ name: "k", value }]), {
      ok: false,
      reason: "no_key_matches",
    });
  });

  test("refuses keys that are nearly right", async () => {
    const { secret } = vector;
    const near = [
      secret.slice(1),
      `x${secret}`,
      secret.replace(/[a-z]/i, (c) => c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()),
    ].filter((value) => value !== secret && !isSameKey(row, value, secret));
    for (const value of near) {
      await contract.refuses(contract.verify({}, [{ name: "k", value }]), `the key ${value}`);
    }
  });

  test("refuses everything when there is no key", async () => {
    deepEqual(await contract.verify({}, []), { ok: false, reason: "no_usable_key" });
  });

  test("refuses everything when every key is empty", async () => {
    const keys = [{ name: "a", value: "" }, { name: "b", value: "" }];
    deepEqual(await contract.verify({}, keys), { ok: false, reason: "no_usable_key" });
  });

  if (row.inHeader === false) continue;

  test("refuses a request without the header, or with an empty one", async () => {
    const { [options.signatureHeader]: _gone, ...headers } = genuine.headers;
    for (const verdict of [await contract.verify({ headers }), await contract.signedWith("")]) {
      const reason = verdict.ok ? "ok" : verdict.reason;
      ok(["signature_header_missing", "secret_missing"].includes(reason), reason);
    }
  });

  test("refuses the signature under another name", async () => {
    const { [options.signatureHeader]: value = "", ...headers } = genuine.headers;
    await contract.refuses(
      contract.verify({ headers: { ...headers, "x-other-signature": value } }),
      "another header",
    );
  });

  test("refuses two header lines, whatever the other one says", async () => {
    const value = contract.signature;
    const wrong = value.replace(/[0-9a-f](?=[^0-9a-f]*$)/i, (c) => c === "0" ? "1" : "0");
    const { separator } = findScheme(row.scheme)?.hmacSpec?.(options)?.form ?? {};
    for (
      const joined of [
        `${value}, ${value}`,
        separator === "," ? `${value},,${value}` : `${value},${value}`,
        `${wrong}, ${value}`,
        `${value}, ${wrong}`,
        `, ${value}`,
        `${value}, `,
        `,${value}`,
        `${value},`,
      ]
    ) {
      await contract.refuses(contract.signedWith(joined), JSON.stringify(joined));
    }
  });

  test("refuses blanks and control characters around the signature", async () => {
    const value = contract.signature;
    for (const blank of [" ", "\t", "\n", "\r\n", "\0", "\u00a0", "\u2028", "\uFEFF"]) {
      await contract.refuses(
        contract.signedWith(blank + value),
        `before: ${JSON.stringify(blank)}`,
      );
      await contract.refuses(contract.signedWith(value + blank), `after: ${JSON.stringify(blank)}`);
    }
  });

  test("refuses values that are no signature", async () => {
    for (
      const value of [
        "undefined",
        "null",
        "[object Object]",
        "sha256=",
        "sha256",
        "=",
        "v0=",
        "v1,",
        "0".repeat(64),
        "sha256=" + "0".repeat(64),
        "sha1=" + "0".repeat(40),
        "Basic Og==",
        "Bearer ",
        "Bearer undefined",
        "😀",
        "a".repeat(100_000),
        "sha256=" + "f".repeat(100_000),
      ]
    ) {
      await contract.refuses(contract.signedWith(value), value.slice(0, 40));
    }
  });

  test("refuses the signature cut short or made longer", async () => {
    const value = contract.signature;
    for (const wrong of [value.slice(0, -1), value.slice(0, -2), value.slice(1), `${value}0`]) {
      await contract.refuses(contract.signedWith(wrong), wrong);
    }
    await contract.refuses(contract.signedWith(value + value), "it twice");
  });
}

/**
 * Whether two texts are one key to the scheme: hexadecimal and base64 keys have several spellings.
 */
function isSameKey(row: Row, a: string, b: string): boolean {
  return row.scheme === "discord" && a.toLowerCase() === b.toLowerCase();
}

for (const contract of CONTRACTS.filter(({ row }) => row.coversBody !== false)) {
  const { row, genuine } = contract;

  Deno.test(`${row.scheme} (${row.vector}) refuses the body with any one byte changed`, async () => {
    const step = Math.max(1, Math.floor(genuine.body.length / 100));
    for (let at = 0; at < genuine.body.length; at += step) {
      await contract.refuses(contract.verify({ body: flipped(genuine.body, at) }), `byte ${at}`);
    }
  });

  Deno.test(`${row.scheme} (${row.vector}) refuses the body with bytes added or left out`, async () => {
    const text = contract.vector.body_utf8;
    for (const other of [` ${text}`, `${text}\n`, `${text}\0`, `\uFEFF${text}`, `${text}x`]) {
      await contract.refuses(
        contract.verify({ body: utf8(other) }),
        JSON.stringify(other.slice(-9)),
      );
    }
    const cut = genuine.body.subarray(0, -1);
    const verdict = await contract.verify({ body: new Uint8Array(cut) });
    equal(verdict.ok, genuine.body.length === 0);
  });
}

for (const contract of CONTRACTS.filter(({ row }) => row.digest !== undefined)) {
  const { row } = contract;
  const prefix = row.prefix ?? "";
  const digest = contract.signature.slice(prefix.length);
  const read = row.digest === "hex" ? findHex : findBase64;
  const write = row.digest === "hex" ? toHex : toBase64;
  const test = (criterion: string, fn: () => Promise<void>) =>
    Deno.test(`${row.scheme} (${row.vector}) ${criterion}`, fn);

  test("refuses the digest with any one bit changed", async () => {
    const bytes = read(digest) ?? new Uint8Array();
    ok(bytes.length >= 20);
    for (let at = 0; at < bytes.length; at++) {
      await contract.refuses(contract.signedWith(prefix + write(flipped(bytes, at))), `byte ${at}`);
    }
  });

  test("refuses a digest of other lengths", async () => {
    const bytes = read(digest) ?? new Uint8Array();
    for (const length of [1, 16, bytes.length - 1]) {
      const value = prefix + write(bytes.subarray(0, length));
      const malformed = { ok: false, reason: "signature_malformed" };
      deepEqual(await contract.signedWith(value), malformed, `${length} bytes`);
    }
    const longer = new Uint8Array([...bytes, 0]);
    await contract.refuses(contract.signedWith(prefix + write(longer)), "one byte more");
  });

  test("refuses another prefix", async () => {
    const prefixes = ["", "sha256=", "sha1=", "SHA256=", "Sha256=", "sha512=", "v0=", "v1=", "v1,"];
    const wrong = [...prefixes, `${prefix} `, ` ${prefix}`, prefix + prefix, "="]
      .filter((one) => one !== prefix);
    for (const one of wrong) {
      await contract.refuses(contract.signedWith(one + digest), JSON.stringify(one));
    }
  });
}

for (const contract of CONTRACTS.filter(({ row }) => row.digest === "hex")) {
  const { row } = contract;
  const prefix = row.prefix ?? "";
  const digest = contract.signature.slice(prefix.length);

  Deno.test(`${row.scheme} (${row.vector}) refuses what is not all hexadecimal`, async () => {
    const rest = digest.slice(2);
    for (
      const wrong of [
        `zz${rest}`,
        `${rest}zz`,
        `0x${rest}`,
        ` ${digest.slice(1)}`,
        `${digest.slice(0, -1)}g`,
        `${digest.slice(0, -1)}`,
        `${digest}0`,
        `-${digest.slice(1)}`,
        `+${digest.slice(1)}`,
        digest.slice(0, 10) + " " + digest.slice(11),
        digest.replace(/[0-9]/, (d) => String.fromCodePoint(0xff10 + Number(d))),
      ]
    ) {
      deepEqual(await contract.signedWith(prefix + wrong), {
        ok: false,
        reason: "signature_malformed",
      }, wrong);
    }
  });

  Deno.test(`${row.scheme} (${row.vector}) reads hexadecimal in either case`, async () => {
    equal((await contract.signedWith(prefix + digest.toUpperCase())).ok, true);
  });
}

for (const contract of CONTRACTS.filter(({ row }) => row.digest === "base64")) {
  const { row } = contract;
  const prefix = row.prefix ?? "";
  const digest = contract.signature.slice(prefix.length);

  Deno.test(`${row.scheme} (${row.vector}) refuses other spellings of base64`, async () => {
    const bytes = findBase64(digest) ?? new Uint8Array();
    const spellings = [
      digest.replace(/=+$/, ""),
      digest.replaceAll("+", "-").replaceAll("/", "_"),
      `${digest}=`,
      toHex(bytes),
      `${digest.slice(0, 8)}\n${digest.slice(8)}`,
      `${digest.slice(0, 8)}====${digest.slice(8)}`,
    ].filter((one) => one !== digest);
    for (const wrong of spellings) {
      await contract.refuses(contract.signedWith(prefix + wrong), wrong);
    }
  });
}

for (const contract of CONTRACTS.filter(({ row }) => row.signedAt !== undefined)) {
  const { row, genuine, options } = contract;
  const test = (criterion: string, fn: () => Promise<void>) =>
    Deno.test(`${row.scheme} (${row.vector}) ${criterion}`, fn);

  test("accepts times of arrival within the window and refuses those outside, on both sides", async () => {
    const at = async (offsetMs: number) => await contract.verify({ now: genuine.now + offsetMs });
    for (const offset of [0, 1000, -1000, 299_000, -299_000]) {
      equal((await at(offset)).ok, true, `${offset}`);
    }
    for (const offset of [301_000, -301_000, 86_400_000, -86_400_000, 1e12]) {
      deepEqual(await at(offset), { ok: false, reason: "timestamp_outside_window" }, `${offset}`);
    }
  });

  test("refuses every arrival whose time is no number", async () => {
    await contract.refuses(contract.verify({ now: NaN }), "NaN");
  });

  for (const name of row.signedHeaders ?? []) {
    test(`refuses ${name} when it is missing, empty, doubled or changed`, async () => {
      const key = name.toLowerCase();
      const { [key]: value = "", ...others } = genuine.headers;
      ok(value !== "");
      await contract.refuses(contract.verify({ headers: others }), "none");
      for (
        const wrong of [
          "",
          " ",
          ` ${value}`,
          `${value} `,
          `${value}\n`,
          `${value}, ${value}`,
          `${value},${value}`,
          `0${value}`,
          `+${value}`,
          `-${value}`,
          `${value}.0`,
          `${value}e0`,
          "NaN",
          "Infinity",
          "0x5b479fca",
          "1.531e9",
          "1531420619",
          "9".repeat(400),
        ]
      ) {
        const headers = { ...others, [key]: wrong };
        await contract.refuses(contract.verify({ headers }), JSON.stringify(wrong));
      }
    });
  }

  test("keeps the window when the options make it narrow", async () => {
    const scheme = findScheme(row.scheme, row.header);
    const request = {
      ...genuine,
      arrivedUrl: genuine.url,
      header: (name: string) => genuine.headers[name],
      now: genuine.now + 11_000,
    };
    const narrow = { ...options, toleranceSecs: 10 };
    equal((await scheme?.verify(request, contract.keys, narrow))?.ok, false);
  });
}

for (const contract of CONTRACTS.filter(({ row }) => row.coversUrl === true)) {
  const { row, genuine } = contract;

  Deno.test(`${row.scheme} (${row.vector}) refuses another URL`, async () => {
    const { url } = genuine;
    for (
      const other of [
        `${url}&x=1`,
        url.replace("https", "http"),
        url.replace("example.com", "example.org"),
        url.replace("bar=2", "bar=3"),
        url.split("?")[0] ?? "",
        "",
      ]
    ) {
      await contract.refuses(contract.verify({ url: other }), other);
    }
  });
}

/**
 * Times, and the digest of `v0:<time>:{}` under the secret of Slack's documentation, by OpenSSL 3.
 */
const SIGNED_TIMES: readonly [time: string, digest: string][] = [
  ["1531420618", "8fa0e009d1ac24fd3df1706b46c6d972abd5f70b762137c3bb5b4208c84c9607"],
  ["1.531420618e9", "cba8e67f8b6998966c50ba333fc85d9fcddfb2ebeda4a45e9c11669603789236"],
  ["0x5b479fca", "3685a3462400198fc35f757c5fe06c606bbcbde26405901aa444910e3257f552"],
  ["1531420618.0", "e769f28f7bd76bde604d43ec694eac6fe23ddb74fe1a0fe37017be63f894c06a"],
  ["+1531420618", "00d7978705689dba1dbfb992b1704a8ef8d9a077a1fa1e242b5c12eaf135c803"],
  ["NaN", "9909d02c4177cbaf0e0c7b9312e3d2924dc74cb8ea14450a443aa84fb703a119"],
  ["01531420618000", "00eaf49fb300f475ae7d7b99694a7d23adb5f41fa265738054c5ea4cf746f9a9"],
  ["1531420618000", "c40a65c1929213a4d8755f890d366709dd7f9b461a2554098fcb6f06ad746e1a"],
  ["-1531420618", "3e4472a51587631a3e64cf1bc2aced1887a9f697321e34d0415ea20cd86da76c"],
];

for (const [index, [time, digest]] of SIGNED_TIMES.entries()) {
  Deno.test(`slack takes a signed time in whole seconds only: ${time}`, async () => {
    const contract = new Contract({ scheme: "slack", vector: "slack-docs-slash-command" });
    const verdict = await contract.verify({
      body: utf8("{}"),
      headers: { "x-slack-request-timestamp": time, "x-slack-signature": `v0=${digest}` },
      now: 1531420618000,
    });
    equal(verdict.ok, index === 0);
  });
}

Deno.test("auto never takes SHA-1", async () => {
  for (
    const [name, header] of [["github-sha1-legacy", "X-Hub-Signature"], [
      "twilio-docs",
      "X-Twilio-Signature",
    ]]
  ) {
    const contract = new Contract({ scheme: "auto", vector: name ?? "", header: header ?? "" });
    await contract.refuses(contract.verify({}), `${name}`);
  }
});

Deno.test("sha256 covers bytes that are no UTF-8", async () => {
  // HMAC-SHA256 under "key" of 0xff 0xfe 0x00 and of U+FFFD U+FFFD NUL, by OpenSSL 3.
  const scheme = findScheme("sha256");
  ok(scheme !== undefined);
  const signed = {
    raw: "sha256=0bb5edf1d66fd8d4c528ef2dcb025d56c823049144525db792cbc67039c59f6a",
    replaced: "sha256=3fd4bda8e1cf8bb4ad15c5f50520d7892b9c876c23be61569b3f4ba075af8083",
  };
  const verdict = async (body: Uint8Array<ArrayBuffer>, signature: string) =>
    (await scheme.verify(
      { body, header: () => signature, now: 0, url: "", arrivedUrl: "" },
      [{ name: "k", value: "key" }],
      { signatureHeader: "x-webhook-signature", toleranceSecs: 300 },
    )).ok;
  const raw = latin1Bytes("\xff\xfe\0");
  const replaced = utf8("\ufffd\ufffd\0");
  deepEqual(
    [await verdict(raw, signed.raw), await verdict(replaced, signed.replaced)],
    [true, true],
  );
  deepEqual(
    [await verdict(raw, signed.replaced), await verdict(replaced, signed.raw)],
    [false, false],
  );
});
