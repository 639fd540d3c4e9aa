/**
 * Globs over paths: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any number of directories. The time to match
 * is in proportion to the lengths of glob and path. A regular expression made of a glob does not have
 * that limit, and strangers choose names of files.
 *
 * @module
 */

import { AppError } from "./errors.ts";

/** A part of a segment: a character, a class of characters, any character (`one`), or `*` (`any`). */
type Token = "one" | "any" | { readonly char: string } | CharacterClass;

interface CharacterClass {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [low: number, high: number])[];
}

/** The part of a glob between two slashes. */
type Segment = "**" | readonly Token[];

/** How a glob is matched. */
export interface GlobOptions {
  /** Whether wildcards match a leading dot; by default they do not. */
  readonly dots?: boolean;
}

/** Most patterns to which the braces of one glob may expand. */
const MAX_PATTERNS = 256;

/** A parsed glob. With a slash at its end it matches everything below. */
export class Glob {
  /** The deepest directory that contains all matches; empty for the top. */
  readonly base: string;
  readonly #patterns: readonly (readonly Segment[])[];
  readonly #dots: boolean;

  /**
   * Parses a glob.
   *
   * @throws {AppError} `invalid` for a bracket or brace that is not closed, or too many
   * patterns.
   */
  constructor(text: string, { dots = false }: GlobOptions = {}) {
    this.#patterns = expandBraces(text).map(parsePattern);
    this.#dots = dots;
    this.base = commonBase(this.#patterns);
  }

  /** Whether a path matches; it has no slash at its beginning or end. */
  matches(path: string): boolean {
    const names = path.split("/");
    return this.#patterns.some((pattern) => this.#walk(pattern, names).has(pattern.length));
  }

  /** Whether a path below this directory may match; the top is the empty text. */
  reaches(directory: string): boolean {
    const names = directory === "" ? [] : directory.split("/");
    return this.#patterns.some((pattern) =>
      [...this.#walk(pattern, names)].some((at) => at < pattern.length)
    );
  }

  /** All positions in the pattern that can be reached with these names. */
  #walk(pattern: readonly Segment[], names: readonly string[]): ReadonlySet<number> {
    let places = new Set<number>();
    enter(pattern, 0, places);
    for (const name of names) {
      const next = new Set<number>();
      const characters = Array.from(name);
      for (const at of places) {
        const segment = pattern[at];
        if (segment === undefined) continue;
        if (segment !== "**") {
          if (this.#matchesName(segment, characters)) enter(pattern, at + 1, next);
        } else if (this.#dots || characters[0] !== ".") enter(pattern, at, next);
      }
      places = next;
    }
    return places;
  }

  #matchesName(segment: readonly Token[], name: readonly string[]): boolean {
    const [first] = segment;
    const isLiteral = typeof first === "object" && "char" in first;
    if (name[0] === "." && !isLiteral && !this.#dots) return false;
    return matchTokens(segment, name);
  }
}

/** The fault of a glob, as a sentence; `undefined` for a valid one. */
export function findGlobFault(text: string): string | undefined {
  try {
    new Glob(text);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** Adds a position; at `**` also the next one, because `**` matches no directory as well. */
function enter(pattern: readonly Segment[], at: number, places: Set<number>): void {
  places.add(at);
  if (pattern[at] === "**") enter(pattern, at + 1, places);
}

/** Matches a name with one position to go back to: only the last `*` ever has to match more. */
function matchTokens(tokens: readonly Token[], name: readonly string[]): boolean {
  let [at, place, star, taken] = [0, 0, -1, 0];
  while (place < name.length) {
    const token = tokens[at];
    if (token === "any") {
      star = at++;
      taken = place;
    } else if (token !== undefined && matchesCharacter(token, name[place] ?? "")) {
      at++;
      place++;
    } else if (star >= 0) {
      at = star + 1;
      place = ++taken;
    } else return false;
  }
  return tokens.slice(at).every((token) => token === "any");
}

function matchesCharacter(token: Exclude<Token, "any">, character: string): boolean {
  if (token === "one") return true;
  if ("char" in token) return token.char === character;
  const code = character.codePointAt(0) ?? 0;
  return token.ranges.some(([low, high]) => low <= code && code <= high) !== token.negated;
}

function parsePattern(text: string): readonly Segment[] {
  const names = text.split("/").filter((name) => name !== "" && name !== ".");
  const segments = names.map((name): Segment => name === "**" ? "**" : parseSegment(name, text));
  // A glob that ends in `**` or in a slash matches what is below the directory, not the directory.
  const below = segments.at(-1) === "**" || text.endsWith("/");
  if (!below) return segments;
  return text.endsWith("/") ? [...segments, "**", ["any"]] : [...segments, ["any"]];
}

function parseSegment(name: string, whole: string): readonly Token[] {
  const characters = Array.from(name);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "\\") {
      tokens.push({ char: characters[++at] ?? fault(whole, "it ends in a backslash") });
    } else if (character === "[") {
      const { end, token } = parseClass(characters, at, whole);
      tokens.push(token);
      at = end;
    } else if (character === "*") {
      if (tokens.at(-1) !== "any") tokens.push("any");
    } else tokens.push(character === "?" ? "one" : { char: character });
  }
  return tokens;
}

/** Parses `[abc]`, `[a-z]`, `[!a]`; a `]` in the first place is a member of the class. */
function parseClass(
  characters: readonly string[],
  start: number,
  whole: string,
): { end: number; token: CharacterClass } {
  const negated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const first = start + (negated ? 2 : 1);
  const end = characters.indexOf("]", first + 1);
  if (end === -1) return fault(whole, 'a "[" is not closed, write \\[ for the character itself');
  const inside = characters.slice(first, end).map((one) => one.codePointAt(0) ?? 0);
  const ranges: [number, number][] = [];
  for (let at = 0; at < inside.length; at++) {
    const low = inside[at] ?? 0;
    const isRange = inside[at + 1] === HYPHEN && at + 2 < inside.length;
    const high = isRange ? inside[at += 2] ?? low : low;
    ranges.push([low, high]);
  }
  return { end, token: { negated, ranges } };
}

const HYPHEN = 0x2d;

/** All texts to which the braces of a glob expand. */
function expandBraces(text: string): readonly string[] {
  const open = findUnescaped(text, "{", 0);
  if (open === -1) return [text];
  const parts: string[] = [];
  let [depth, from, at] = [0, open + 1, open];
  for (; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) break;
    else if (text[at] === "," && depth === 1) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  if (depth !== 0) return fault(text, 'a "{" is not closed, write \\{ for the character itself');
  parts.push(text.slice(from, at));
  const [head, tails] = [text.slice(0, open), expandBraces(text.slice(at + 1))];
  const all = parts.flatMap(expandBraces).flatMap((part) =>
    tails.map((tail) => head + part + tail)
  );
  return all.length <= MAX_PATTERNS
    ? all
    : fault(text, `its braces expand to more than ${MAX_PATTERNS} patterns`);
}

function findUnescaped(text: string, character: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === character) return at;
  }
  return -1;
}

/** The directory with which every pattern begins. */
function commonBase(patterns: readonly (readonly Segment[])[]): string {
  const bases = patterns.map((pattern) => {
    const names = pattern.slice(0, -1).map(literalName);
    const end = names.indexOf(undefined);
    return end === -1 ? names : names.slice(0, end);
  });
  const [first = []] = bases;
  const differs = first.findIndex((name, at) => bases.some((base) => base[at] !== name));
  return first.slice(0, differs === -1 ? undefined : differs).join("/");
}

function literalName(segment: Segment): string | undefined {
  if (segment === "**") return undefined;
  const characters = segment.map((token) =>
    typeof token === "object" && "char" in token ? token.char : undefined
  );
  return characters.includes(undefined) ? undefined : characters.join("");
}

function fault(glob: string, why: string): never {
  throw new AppError("invalid", `"${glob}" is not a glob: ${why}`);
}
