/**
 * Kind `SecretStore`: a value that is no secret is refused; the message names the key and never the
 * value.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { MASK } from "../../src/resources/names.ts";
import { secretStore } from "../../src/resources/secret_store.ts";
import { isPlaceholder } from "../../src/resources/secrets_template.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

const kinds = new KindLookup([]);

/** A SecretStore whose key `token` has `written`, as YAML text, for a value. */
const manifest = (written: string) =>
  `kind: SecretStore\nmetadata: {name: s}\nspec:\n  data:\n    token: ${written}\n`;

/** Everything an apply says about a text. */
function said(text: string): string[] {
  const { documents, errors, warnings } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...warnings,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings.map((one) => formatFinding(document, one))
    ),
  ];
}

/** Whether a resource comes out. */
const accepted = (text: string) =>
  parseManifest("f.yaml", text).documents
    .some((document) => readDocument(document.value, { kinds }).resource !== undefined);

const GOOD = [
  "a-real-secret",
  '"0123"',
  '"true"',
  '"12345"',
  '"null"',
  "'with \"quotes\"'",
  "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  '"* * *"',
  '"****"',
  '"<"',
  '"a<b>c"',
  "changement",
  '"  blanks around, \\nof two lines\\n"',
  "é😀",
];

for (const written of GOOD) {
  Deno.test(`SecretStore takes ${written}`, () => {
    deepEqual(said(manifest(written)), []);
    ok(accepted(manifest(written)));
  });
}

for (const written of ['"a-real-secret\\n"', "|\n      a-real-secret", '" a-real-secret"']) {
  Deno.test(`SecretStore takes ${JSON.stringify(written)} and warns of its white space`, () => {
    const text = manifest(written);
    equal(said(text).length, 1);
    match(said(text).join(), /The value of "token" begins or ends with white space/);
    ok(!said(text).join().includes("a-real-secret"));
    ok(accepted(text));
  });
}

const REFUSED: readonly [what: string, written: string, message: RegExp][] = [
  ["an empty text", '""', /"token" is empty/],
  ["blanks", '"   "', /"token" is empty/],
  ["a line break", '"\\n"', /"token" is empty/],
  ["the mask with a line break", "|\n      ***", /"token" is \*\*\*, which svc shows in place/],
  ["the mask between blanks", '" *** "', /"token" is \*\*\*, which svc shows in place/],
  ["a placeholder", "<your-secret>", /"token" is a placeholder/],
  ["another placeholder", '"<your-signing-secret>"', /"token" is a placeholder/],
  ["a placeholder in a block", "|\n      <your-secret>", /"token" is a placeholder/],
  ["a placeholder with blanks", '" <your secret> "', /"token" is a placeholder/],
  ["a template", "'{{ .Values.secret }}'", /"token" is a placeholder/],
  ["a shell variable", "'${WEBHOOK_SECRET}'", /"token" is a placeholder/],
  ["changeme", "ChangeMe", /"token" is a placeholder/],
  ["nothing", "", /spec\.data\.token: .*found nothing/],
  ["null", "~", /spec\.data\.token: .*found nothing/],
  ["a list", "[s3cr3tvalue]", /spec\.data\.token: .*found a list/],
  ["a mapping", "{a: s3cr3tvalue}", /spec\.data\.token: .*found a mapping/],
];

for (const [what, written, message] of REFUSED) {
  Deno.test(`SecretStore refuses ${what} at its line and column`, () => {
    const lines = said(manifest(written));
    equal(lines.length, 1, lines.join("\n"));
    match(lines[0] ?? "", message);
    match(lines[0] ?? "", /^f\.yaml:5:5: spec\.data\.token: /);
    equal(accepted(manifest(written)), false);
  });
}

/** Values that YAML takes for something else, with what must not be shown of each. */
const NO_TEXT: readonly [written: string, secret: RegExp][] = [
  ["123456789", /123456789/],
  ["0123", /123/],
  ["1e5", /1e5|100000/],
  ["0x1f2e3d", /0x1f|2043453/],
  ["3.14159", /3\.14/],
  ["12345678901234567890", /1234567890123/],
  ["true", /true/],
  [".inf", /inf/i],
];

