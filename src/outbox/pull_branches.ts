/**
 * The names of the branches that svc makes. Pure.
 *
 * @module
 */

/** Longest name, with room for the number of a later pull of its key. */
const MAX_NAME = 190;

/**
 * The branch of a key, of the form that git takes. Equal keys give equal names, and some different
 * ones too: the marker of a pull says whose it is.
 */
export function branchOf(
  { prefix, key, about }: {
    /** What the names of all branches begin with. */
    readonly prefix: string;
    readonly key: string;
    /** Names the issue or pull; absent where there is none. */
    readonly about?: string;
  },
): string {
  const end = about === undefined ? "" : `-${about}`;
  const name = key.toLowerCase().replaceAll(/[^a-z0-9._/-]+/g, "-");
  const whole = `${prefix}${name}`.slice(0, MAX_NAME - end.length);
  const parts = whole.split("/").map(partOf).filter((part) => part !== "");
  return `${parts.join("/")}${end}`;
}

/** A part of a name between two slashes. */
function partOf(text: string): string {
  return text.replaceAll(/[\p{Cc} ~^:?*[\]\\]+/gu, "-").replaceAll(/\.{2,}/g, ".")
    .replaceAll("@{", "-").replace(/^[.-]+/, "").replace(/(\.|\.lock)+$/i, "");
}

/** Name of the branch for the nth pull of a key, counted from 1. */
export function nthBranch(branch: string, nth: number): string {
  return nth <= 1 ? branch : `${branch}-${nth}`;
}
