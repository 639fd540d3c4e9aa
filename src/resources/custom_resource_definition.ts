/**
 * Kind `CustomResourceDefinition`: a user-defined kind with its plugins and hooks. Which plugins
 * may run is decided in `plugins/`, not here.
 *
 * @module
 */

import Type from "typebox";
import { messageOf } from "../base/errors.ts";
import { type AnyKind, defineKind } from "./kind.ts";
import { Name } from "./metadata.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { findScheduleFault } from "./schedule.ts";
import { checkReferences } from "./schema_references.ts";
import { compileSchema } from "./validate.ts";

/** The phase of the pipeline in which plugins of each type run; cron plugins run on a schedule. */
export const PLUGIN_PHASES = {
  interceptor: "webhook.authenticate",
  transformer: "webhook.transform",
  cron: undefined,
} as const;

/** A type of plugin. */
export type PluginType = keyof typeof PLUGIN_PHASES;

/** Longest timeout of a plugin, whatever the policy allows: a day, in seconds. */
export const MAX_PLUGIN_TIMEOUT_SECS = 86_400;

const PluginTimeout = Type.Integer({
  minimum: 1,
  maximum: MAX_PLUGIN_TIMEOUT_SECS,
  title: `whole seconds, from 1 to ${MAX_PLUGIN_TIMEOUT_SECS}`,
});

const PluginSchema = Type.Object({
  name: Name,
  type: Type.Enum(["interceptor", "transformer", "cron"]),
  phase: Type.Optional(Type.String()),
  command: Type.String({ minLength: 1, title: "a shell line" }),
  timeout: Type.Optional(PluginTimeout),
  schedule: Type.Optional(Type.String({ title: "five cron fields" })),
  input: Type.Optional(Type.Enum(["env", "file", "stdin"])),
  project: Type.Optional(Name),
}, { additionalProperties: false });

/** One plugin, as written by the user. */
export type PluginSpec = Type.Static<typeof PluginSchema>;

const HookSchema = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Object({
    command: Type.String({ minLength: 1 }),
    timeout: Type.Optional(PluginTimeout),
  }, { additionalProperties: false }),
], { title: "a shell line, or {command, timeout}" });

/** Actions on an instance that run a hook. */
export const HOOK_ACTIONS = ["create", "update", "delete"] as const;
/** One of {@linkcode HOOK_ACTIONS}. */
export type HookAction = typeof HOOK_ACTIONS[number];

const HOOK_FIELDS: Readonly<Record<HookAction, readonly [string, string]>> = {
  create: ["onCreate", "on_create"],
  update: ["onUpdate", "on_update"],
  delete: ["onDelete", "on_delete"],
};

/** A name in lower case, as kinds are listed by. */
const LowerName = Type.String({
  pattern: "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
  title: "a lower-case name (letters, digits, -)",
});

const CrdSpec = Type.Object({
  kind: Type.String({
    pattern: "^[A-Za-z][A-Za-z0-9]{0,62}$",
    title: "a kind name (letters and digits)",
  }),
  plural: LowerName,
  singular: Type.Optional(LowerName),
  shortNames: Type.Optional(Type.Array(LowerName)),
  group: Type.String({
    pattern: "^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$",
    title: "a group (a dotted lower-case name)",
  }),
  scope: Type.Optional(Type.String()),
  versions: Type.Array(
    Type.Object({
      name: Type.String({ pattern: "^[a-z0-9]+$", title: 'a version such as "v1"' }),
      schema: Type.Record(Type.String(), Type.Unknown(), { title: "a JSON Schema of type object" }),
    }, { additionalProperties: false }),
    { minItems: 1, title: "a list of at least one version" },
  ),
  plugins: Type.Optional(Type.Array(PluginSchema)),
  hooks: Type.Optional(Type.Object(
    Object.fromEntries(
      Object.values(HOOK_FIELDS).flat().map((name) => [name, Type.Optional(HookSchema)]),
    ),
    { additionalProperties: false },
  )),
}, { additionalProperties: false });

/** A hook: the command that runs after a change of an instance. */
export interface HookSpec {
  readonly action: HookAction;
  readonly command: string;
  /** The time limit of the command, in whole seconds. */
  readonly timeout?: number;
}

/** `spec` of a CustomResourceDefinition. */
export interface CrdSpec {
  /** Kind name of its instances, which the `crdRef` of a trigger names. */
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  /** Further names for `svc get`. */
  readonly shortNames?: readonly string[];
  readonly group: string;
  /** Accepted and ignored: instances live in projects. */
  readonly scope?: string;
  /** Schemas of the instances' `spec`. */
  readonly versions: readonly { readonly name: string; readonly schema: Record<string, unknown> }[];
  /** Plugins, in the order they run. */
  readonly plugins?: readonly PluginSpec[];
  /** Hooks as written, by field name. */
  readonly hooks?: Readonly<Record<string, string | { command: string; timeout?: number }>>;
}

