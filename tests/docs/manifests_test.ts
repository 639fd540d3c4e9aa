/**
 * Every YAML in the documentation is what svc takes: manifests as `svc apply` reads them, `daemon.yaml`
 * with settings there are, the plugin policy. A block without `kind:` is a part of a Trigger or a
 * Workflow, which its first key tells. One for another program begins with a comment that names its file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { ROLES } from "../../src/base/roles.ts";
import { parseLogins } from "../../src/console/login/login_file.ts";
import { SETTINGS } from "../../src/daemon/settings.ts";
import { parsePolicy } from "../../src/plugins/policy/policy.ts";
import { parseManifest, toYaml } from "../../src/resources/manifest.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import { type Block, GUIDES, place } from "./pages.ts";

type Values = Readonly<Record<string, unknown>>;

const ACTION = { workflow: "a", workspace: "a" };
const EVENT = { source: "webhook", webhook: { allowUnsigned: true } };

/** What a block without a kind is part of, by its first key. */
const PARTS: readonly (readonly [keys: RegExp, whole: (part: Values) => Values])[] = [
  [/^(steps|inputs|env|timeoutSecs|finally)$/, (part) => workflow(part)],
  [/^may$/, (part) => workflow({ steps: [{ id: "a", run: "true" }], ...part })],
  [/^(id|run|agent|with)$/, (part) => workflow({ steps: [part] })],
  [/^spec$/, (part) => trigger(part["spec"] as Values)],
  [
    /^(source|webhook|cron|filesystem|filter|debounce\w*)$/,
    (part) =>
      trigger({ event: Object.assign({}, part["source"] === undefined ? EVENT : {}, part) }),
  ],
  [/^(report|retention|concurrency|rateLimit|workflow|from|event|suspend|task|match)$/, trigger],
];

const workflow = (spec: Values): Values => ({ kind: "Workflow", metadata: { name: "a" }, spec });

function trigger(part: Values): Values {
  const spec = Object.assign({ event: EVENT, action: ACTION }, part);
  return { kind: "Trigger", metadata: { name: "a" }, spec };
}

/** Keys of the files of other programs. */
const FOREIGN = /^(scrape_configs|tunnel|receivers|notifications|services|route|groups)$/;

/** What is wrong with a block. */
function faultsOf({ text }: Block): readonly string[] {
  const least = Math.min(
    ...text.split("\n").filter((line) => line.trim() !== "")
      .map((line) => line.search(/\S/)),
  );
  const whole = text.split("\n").map((line) => line.slice(least)).join("\n");
  return whole.split(/^---$/m).flatMap((document) => {
    if (/^kind:/m.test(document)) return manifestFaults(document);
    const { documents, errors } = parseManifest("block.yaml", document);
    return [...errors, ...documents.flatMap(({ value }) => partFaults(value, document))];
  });
}

function partFaults(value: unknown, text: string): readonly string[] {
  const part = (Array.isArray(value) ? { steps: value } : value) as Values;
  const [first = ""] = Object.keys(part);
  if (FOREIGN.test(first)) return [];
  if (first === "mode") {
    const reading = parsePolicy(text);
    return "policy" in reading ? [] : [JSON.stringify(reading)];
  }
  if (first === "login") return parseLogins("login.yaml", text).wrong; // svc console serve
  if (first === "max_role") { // uds-policy.yaml
    const isRole = Object.keys(part).length === 1 && ROLES.some((one) => one === part[first]);
    return isRole ? [] : [`no policy of the control socket: ${JSON.stringify(part)}`];
  }
  const settings = new Map(SETTINGS.map((one) => [one.name, one]));
  if (settings.has(first)) {
    return Object.keys(part).filter((name) => !settings.has(name))
      .map((name) => `daemon.yaml has no setting ${name}`);
  }
  const found = PARTS.find(([keys]) => keys.test(first));
  if (found === undefined) return [`what is this part of? It begins with "${first}"`];
  return manifestFaults(toYaml(found[1](part)));
}

/** A `spec: …` stands for any. */
function manifestFaults(text: string): readonly string[] {
  if (/^spec: …/m.test(text)) return [];
  return readManifests({ files: [{ name: "block.yaml", text }], crds: [] }).errors;
}

Deno.test("every YAML in the documentation is what svc takes", () => {
  const blocks = GUIDES.flatMap((page) =>
    page.blocks.filter(({ language }) => language === "yaml").map((block) => ({ page, block }))
  );
  ok(blocks.length > 20, `${blocks.length} blocks`);
  const wrong = blocks.flatMap(({ page, block }) =>
    faultsOf(block).map((fault) => `${place(page, block.line)}: ${fault}`)
  );
  deepEqual(wrong, []);
});

Deno.test("the check knows what is wrong", () => {
  const fault = (text: string) => faultsOf({ line: 1, language: "yaml", text }).length > 0;
  ok(fault("kind: Trigger\nmetadata: {name: a}\nspec: {workflow: a, evnt: {}}\n"));
  ok(fault("report: {githb: {comment: x}}\n"));
  ok(fault("workers: 8\nworkerz: 9\n"));
  ok(fault("steps:\n- id: a\n  runn: x\n"));
  ok(fault("mode: sometimes\n"));
  ok(fault("something: else\n"));
  ok(!fault("    source: task\n    task: {workflow: build, states: [failed]}\n"));
});
