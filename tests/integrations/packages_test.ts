/**
 * What is read out of the files of a package.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal, throws } from "node:assert/strict";
import {
  endpointsOfPackage,
  resourcesOf,
  secretTemplatesOf,
} from "../../src/integrations/package_resources.ts";
import { listPackages, manifestsOf, packageNamed } from "../../src/integrations/packages.ts";

const trigger = (name: string, source: string, webhook = "{}") =>
  `# a comment\nkind: Trigger\nmetadata: {name: ${name}}\nspec: {event: {source: ${source}, webhook: ${webhook}}}\n`;

const [ONE, TWO] = listPackages({
  "two/README.md": "no guide yet",
  "one/README.md": "# The First\n\nStarts things, v1.2 included. And more.\n",
  "one/secrets-template.yaml":
    'kind: SecretStore\nmetadata: {name: s}\nspec: {data: {a: "<your-a>", b: "<your-b>"}}\n',
  "one/trigger-a.yaml": trigger("one-a", "webhook"),
  "one/trigger-b.yaml": trigger("one-b", "cron"),
  "one/trigger-c.yaml": trigger("one-c", "webhook", "{endpoint: hub}") + "---\n" +
    trigger("one-d", "webhook", "{endpoint: hub}"),
  "one/crd/trigger-c.yaml": trigger("one-c", "webhook"),
  "one/crd/scripts/c.sh": "#!/bin/sh\n",
});

Deno.test("listPackages: one a directory, title and first sentence from its guide", () => {
  deepEqual([ONE?.name, ONE?.title, ONE?.summary], [
    "one",
    "The First",
    "Starts things, v1.2 included",
  ]);
  deepEqual([TWO?.name, TWO?.title, TWO?.summary], ["two", "two", ""]);
});

Deno.test("only the manifests of the directory itself are applied, the template apart", () => {
  const pack = ONE ?? packageNamed("none");
  deepEqual(manifestsOf(pack).map(({ path }) => path), [
    "trigger-a.yaml",
    "trigger-b.yaml",
    "trigger-c.yaml",
  ]);
  deepEqual(resourcesOf(pack).map(({ displayName }) => displayName), [
    "trigger/one-a",
    "trigger/one-b",
    "trigger/one-c",
    "trigger/one-d",
  ]);
  deepEqual([...endpointsOfPackage(pack)], [["one-a", ["one-a"]], ["hub", ["one-c", "one-d"]]]);
  deepEqual(secretTemplatesOf(pack), [{ name: "s", labels: {}, keys: ["a", "b"] }]);
});

Deno.test("packageNamed finds those of the program, and names them where there is none", () => {
  equal(packageNamed("github").title, "GitHub");
  throws(() => packageNamed("gitea"), {
    code: "not_found",
    message:
      'Unknown integration "gitea": use one of claude-code, codex, copilot, gemini-cli, github, gitlab, line, opencode, ' +
      "qwen-code, slack",
  });
});
