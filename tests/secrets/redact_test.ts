/**
 * Redaction: no secret gets through, however the output is cut into chunks; everything
 * else does, byte for byte.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { latin1Bytes, latin1Text, utf8 } from "../../src/base/bytes.ts";
import { Redactor, SecretPattern } from "../../src/secrets/redact.ts";
import { secretForms } from "../../src/secrets/secret_forms.ts";
import { cpuMs } from "../helpers/cpu_time.ts";
import { Random } from "../helpers/random.ts";

/** Hides these values in one stream. */
function redactorOf(secrets: readonly string[]): Redactor {
  const pattern = new SecretPattern(secrets.flatMap(secretForms));
  return new Redactor(() => pattern);
}

/** The output of one stream that comes in `chunks`, as text of code units 0 to 255. */
function redactChunks(secrets: readonly string[], chunks: readonly Uint8Array[]): string {
  const redactor = redactorOf(secrets);
  const out = chunks.map((chunk) => latin1Text(redactor.push(chunk)));
  return out.join("") + latin1Text(redactor.flush());
}

/** The same for a text in one chunk, as text. */
const redact = (secrets: readonly string[], text: string) =>
  new TextDecoder().decode(latin1Bytes(redactChunks(secrets, [utf8(text)])));

interface Case {
  readonly what: string;
  readonly secrets: readonly string[];
  readonly text: string;
  readonly shown: string;
}

const CASES: readonly Case[] = [
  { what: "nothing", secrets: ["s3cr3t"], text: "", shown: "" },
  { what: "a secret alone", secrets: ["s3cr3t"], text: "s3cr3t", shown: "***" },
  { what: "a secret in text", secrets: ["s3cr3t"], text: "a s3cr3t b\n", shown: "a *** b\n" },
  { what: "a secret twice", secrets: ["s3cr3t"], text: "s3cr3ts3cr3t", shown: "******" },
  {
    what: "several secrets",
    secrets: ["secret1", "secret2"],
    text: "secret2secret1",
    shown: "******",
  },
  { what: "a beginning of one", secrets: ["s3cr3t"], text: "s3cr3 s3cr s", shown: "s3cr3 s3cr s" },
  { what: "a beginning at the end", secrets: ["s3cr3t"], text: "x s3cr3", shown: "x s3cr3" },
  { what: "a false start", secrets: ["aabaab!"], text: "aabaabaab!", shown: "aab***" },
  { what: "another case", secrets: ["s3cr3t"], text: "S3CR3T", shown: "S3CR3T" },
  { what: "six bytes", secrets: ["sixsix"], text: "sixsix", shown: "***" },
  { what: "five bytes, left alone", secrets: ["fives"], text: "fives", shown: "fives" },
  {
    what: "short words, left alone",
    secrets: ["on", "a", ""],
    text: "on a day",
    shown: "on a day",
  },
  { what: "six bytes in three characters", secrets: ["ééé"], text: "x ééé y", shown: "x *** y" },
  {
    what: "characters beyond ASCII",
    secrets: ["pässwört😀"],
    text: "<pässwört😀>",
    shown: "<***>",
  },
  {
    what: "pattern characters",
    secrets: ["a.b*c+d?(e)[f]{g}^$|\\/"],
    text: "x a.b*c+d?(e)[f]{g}^$|\\/ y",
    shown: "x *** y",
  },
  {
    what: "pattern characters, literally",
    secrets: ["aaa.bbb"],
    text: "aaaxbbb",
    shown: "aaaxbbb",
  },
  { what: "replacement characters", secrets: ["$&$1$$"], text: "x $&$1$$ y", shown: "x *** y" },
  {
    what: "one with line breaks",
    secrets: ["line one\nline two"],
    text: "line one\nline two\n",
    shown: "***\n",
  },
  {
    what: "one without its last line break",
    secrets: ["token-value\n"],
    text: "token-value;",
    shown: "***;",
  },
  {
    what: "one without the blanks around it",
    secrets: ["  token-value "],
    text: "<token-value>",
    shown: "<***>",
  },
  { what: "a base64 form", secrets: ["s3cr3t-value"], text: "czNjcjN0LXZhbHVl", shown: "***" },
  { what: "a padded base64 form", secrets: ["s3cr3t!"], text: "<czNjcjN0IQ==>", shown: "<***>" },
  {
    what: "a base64 form without its padding",
    secrets: ["s3cr3t!"],
    text: "<czNjcjN0IQ>",
    shown: "<***>",
  },
  {
    what: "a secret in the middle of base64, behind one byte",
    secrets: ["s3cr3t-value"],
    text: "dXMzY3IzdC12YWx1ZSEh", // "us3cr3t-value!!"
    shown: "dX***SEh",
  },
  {
    what: "a secret in the middle of base64, behind two bytes",
    secrets: ["s3cr3t-value"],
    text: "dTpzM2NyM3QtdmFsdWUh", // "u:s3cr3t-value!"
    shown: "dTp***Uh",
  },
  {
    what: "a secret at the start of base64",
    secrets: ["s3cr3t-value"],
    text: "czNjcjN0LXZhbHVlOnU=", // "s3cr3t-value:u"
    shown: "***OnU=",
  },
  {
    what: "a secret in a JSON text",
    secrets: ['pass"word\n'],
    text: JSON.stringify({ a: 'pass"word\n' }),
    shown: '{"a":"***"}',
  },
  {
    what: "the long lines of a key file, indented",
    secrets: ["-- KEY --\nMIIEvQIBADANBgkqhkiG\nend"],
    text: "  MIIEvQIBADANBgkqhkiG\n  end\n",
    shown: "  ***\n  end\n",
  },
  {
    what: "a percent form",
    secrets: ["a b/c+d=é"],
    text: "q=a%20b%2Fc%2Bd%3D%C3%A9&",
    shown: "q=***&",
  },
  {
    what: "the longest of several",
    secrets: ["abcdef", "abcdefghij"],
    text: "abcdefghij",
    shown: "***",
  },
  {
    what: "the longest, whatever the order",
    secrets: ["abcdefghij", "abcdef"],
    text: "abcdefghij abcdef",
    shown: "*** ***",
  },
  {
    what: "one inside another",
    secrets: ["xxabcdefyy", "abcdef"],
    text: "xxabcdefyy abcdef",
    shown: "*** ***",
  },
  { what: "the mask itself", secrets: ["s3cr3t"], text: "*** s3cr3t ***", shown: "*** *** ***" },
];

