import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { firstByte, isForm, MAX_FORM_FIELDS, parseForm } from "../../src/base/form.ts";

const FORM = "application/x-www-form-urlencoded";

Deno.test("isForm goes by the type, but never against bytes that begin as JSON", () => {
  const rows: [type: string | undefined, body: string, form: boolean][] = [
    [FORM, "a=1", true],
    [FORM, "", true],
    [FORM.toUpperCase(), "a=1", true],
    [` ${FORM}\t; charset=utf-16`, "a=1", true],
    [FORM, '{"a":1}', false],
    [FORM, "[1]", false],
    [FORM, '"a&payload=%7B%7D"', false],
    [FORM, '\r\n\ufeff"a&payload=%7B%7D"', false],
    [FORM, "%22a&payload=%7B%7D", true],
    [FORM, ' \t\r\n{"a":1}', false],
    [FORM, '\ufeff{"a":1}', false],
    [FORM, '\n\ufeff \ufeff{"a":1}', false],
    [FORM, '\u00a0{"a":1}', true], // no JSON white space, so no JSON
    [`${FORM}x`, "a=1", false],
    [`text/plain; ${FORM}`, "a=1", false],
    ["application/json", "a=1", false],
    [undefined, "a=1", false],
  ];
  for (const [type, body, form] of rows) {
    equal(isForm(type, new TextEncoder().encode(body)), form, JSON.stringify([type, body]));
  }
});

Deno.test("firstByte is undefined where there is nothing but white space", () => {
  for (const body of ["", " \n", "\ufeff", "\ufeff \ufeff"]) {
    equal(firstByte(new TextEncoder().encode(body)), undefined, JSON.stringify(body));
  }
  equal(firstByte(new Uint8Array([0xef, 0xbb])), 0xef);
});

Deno.test("parseForm decodes fields in their order", () => {
  const rows: [form: string, fields: [string, string][]][] = [
    ["", []],
    ["&&", []],
    ["a", [["a", ""]]],
    ["a=b=c", [["a", "b=c"]]],
    ["b=+%2B&a=%26&b=", [["b", " +"], ["a", "&"], ["b", ""]]],
    ["__proto__=x&%5f_proto__=y", [["__proto__", "x"], ["__proto__", "y"]]],
    ["a=%ff&b=%zz", [["a", "\ufffd"], ["b", "%zz"]]],
  ];
  for (const [form, fields] of rows) deepEqual(parseForm(form), fields, form);
});

Deno.test("parseForm stops at its maximum of fields, empty ones included", () => {
  equal(parseForm("a&".repeat(MAX_FORM_FIELDS - 1) + "a")?.length, MAX_FORM_FIELDS);
  equal(parseForm("a&".repeat(MAX_FORM_FIELDS)), undefined);
  equal(parseForm("&".repeat(25 << 20)), undefined);
});
