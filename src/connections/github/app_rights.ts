/**
 * The rights of an App of GitHub: what one purpose needs, and what an installation has. Pure.
 *
 * @module
 */

import { isJsonObject } from "../../base/json.ts";

/** Rights by GitHub's names, such as `{issues: "write"}`. */
export type Rights = Readonly<Record<string, "read" | "write">>;

/** The rights of one purpose. */
export interface WantedRights {
  readonly needs: Rights;
  /** Asked for besides, if the installation has them. */
  readonly likes?: Rights;
}

/** `permissions` of an answer; anything that is no right is left out. */
export function readRights(value: unknown): Rights {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, level]) =>
      level === "read" || level === "write"
        ? [[name, level] as const]
        : level === "admin"
        ? [[name, "write"] as const]
        : []
    ),
  );
}

/** The rights of `wanted` that `granted` does not have. */
export function lackedRights(wanted: Rights, granted: Rights): Rights {
  return Object.fromEntries(
    Object.entries(wanted).filter(([name, level]) => {
      const has = Object.hasOwn(granted, name) ? granted[name] : undefined;
      return has === undefined || level === "write" && has === "read";
    }),
  );
}

/** What to ask for: what is needed, and of the rest what the installation has. */
export function rightsToAsk({ needs, likes = {} }: WantedRights, granted: Rights): Rights {
  const lacked = lackedRights(likes, granted);
  const more = Object.entries(likes).filter(([name]) => !Object.hasOwn(lacked, name));
  return { ...Object.fromEntries(more), ...needs };
}

/** Rights in a sentence: `issues=write and contents=read`. */
export function rightsText(rights: Rights): string {
  return Object.entries(rights).map(([name, level]) => `${name}=${level}`).join(" and ");
}