for (const { what, secrets, text, shown } of CASES) {
  Deno.test(`Redactor hides ${what}`, () => equal(redact(secrets, text), shown));

  Deno.test(`Redactor hides ${what} across every chunk border`, () => {
    const bytes = utf8(text);
    const expected = latin1Text(utf8(shown));
    for (let cut = 0; cut <= bytes.length; cut++) {
      const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
      equal(redactChunks(secrets, chunks), expected, `cut at ${cut}`);
    }
    const single = [...bytes].map((byte) => new Uint8Array([byte]));
    equal(redactChunks(secrets, single), expected, "byte by byte");
  });
}

/** A value long enough that `base64` and `openssl` break it into lines. */
const LONG = Array.from({ length: 12 }, (_, i) => `part ${i} of it;`).join("");

for (const width of [64, 76]) {
  Deno.test(`Redactor hides base64 in lines of ${width}, in the middle of a text too`, () => {
    const broken = (value: string) => btoa(value).replace(new RegExp(`.{${width}}`, "g"), "$&\n");
    const shown = redact([LONG], `<${broken(LONG)}>\n<${broken(`${LONG}\n`)}>`);
    // The last characters are also those of whatever follows the value.
    equal(/[A-Za-z0-9+/]{3}/.test(shown), false, shown);
  });
}

