/**
 * Which paths a change may touch: a table of rules, and one of protected names in every spelling that
 * some file system takes for the same.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { isProtected, matchesAny, mayTouch, type PathRules } from "../../src/outputs/path_rules.ts";

const NOT_ALLOWED = "paths.allow has no pattern for it";
const WORKFLOWS = "the workflows of GitHub Actions need workflows: true";

/** Rules, a path, and what becomes of it: `may`, `held`, or why it is refused. */
const CASES: readonly [rules: Partial<PathRules>, path: string, verdict: string][] = [
  [{}, "src/a.ts", "may"],
  [{}, "a b/\u00fc\n.txt", "may"],
  [{}, "package.json", "held"],
  [{ free: ["package.json"] }, "package.json", "may"],
  [{ free: ["package.json"] }, "web/package.json", "held"],
  [{ free: ["**/package.json"] }, "web/package.json", "may"],
  [{ free: ["package.json"] }, "Package.json", "held"],
  [{ allow: ["src/**", "docs/**"] }, "src/a/b/c.ts", "may"],
  [{ allow: ["src/**"] }, "src/.hidden/c.ts", "may"],
  [{ allow: ["src/**"] }, "src", NOT_ALLOWED],
  [{ allow: ["src/**"] }, "srcs/a.ts", NOT_ALLOWED],
  [{ allow: ["src/**"] }, "SRC/a.ts", NOT_ALLOWED],
  [{ allow: ["src/"] }, "src/a/b.ts", "may"],
  [{ allow: ["src/*"] }, "src/a/b.ts", NOT_ALLOWED],
  [{ allow: ["*.md"] }, "lib/a.md", NOT_ALLOWED],
  [{ allow: ["src/**"], free: ["deno.json"] }, "deno.json", "may"],
  [{ allow: ["src/**"] }, "src/package.json", "held"],
  [{ deny: ["**/*.pem"] }, "a/b/key.pem", "paths.deny has **/*.pem"],
  [{ deny: ["**/*.pem"] }, "key.PEM", "paths.deny has **/*.pem"],
  [{ deny: ["**/*.pem"] }, ".secret/.key.pem", "paths.deny has **/*.pem"],
  [{ deny: ["Secrets/"] }, "secrets/a", "paths.deny has Secrets/"],
  [{ allow: ["**"], free: ["**"], deny: ["a"] }, "a", "paths.deny has a"],
  [{}, ".github/workflows/ci.yml", WORKFLOWS],
  [{ free: ["**"] }, ".GitHub/Workflows/ci.yml", WORKFLOWS],
  [{ allow: [".github/**"] }, ".github/workflows", WORKFLOWS],
  [{ workflows: true }, ".github/workflows/ci.yml", "held"],
  [{ workflows: true, free: [".github/workflows/"] }, ".github/workflows/ci.yml", "may"],
  [{}, "docs/.github/workflows/ci.yml", "may"],
];

for (const [rules, path, verdict] of CASES) {
  Deno.test(`paths: ${JSON.stringify(rules)}: ${JSON.stringify(path)} ${verdict}`, () => {
    const found = mayTouch([path], { workflows: false, ...rules });
    deepEqual(found, {
      refused: verdict === "may" || verdict === "held" ? [] : [{ path, why: verdict }],
      protected: verdict === "held" ? [path] : [],
    });
  });
}

Deno.test("paths: what a protected link leads to is protected, and nothing beside it", () => {
  const links = [
    { path: ".vscode", target: "Other" },
    { path: "AGENTS.md", target: "docs/agents.txt" },
    { path: "lib", target: "src" },
  ];
  const paths = ["other/a/b", "other", "others/a", "docs/agents.txt", "docs/a", "src/a"];
  const verdict = mayTouch(paths, { workflows: false }, links);
  deepEqual(verdict.protected, ["other/a/b", "other", "docs/agents.txt"]);
  const free = mayTouch(paths, { workflows: false, free: ["other/**"] }, links);
  deepEqual(free.protected, ["other", "docs/agents.txt"]);
  const all = mayTouch(["src/a"], { workflows: false }, [{ path: ".x", target: "" }]);
  deepEqual(all.protected, ["src/a"]);
});

Deno.test("paths: each path of a change is judged by itself", () => {
  const paths = ["src/a.ts", "Cargo.toml", "b.pem", ".github/workflows/x", "c"];
  const rules = { allow: ["src/", "Cargo.toml", "*.pem"], deny: ["*.pem"], workflows: false };
  deepEqual(mayTouch(paths, rules), {
    refused: [
      { path: "b.pem", why: "paths.deny has *.pem" },
      { path: ".github/workflows/x", why: WORKFLOWS },
      { path: "c", why: NOT_ALLOWED },
    ],
    protected: ["Cargo.toml"],
  });
});

const PROTECTED = [
  ".github/CODEOWNERS",
  ".GITHUB/dependabot.yml",
  ".gi\u200cthub/x",
  ".github./x",
  ".github /x",
  ".\uff47ithub/x",
  ".vscode/tasks.json",
  ".claude/settings.json",
  ".svn/x/y",
  ".vscode", // as a link to a directory, or a submodule
  ".GitHub",
  ".mcp.json",
  ".devcontainer.json",
  ".pre-commit-config.yaml",
  ".envrc",
  ".cursorrules",
  ".mygitignore.d/x",
  "sub/.mcp.json",
  "opencode.json",
  "sub/CLAUDE.local.md",
  "AGENTS.override.md",
  ".gitlab-ci.yml",
  "sub/.GitLab-CI.yml",
  "Jenkinsfile",
  "Jenkinsfile.release",
  ".gitmodules",
  "sub/.gitattributes",
  "docs/CODEOWNERS",
  "AGENTS.md",
  "a/b/Claude.md",
  "GEMINI.MD",
  "package.json",
  "packages/web/PNPM-lock.yaml",
  "requirements.txt",
  "requirements-dev.txt",
  "requirements.in",
  "go.mod",
  "x/Cargo.lock",
  "lib/thing.gemspec",
  "App/App.csproj",
  "pom.xml",
  "deno.json",
  "agents.m\u2094\u200ed/claude.md.",
];
const FREE = [
  "src/main.ts",
  ".editorconfig",
  ".gitignore",
  ".dockerignore",
  ".mailmap",
  "sub/.config/x",
  "my-package.json",
  "package.json.md",
  "requirements.md",
  "docs/agents.md.txt",
  "csproj",
];

for (const path of PROTECTED) {
  Deno.test(`paths: ${JSON.stringify(path)} is protected`, () => equal(isProtected(path), true));
}
for (const path of FREE) {
  Deno.test(`paths: ${JSON.stringify(path)} is not protected`, () =>
    equal(isProtected(path), false));
}

Deno.test("paths: 10,000 long paths against many patterns take a second at most", () => {
  const paths = Array.from({ length: 10_000 }, (_, at) => `${"a/".repeat(30)}${at}`);
  const allow = Array.from({ length: 20 }, (_, at) => `**/a/**/*x${at}`);
  const began = performance.now();
  equal(mayTouch(paths, { allow, workflows: false }).refused.length, 10_000);
  equal(performance.now() - began < 20_000, true);
});

Deno.test("paths: names of branches and labels match with their case", () => {
  const patterns = ["main", "release/*", "area/**"];
  const names = ["main", "Main", "release/1", "release/1/2", "area/a/b", "mainly"];
  deepEqual(names.map((name) => matchesAny(patterns, name)), [
    true,
    false,
    true,
    false,
    true,
    false,
  ]);
});
