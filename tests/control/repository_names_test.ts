/**
 * Names of repositories and organizations that would lead a call with a token elsewhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { echo } from "../fakes/echo.ts";
import { controlTest } from "../rigs/control_rig.ts";

const GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

const ELSEWHERE = [
  "../c",
  "a/../../x",
  "a/..",
  "./b",
  "..",
  ".",
  "a/b?x",
  "a/b#c",
  "a/b\r\nX: y",
  "a/b/c",
  "a%2Fb",
  "a/b%2e",
  "a\\b/c",
  " a/b",
  "a/b\n",
  "é/b",
  `a/${"b".repeat(101)}`,
  "",
];

controlTest(
  "a name that would lead elsewhere in a path is refused before any call",
  async (rig) => {
    await using api = echo(() => ({}));
    const rest = { api: api.url, url: "https://h.example", token: GITHUB };
    for (const name of ELSEWHERE) {
      for (const field of ["repository", "organization"]) {
        const body = JSON.stringify({ ...rest, [field]: name });
        const { json } = await rig.raw("/v1/connect.github", { body });
        equal(json["code"], "invalid", `${field} ${name}: ${JSON.stringify(json)}`);
      }
      const spec = JSON.stringify({
        repository: name,
        token: { fromSecret: { store: "s", key: "k" } },
      });
      for (const github of [spec, spec.replace("repository", "organization")]) {
        const manifest = `kind: Connection\nmetadata: {name: c}\nspec: {github: ${github}}`;
        const body = JSON.stringify({ files: [{ name: "a", text: manifest }], dry_run: false });
        const { json } = await rig.raw("/v1/apply", { body });
        equal(json["code"], "invalid", `${manifest}: ${JSON.stringify(json)}`);
      }
    }
    for (
      const wrong of ["file:///etc/passwd", "https://h.example/?x", "https://u:p@h.example", "x"]
    ) {
      const body = JSON.stringify({ ...rest, repository: "a/b", api: wrong });
      equal((await rig.raw("/v1/connect.github", { body })).json["code"], "invalid", wrong);
    }
    deepEqual(api.sent, []);
  },
);