for (const [written, secret] of NO_TEXT) {
  Deno.test(`SecretStore refuses ${written} without quotes and names the key, not the value`, () => {
    const lines = said(manifest(written));
    equal(lines.length, 1);
    match(lines[0] ?? "", /^f\.yaml:5:5: spec\.data\.token: .*quote it/);
    equal(secret.test(lines[0]?.replace(/^f\.yaml:5:5/, "") ?? ""), false, lines[0]);
    equal(accepted(manifest(written)), false);
  });
}

/** Ways to get the YAML wrong around a secret. */
const SLIPS: readonly [what: string, text: string][] = [
  ["an alias", manifest("*s3cr3tvalue")],
  ["an anchor twice", manifest("&s3cr3tvalue &s3cr3tvalue x")],
  ["a tag", manifest("!s3cr3tvalue x")],
  ["a colon in it", manifest("s3cr3tvalue: x")],
  ["an unknown escape", manifest('"s3cr3tvalue\\q"')],
  ["an open quote", manifest('"s3cr3tvalue')],
  ["text after quotes", manifest('"x" s3cr3tvalue')],
  ["a reserved character", manifest("@s3cr3tvalue")],
  ["a percent sign", manifest("%s3cr3tvalue")],
  ["a wrong indentation", manifest("\n   s3cr3tvalue: a\n  b")],
  ["two JSON documents", `${JSON.stringify({ a: "x" })}\n${JSON.stringify({ a: "s3cr3tvalue" })}`],
  ["a JSON document that goes on", `{"spec":{"data":{"a":"x"}}} "s3cr3tvalue"`],
  ["a value for data", "kind: SecretStore\nmetadata: {name: s}\nspec: {data: s3cr3tvalue}\n"],
  ["a value for spec", "kind: SecretStore\nmetadata: {name: s}\nspec: s3cr3tvalue\n"],
  ["data in the metadata", "kind: SecretStore\nmetadata: {name: s, data: s3cr3tvalue}\nspec: {}\n"],
];

for (const [what, text] of SLIPS) {
  Deno.test(`SecretStore with ${what} never shows the value`, () => {
    const lines = said(text);
    ok(lines.length > 0, "there is no finding");
    equal(lines.join("\n").includes("s3cr3tvalue"), false, lines.join("\n"));
  });
}

Deno.test("SecretStore refuses an empty key name and unknown fields", () => {
  match(
    said('kind: SecretStore\nmetadata: {name: s}\nspec: {data: {"": abcdef}}\n')[0] ?? "",
    /name/,
  );
  const text = "kind: SecretStore\nmetadata: {name: s}\nspec:\n  data: {}\n  dta: {}\n";
  deepEqual(said(text), ['f.yaml:5:3: spec.dta: Unknown field "dta", did you mean "data"?']);
});

Deno.test("SecretStore reports every bad key at once", () => {
  const keys = Array.from({ length: 30 }, (_, i) => `    key${i}: ${i}\n`).join("");
  const text = `kind: SecretStore\nmetadata: {name: s}\nspec:\n  data:\n${keys}`;
  equal(said(text).length, 30);
});

Deno.test("SecretStore keeps a key called __proto__ and masks it", () => {
  const text = "kind: SecretStore\nmetadata: {name: s}\nspec: {data: {__proto__: abcdefgh}}\n";
  const { resource } = readDocument(parseManifest("f", text).documents[0]?.value, { kinds });
  ok(resource !== undefined);
  equal(JSON.stringify(secretStore.mask?.(resource.spec)), '{"data":{"__proto__":"***"}}');
});

Deno.test("secretStore.mask hides every value and keeps the keys", () => {
  const masked = secretStore.mask?.({ data: { a: "secret one", b: "secret two" } });
  deepEqual(masked, { data: { a: MASK, b: MASK } });
});

Deno.test("secretStore shows no value in a column", () => {
  const spec = { data: { a: "s3cr3tvalue" } };
  const row = { ...secretStore, spec, name: "s" } as never;
  equal(secretStore.columns.map((column) => column.cell(row)).join(" ").includes("s3cr3t"), false);
});

for (const [value, expected] of [["<x>", true], ["x<y>", false], ["", false]] as const) {
  Deno.test(`isPlaceholder of ${JSON.stringify(value)}`, () =>
    equal(isPlaceholder(value), expected));
}

Deno.test("isPlaceholder answers a long text at once", () => {
  const start = cpuMs();
  for (
    const text of ["{{" + "}} ".repeat(50_000), "your-" + "- ".repeat(50_000), " ".repeat(100_000)]
  ) {
    isPlaceholder(text);
  }
  ok(cpuMs() - start < 1000);
});