for (
  const [what, text] of [
    ["dash", `+ S='it'"'"'s "s3cr3t" $X'`],
    ["bash", `+ S='it'\\''s "s3cr3t" $X'`],
    ["export -p", 'declare -x S="it\'s \\"s3cr3t\\" \\$X"'],
  ] as const
) {
  Deno.test(`Redactor hides a value with quotes as ${what} shows it`, () => {
    const shown = redact([`it's "s3cr3t" $X`], text);
    equal(shown.includes("s3cr3t"), false, shown);
    match(shown, /S=['"]\*\*\*['"]$/);
  });
}

Deno.test("Redactor keeps up with much output where there are many secrets", () => {
  const secrets = Array.from(
    { length: 1000 },
    (_, i) => `${i}-${"kx9/".repeat(i % 9)}-${i * 7919}`,
  );
  const redactor = redactorOf(secrets);
  const chunk = utf8("2026-11-22 12:00:00 words, numbers 1234567 and 7f3a-91bc\n".repeat(1000));
  const start = cpuMs();
  for (let i = 0; i < 64; i++) redactor.push(chunk);
  const took = cpuMs() - start;
  ok(took < 10_000, `4 MiB took ${took.toFixed(0)} ms`); // a pattern of alternatives takes minutes
});

Deno.test("Redactor keeps up with output that begins like every one of many secrets", () => {
  const start = "https://hooks.example/services/of-all-of-them/";
  const pattern = new SecretPattern(
    Array.from({ length: 10_000 }, (_, i) => `${start}${i * 7919}`),
  );
  const redactor = new Redactor(() => pattern);
  const chunk = utf8(`${start}\n`.repeat(1000));
  const begun = cpuMs();
  for (let i = 0; i < 64; i++) redactor.push(chunk);
  const took = cpuMs() - begun;
  ok(took < 5000, `3 MiB took ${took.toFixed(0)} ms`); // one after the other they take minutes
});

/** Secrets whose occurrences share bytes: what is left of the second one would still tell it. */
for (
  const [secrets, text] of [
    [["abcdefgh", "ghijklmn"], "<abcdefghijklmn>"],
    [["abcdefgh", "bcdefghi"], "<abcdefghi>"],
    [["s3cr3t-s3cr3t"], "<s3cr3t-s3cr3t-s3cr3t>"],
  ] as const
) {
  Deno.test(`Redactor hides every byte of ${secrets.join(" and ")} in ${text}`, () => {
    match(redact(secrets, text), /^<\*+>$/);
  });
}

/** Other spellings of the percent and base64 forms, as common programs write them. */
const SPELLINGS: readonly Case[] = [
  {
    what: "lower-case percent escapes",
    secrets: ["a b/c+d=é"],
    text: "a%20b%2fc%2bd%3d%c3%a9",
    shown: "***",
  },
  {
    what: "a form's plus for a blank",
    secrets: ["a b/c+d=é"],
    text: "a+b%2Fc%2Bd%3D%C3%A9",
    shown: "***",
  },
  {
    what: "escapes of marks that need none",
    secrets: ["s3cr3t!(x)"],
    text: "s3cr3t%21%28x%29",
    shown: "***",
  },
];

for (const { what, secrets, text, shown } of SPELLINGS) {
  Deno.test(`Redactor hides percent forms with ${what}`, () => equal(redact(secrets, text), shown));
}

Deno.test("Redactor can be made for a secret with half a surrogate pair", () => {
  equal(redact(["\ud800-s3cr3t"], "x s3cr3t"), "x s3cr3t");
});

Deno.test("Redactor hands on everything at once when there is no secret to hide", () => {
  for (const secrets of [[], [""], ["short"]]) {
    const redactor = redactorOf(secrets);
    deepEqual(redactor.push(utf8("shor")), utf8("shor"));
    equal(redactor.flush().length, 0);
  }
});

Deno.test("Redactor keeps back no more than the beginning of a secret", () => {
  const redactor = redactorOf(["s3cr3t-value"]);
  const push = (text: string) => latin1Text(redactor.push(utf8(text)));
  equal(push("a line\n"), "a line\n");
  equal(push("prompt> "), "prompt> ");
  equal(push("x s3cr"), "x ");
  equal(push("3t-valu"), "");
  equal(push("x"), "s3cr3t-valux");
  equal(push("s3cr3t-value"), "***");
  equal(push("s"), "");
  equal(latin1Text(redactor.release()), "s");
  equal(push("3cr3t-value, s3"), "***, ");
  equal(latin1Text(redactor.release()), "s3");
  equal(push(" s"), " ");
  equal(latin1Text(redactor.flush()), "s");
  equal(redactor.flush().length, 0);
});

Deno.test("Redactor changes no other byte", () => {
  const all = Uint8Array.from({ length: 256 * 40 }, (_, i) => (i * 7) % 256);
  for (const size of [1, 3, 256, 10_000]) {
    const chunks = Array.from(
      { length: Math.ceil(all.length / size) },
      (_, i) => all.subarray(i * size, (i + 1) * size),
    );
    equal(redactChunks(["s3cr3t", "\xff\xfe\xfd\xfc"], chunks), latin1Text(all));
  }
});

Deno.test("Redactor does not mix two streams", () => {
  const [out, err] = [redactorOf(["s3cr3t"]), redactorOf(["s3cr3t"])];
  const shown = [out.push(utf8("s3c")), err.push(utf8("r3t")), out.flush(), err.flush()];
  equal(shown.map(latin1Text).join(""), "r3ts3c");
});

Deno.test("Redactor shows the same however random output is cut, and never a secret", () => {
  const random = new Random(3);
  const word = (length: number) => Array.from({ length }, () => "ab"[random.below(2)]).join("");
  for (let round = 0; round < 500; round++) {
    const secrets = Array.from({ length: 1 + random.below(3) }, () => word(6 + random.below(6)));
    const bytes = utf8(
      Array.from({ length: 8 }, () => random.next() < 0.5 ? secrets[0] : word(random.below(9)))
        .join(""),
    );
    const whole = redactChunks(secrets, [bytes]);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = 1 + random.below(7);
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    const context = JSON.stringify({
      secrets,
      text: latin1Text(bytes),
      sizes: chunks.map((c) => c.length),
    });
    equal(redactChunks(secrets, chunks), whole, context);
    equal(secrets.some((secret) => whole.includes(secret)), false, context);
  }
});

Deno.test("Redactor releases three letters of a secret at most, whenever it is asked", () => {
  const random = new Random(5);
  const word = (length: number) => Array.from({ length }, () => "ab"[random.below(2)]).join("");
  for (let round = 0; round < 2000; round++) {
    const secret = word(6 + random.below(6));
    const text = `${word(random.below(4))}${secret}${word(random.below(9))}.`;
    const redactor = redactorOf([secret]);
    let shown = "";
    for (const letter of text) {
      shown += latin1Text(redactor.push(utf8(letter)));
      if (random.next() < 0.5) shown += latin1Text(redactor.release());
    }
    shown += latin1Text(redactor.flush());
    const context = JSON.stringify({ secret, text, shown });
    equal(shown.includes(secret.slice(0, 4) + "***"), false, context);
    equal(shown.includes(secret), false, context);
    match(shown, /\*\*\*/, context);
    // Without the mask, and whatever of the secret was released, it is the text.
    const whole = redactChunks([secret], [utf8(text)]);
    const parts = shown.split("***");
    const expected = whole.split("***");
    equal(parts.length, expected.length, context);
    for (const [at, part] of parts.entries()) {
      const more = part.slice(expected[at]?.length);
      equal(part.startsWith(expected[at] ?? "?") && more.length < 4, true, context);
    }
  }
});

Deno.test("Redactor keeps up with much output and long secrets", () => {
  const secrets = [..."abcdefgh"].map((letter) => letter.repeat(4000));
  const chunk = utf8("a".repeat(63) + "\n" + "x".repeat(64 * 1024 - 64));
  const redactor = redactorOf(secrets);
  const start = cpuMs();
  for (let i = 0; i < 64; i++) redactor.push(chunk);
  const took = cpuMs() - start;
  ok(took < 3000, `4 MiB took ${took.toFixed(0)} ms`);
});