/** Name of the kind itself. */
export const CRD_KIND = "CustomResourceDefinition";

/** The hooks of a CRD, whose fields may be in camelCase or snake_case. */
export function hooksOf(spec: CrdSpec): HookSpec[] {
  return HOOK_ACTIONS.flatMap((action) => {
    const [written] = HOOK_FIELDS[action].flatMap((name) => spec.hooks?.[name] ?? []);
    if (written === undefined) return [];
    return [typeof written === "string" ? { action, command: written } : { action, ...written }];
  });
}

/** Whether it has plugins or hooks, so that applying it takes the role admin. */
export function hasCode(spec: CrdSpec): boolean {
  return (spec.plugins?.length ?? 0) > 0 || hooksOf(spec).length > 0;
}

export const customResourceDefinition: AnyKind = defineKind<CrdSpec>("CustomResourceDefinition", {
  summary: "A kind of your own, with the plugins and hooks that come with it.",
  spec: CrdSpec,
  checks: [
    ({ scope }) =>
      scope === undefined
        ? []
        : [warningAt(["spec", "scope"], "Ignored: instances live in projects")],
    ({ versions }) =>
      versions.flatMap((version, i) => checkVersion(version, ["spec", "versions", i, "schema"])),
    ({ versions }) =>
      checkUnique(versions.map(({ name }) => name), ["spec", "versions"], "version"),
    ({ plugins = [] }) =>
      checkUnique(plugins.map(({ name }) => name), ["spec", "plugins"], "plugin"),
    ({ plugins = [] }) =>
      plugins.flatMap((plugin, i) => checkPlugin(plugin, ["spec", "plugins", i])),
    checkHooks,
  ],
  checkName: (name, spec) =>
    name === `${spec.plural}.${spec.group}`
      ? []
      : [errorAt(["metadata", "name"], `The name must be "${spec.plural}.${spec.group}"`)],
  columns: [
    { header: "KIND", cell: ({ spec }) => spec.kind },
    { header: "VERSIONS", cell: ({ spec }) => spec.versions.map(({ name }) => name).join(",") },
    { header: "PLUGINS", cell: ({ spec }) => String(spec.plugins?.length ?? 0) },
    { header: "HOOKS", cell: ({ spec }) => String(hooksOf(spec).length) },
  ],
});

function checkVersion(version: CrdSpec["versions"][number], at: FieldPath): Finding[] {
  if (version.schema["type"] !== "object") {
    return [errorAt(at, 'The schema of a version has "type: object"')];
  }
  const references = checkReferences(version.schema, at);
  if (references.length > 0) return references;
  try {
    compileSchema(version.schema);
    return [];
  } catch (error) {
    return [errorAt(at, `This is not a JSON Schema: ${messageOf(error)}`)];
  }
}

function checkUnique(names: readonly string[], at: FieldPath, what: string): Finding[] {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    if (!seen.has(name)) return seen.add(name) && [];
    return [errorAt([...at, index, "name"], `Another ${what} is already called "${name}"`)];
  });
}

function checkPlugin(plugin: PluginSpec, at: FieldPath): Finding[] {
  const phase = PLUGIN_PHASES[plugin.type];
  const findings: Finding[] = [];
  if (plugin.phase !== phase) {
    findings.push(errorAt(
      plugin.phase === undefined ? at : [...at, "phase"],
      phase === undefined
        ? "A cron plugin belongs to no phase, remove it"
        : `Type "${plugin.type}" requires "phase: ${phase}"`,
    ));
  }
  if (plugin.command.trim() === "") {
    findings.push(errorAt([...at, "command"], "The command is empty"));
  }
  if (plugin.type === "cron") {
    const fault = plugin.schedule === undefined
      ? 'A cron plugin needs a schedule, such as "*/5 * * * *"'
      : findScheduleFault(plugin.schedule);
    if (fault !== undefined) {
      findings.push(errorAt(plugin.schedule === undefined ? at : [...at, "schedule"], fault));
    }
  } else {
    for (const field of ["schedule", "project"] as const) {
      if (plugin[field] !== undefined) {
        findings.push(errorAt([...at, field], `Only cron plugins have a ${field}`));
      }
    }
  }
  return findings;
}

function checkHooks(spec: CrdSpec): Finding[] {
  return HOOK_ACTIONS.flatMap((action) => {
    const [camel, snake] = HOOK_FIELDS[action];
    if (spec.hooks?.[camel] === undefined || spec.hooks[snake] === undefined) return [];
    return [errorAt(["spec", "hooks", snake], `The same as ${camel}, remove one of them`)];
  });
}
