/**
 * The block `spec.event.filesystem`: which changes of which files in the workspace fire a trigger.
 *
 * @module
 */

import Type from "typebox";
import { findGlobFault, Glob as GlobMatcher } from "../base/glob.ts";
import type { EventDefinition } from "./event.ts";
import { errorAt, type Finding } from "./resource.ts";

/** Events of a file. */
export const FILE_EVENTS = ["create", "modify", "delete"] as const;

const Glob = Type.String({ minLength: 1, maxLength: 512, title: 'a glob, such as "inbox/*.csv"' });

const FilesystemSpec = Type.Object({
  paths: Type.Array(Glob, { minItems: 1 }),
  events: Type.Optional(Type.Array(Type.Enum([...FILE_EVENTS]), { minItems: 1 })),
  debounceMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 600_000 })),
  ignore: Type.Optional(Type.Array(Glob)),
}, { additionalProperties: false });

/** `spec.event.filesystem` as written by the user. */
export type FilesystemSpec = Type.Static<typeof FilesystemSpec>;

/** Default time without changes before a trigger fires, in milliseconds. */
export const DEFAULT_DEBOUNCE_MS = 500;

const AT = ["spec", "event", "filesystem"];

/** The manifest side of the source `filesystem`. */
export const filesystemEvent: EventDefinition = {
  source: "filesystem",
  schema: FilesystemSpec,
  check: (block) =>
    block === undefined
      ? [errorAt(AT, 'Source "filesystem" needs the block "filesystem" with its paths')]
      : checkFilesystem(block as FilesystemSpec),
  watched: (block) =>
    (block as FilesystemSpec).paths.map((glob, index) => ({
      path: new GlobMatcher(glob).base,
      at: [...AT, "paths", index],
    })),
  references: () => [],
};

/** Checks the globs: they are relative to the workspace and cannot leave it. */
function checkFilesystem({ paths, ignore = [] }: FilesystemSpec): Finding[] {
  const check = (globs: readonly string[], field: string) =>
    globs.flatMap((glob, index): Finding[] => {
      const inside = !/^~?\//.test(glob) && !glob.split("/").includes("..");
      const fault = inside
        ? findGlobFault(glob)
        : `"${glob}" leaves the workspace: globs are relative to its path, without ".."`;
      return fault === undefined ? [] : [errorAt([...AT, field, index], fault)];
    });
  return [...check(paths, "paths"), ...check(ignore, "ignore")];
}

/** Name of the health condition of a trigger whose files cannot be watched. */
export function watchCondition(
  { project, trigger }: { readonly project: string; readonly trigger: string },
): string {
  return `files of trigger "${trigger}" in project "${project}"`;
}
