/**
 * The paths that a change may touch: `paths` of `may`, and the protected files of every repository.
 *
 * ```ts
 * import { mayTouch } from "./path_rules.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * const rules = { allow: ["src/**"], free: ["deno.json"], workflows: false };
 * deepEqual(mayTouch(["src/a.ts", "deno.json", "README.md"], rules), {
 *   refused: [{ path: "README.md", why: "paths.allow has no pattern for it" }],
 *   protected: [],
 * });
 * ```
 *
 * A pattern is matched against the whole path, from the root of the repository: `*` and `?` stay within
 * one name, `**` is any number of directories, `{a,b}` and `[a-z]` are choices, and a slash at the end
 * means everything below. Wildcards match names with a leading dot too, for a rule that looks whole
 * must not have a hole. `deny` and the protected names do not look at case, `allow` and `free` do.
 *
 * @module
 */

import { Glob } from "../base/glob.ts";

/** The rules of one output. */
export interface PathRules {
  /** Patterns of what may change; everything where absent. */
  readonly allow?: readonly string[];
  /** Patterns of what may not, whatever else allows it. */
  readonly deny?: readonly string[];
  /** Patterns of what may change without a person, though it is protected. */
  readonly free?: readonly string[];
  /** Whether the workflows of GitHub Actions may change. */
  readonly workflows: boolean;
}

/** What the rules say of the paths of a change. */
export interface PathVerdict {
  readonly refused: readonly {
    readonly path: string;
    /** The rule, such as `paths.deny has *.pem`. */
    readonly why: string;
  }[];
  /** Paths that may change, but not without a person. */
  readonly protected: readonly string[];
}

/**
 * Judges the paths of a change; those of files that it deletes or moves away count too.
 *
 * @param links The symbolic links of the repository: what a protected one leads to is protected.
 */
export function mayTouch(
  paths: readonly string[],
  rules: PathRules,
  links: readonly { readonly path: string; readonly target: string }[] = [],
): PathVerdict {
  const { allow, deny, free = [], workflows } = rules;
  const allowed = allow && compile(allow);
  const free_ = compile(free);
  const denied = (deny ?? []).map((pattern) => ({ pattern, glob: globOf(folded(pattern)) }));
  const behind = links.flatMap(({ path, target }) => isProtected(path) ? [folded(target)] : []);
  const isBehind = (name: string) =>
    behind.some((target) => target === "" || name === target || name.startsWith(`${target}/`));
  const refused: { path: string; why: string }[] = [];
  const held: string[] = [];
  for (const path of paths) {
    const name = folded(path);
    const isFree = matches(free_, path);
    const rule = denied.find(({ glob }) => glob.matches(name));
    if (rule !== undefined) {
      refused.push({ path, why: `paths.deny has ${rule.pattern}` });
    } else if (!workflows && WORKFLOWS.test(name)) {
      refused.push({ path, why: "the workflows of GitHub Actions need workflows: true" });
    } else if (!isFree && allowed !== undefined && !matches(allowed, path)) {
      refused.push({ path, why: "paths.allow has no pattern for it" });
    } else if (!isFree && (isProtected(path) || isBehind(name))) held.push(path);
  }
  return { refused, protected: held };
}

/** Whether one of these patterns is that of a name, such as a branch or a label; case counts. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return matches(compile(patterns), name);
}

/**
 * Whether a file decides what runs, who reviews, or what an agent is told: a person looks at a change of
 * it before anybody else gets it.
 */
export function isProtected(path: string): boolean {
  const names = folded(path).split("/");
  const [top = "", ...below] = names;
  const file = names.at(-1) ?? "";
  // Also `.vscode` itself: it may be a link to a directory that nothing protects, or a submodule.
  if (top.startsWith(".") && (below.length > 0 || !HARMLESS.test(top))) return true;
  return names.some((name) => NAMES.has(name)) || SHAPES.some((shape) => shape.test(file));
}

const compile = (patterns: readonly string[]) => patterns.map(globOf);
const globOf = (pattern: string) => new Glob(pattern, { dots: true });
const matches = (globs: readonly Glob[], name: string) => globs.some((glob) => glob.matches(name));

/**
 * A path in the one spelling that stands for all that some file system takes for the same: no case, no
 * compatible characters, none that a Mac ignores, and no dots or spaces that Windows cuts off.
 */
function folded(path: string): string {
  return path
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replaceAll(IGNORED, "")
    .replaceAll(/[. ]+(?=\/|$)/g, "");
}

/** Characters that HFS+ leaves out when it compares names (git's utf8.c has the list). */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Their directory: GitHub takes a change of it only from a token with a right of its own. */
const WORKFLOWS = /^\.github\/workflows(\/|$)/;

/** Files at the top that begin with a dot and of which nothing runs, and nobody takes orders. */
const HARMLESS = /^\.(editorconfig|mailmap|gitkeep|[a-z]+ignore)$/;

/** Protected names of files, in any directory; as {@linkcode folded} has them. */
const NAMES: ReadonlySet<string> = new Set(
  `
  .gitmodules .gitattributes codeowners agents.md claude.md gemini.md
  agents.override.md claude.local.md .mcp.json opencode.json opencode.jsonc

  .gitlab-ci.yml .travis.yml .drone.yml .woodpecker.yml .appveyor.yml appveyor.yml
  azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile

  package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml
  .pnpmfile.cjs .npmrc .yarnrc .yarnrc.yml bun.lock bun.lockb bunfig.toml
  deno.json deno.jsonc deno.lock jsr.json jsr.jsonc
  pyproject.toml setup.py setup.cfg pipfile pipfile.lock poetry.lock pdm.lock uv.lock pylock.toml
  pip.conf environment.yml conda-lock.yml
  cargo.toml cargo.lock build.rs go.mod go.sum go.work go.work.sum
  gemfile gemfile.lock gems.rb gems.locked composer.json composer.lock
  pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
  gradle.lockfile gradle-wrapper.properties gradle-wrapper.jar libs.versions.toml build.sbt deps.edn
  project.clj
  packages.config packages.lock.json directory.packages.props directory.build.props
  directory.build.targets nuget.config global.json
  mix.exs mix.lock rebar.config rebar.lock
  package.swift package.resolved podfile podfile.lock cartfile cartfile.resolved
  pubspec.yaml pubspec.lock conanfile.txt conanfile.py vcpkg.json flake.nix flake.lock
  chart.yaml chart.lock stack.yaml stack.yaml.lock cabal.project cpanfile project.toml manifest.toml
  module.bazel module.bazel.lock workspace.bazel
  `.trim().split(/\s+/),
);

/** Protected names that have a part of their own. */
const SHAPES: readonly RegExp[] = [
  /^requirements.*\.(txt|in)$/,
  /^constraints.*\.txt$/,
  /\.(gemspec|podspec|csproj|fsproj|vbproj|cabal|opam)$/,
  /^(jenkinsfile|pylock)\..+$/,
];
