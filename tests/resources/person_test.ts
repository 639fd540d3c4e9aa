/**
 * Persons in manifests: which identities there are, and that each is one person's.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { forgeIdentity, identityFault, slackIdentity } from "../../src/resources/person.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";

const GOOD = [
  "github:583231",
  "github:ghe.example.com/7",
  "gitlab:42",
  "gitlab:git.example.com:8443/42",
  "gitea:git.example.com/1",
  "slack:T01/U02",
  "slack:E0ABC/W0DEF",
  "oidc:https://accounts.google.com#115509876",
  "oidc:https://idp.example.com/realms/team#f3a1",
  "header:ada",
];

const REFUSED: readonly (readonly [identity: string, why: RegExp])[] = [
  ["github:ada", /such as github:583231: the number of the user, because another person can take/],
  ["github:0", /github:583231/],
  ["github:", /github:583231/],
  ["github:1 ", /github:583231/],
  ["gitlab:@ada", /gitlab:42 or gitlab:git\.example\.com\/42/],
  ["gitlab:https://git.example.com/42", /gitlab:42/],
  ["gitea:ada", /gitea:git\.example\.com\/42/],
  ["slack:U02", /slack:T01ABCDEF\/U02GHIJKL: the ids of the team and the user/],
  ["slack:T01/ada", /slack:T01ABCDEF/],
  ["slack:T01/C02", /slack:T01ABCDEF/],
  ["oidc:ada@example.com", /the issuer and the subject, because a mail address can change hands/],
  ["oidc:http://idp.example.com#1", /oidc:https:/],
  ["oidc:https://idp.example.com", /oidc:https:/],
  ["header:", /header:ada/],
  ["header:a b", /header:ada/],
  ["header:a\u202eb", /header:ada/],
  ["mail:ada@example.com", /begins with one of github:, gitlab:, gitea:, slack:, oidc:, header:$/],
  ["ada", /begins with one of/],
  ["", /begins with one of/],
  ["constructor:1", /begins with one of/],
  ["GitHub:1", /begins with one of/],
];

Deno.test("an identity names its issuer and what changes no hands", () => {
  deepEqual(GOOD.map(identityFault), GOOD.map(() => undefined));
  for (const [identity, why] of REFUSED) match(identityFault(identity) ?? "", why, identity);
});

Deno.test("an identity has one spelling: without the host that everybody means", () => {
  const made = [
    forgeIdentity("github", 583231),
    forgeIdentity("github", 583231, "github.com"),
    forgeIdentity("github", 7, "ghe.example.com"),
    forgeIdentity("gitlab", 42, "gitlab.com"),
    forgeIdentity("gitlab", 42, "git.example.com"),
    forgeIdentity("gitea", 1, "git.example.com"),
    slackIdentity("T01", "U02"),
  ];
  deepEqual(made, [
    "github:583231",
    "github:583231",
    "github:ghe.example.com/7",
    "gitlab:42",
    "gitlab:git.example.com/42",
    "gitea:git.example.com/1",
    "slack:T01/U02",
  ]);
  deepEqual(made.map(identityFault), made.map(() => undefined));
});

function errorsOf(...documents: readonly string[]): readonly string[] {
  return readManifests({ files: [{ name: "p.yaml", text: documents.join("---\n") }], crds: [] })
    .errors;
}

const MISTAKES: readonly (readonly [what: string, text: string, error: RegExp])[] = [
  ["no role", "kind: Person\nmetadata: {name: ada}\nspec: {}\n", /Missing field "role"/],
  ["no spec", "kind: Person\nmetadata: {name: ada}\n", /Missing field "spec"/],
  [
    "a role that there is not",
    "kind: Person\nmetadata: {name: ada}\nspec: {role: root}\n",
    /spec\.role: Expected one of read_only, operator, admin/,
  ],
  [
    "the name of a caller that is nobody",
    "kind: Person\nmetadata: {name: socket}\nspec: {role: operator}\n",
    /metadata\.name: "socket" names a caller that is nobody/,
  ],
  [
    "a group that could be no name",
    'kind: Person\nmetadata: {name: ada}\nspec: {role: operator, groups: ["@ops"]}\n',
    /spec\.groups\.0: Expected a name/,
  ],
  [
    "a login",
    'kind: Person\nmetadata: {name: ada}\nspec: {role: operator, is: ["github:ada"]}\n',
    /spec\.is\.0: Expected an identity such as github:583231/,
  ],
  [
    "an identity twice",
    'kind: Person\nmetadata: {name: ada}\nspec: {role: operator, is: ["github:1", "github:1"]}\n',
    /spec\.is\.1: Stands here twice/,
  ],
];

for (const [what, text, error] of MISTAKES) {
  Deno.test(`a Person with ${what} is refused`, () => {
    const errors = errorsOf(text);
    equal(errors.length, 1, errors.join("\n"));
    match(errors[0] ?? "", error);
  });
}
