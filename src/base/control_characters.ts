/**
 * Characters that nobody sees. Some a terminal obeys: control characters, and marks that turn the
 * direction of a line, with which a text looks like another. Others have no width or no ink: a name
 * with one looks like the name without it, and whole sentences can stand between two letters.
 *
 * @module
 */

// deno-lint-ignore no-control-regex -- control characters are what is looked for
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Letters and marks of scripts in which a joiner changes how the letter beside it looks. */
const JOINED = `(?=[\\p{L}\\p{M}])[${
  ("Arab Syrc Nkoo Mand Mong Adlm Rohg Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr " +
    "Tibt Java Bali").split(" ").map((script) => `\\p{scx=${script}}`).join("")
}]`;

// deno-lint-ignore no-control-regex -- what is looked for
const HIDDEN_IN_ASCII = /([\x00-\x1f\x7f]+)/g;

// deno-lint-ignore no-control-regex -- the whole of ASCII
const ASCII = /^[\x00-\x7f]*$/;

/** {@linkcode makeHidden}, made when a text first needs it: its classes take some 6 ms. */
let hidden: RegExp | undefined;

/** Finds the runs of hidden characters of this text; the group of a match is the run. */
function hiddenIn(text: string): RegExp {
  return ASCII.test(text) ? HIDDEN_IN_ASCII : hidden ??= makeHidden();
}

// What belongs where it stands is left: what makes an emoji of several characters or says how one
// looks, and joiners beside letters of scripts that join. Each alternative begins with what it leaves,
// so that plain text is gone through fast. The group is what is hidden.
function makeHidden(): RegExp {
  return new RegExp(
    [
      String.raw`[\ufe0e\ufe0f](?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}].)`,
      String.raw`\ufe0f(?<=[0-9#*].)(?=\u20e3)`,
      String.raw`\u200d(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?.)` +
      String.raw`(?=\p{Extended_Pictographic})`,
      String.raw`[\u200c\u200d](?<=${JOINED}.)`,
      String.raw`[\u200c\u200d](?<![\u200c\u200d].)(?=${JOINED})`,
      String.raw`([\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+)`,
    ].join("|"),
    "gu",
  );
}

/** A text with something else in the place of each control character and mark of direction. */
export function replaceControls(text: string, replace: (control: string) => string): string {
  return text.replace(CONTROLS, replace);
}

/** Where a text has characters that nobody sees, one run after the other; control characters are some. */
export function* hiddenRuns(
  text: string,
): Generator<{ readonly at: number; readonly run: string }> {
  for (const { index, 1: run } of text.matchAll(hiddenIn(text))) {
    if (run !== undefined) yield { at: index, run };
  }
}

/** A text in which the hidden ones are spelled as in JSON: what was JSON stays it, with the same values. */
export function escapeHidden(text: string): string {
  return replaceHidden(text, escaped);
}

/** The same for a text of lines, which stay lines. */
export function escapeInLines(text: string): string {
  return replaceHidden(text.replaceAll("\r\n", "\n"), keeping("\n\t", escaped));
}

/** The same for YAML, whose strings with hidden characters all stand in double quotes. */
export function escapeInYaml(text: string): string {
  return replaceHidden(text, keeping("\n\t", escapedForYaml));
}

/** A text for people, of lines, in which the hidden ones are spelled out; all of `kept` stay. */
export function spellInLines(text: string, kept = "\n\t"): string {
  return replaceHidden(text.replaceAll("\r\n", "\n"), keeping(kept, spelled));
}

/** A character as people write it where they name it. */
export function spelled(character: string): string {
  if (/[\t\n\r]/.test(character)) return JSON.stringify(character).slice(1, -1);
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

function replaceHidden(text: string, replace: (character: string) => string): string {
  return text.replace(
    hiddenIn(text),
    (all: string, run: string | undefined) =>
      run === undefined ? all : Array.from(run, replace).join(""),
  );
}

function keeping(kept: string, replace: (character: string) => string) {
  return (character: string) => kept.includes(character) ? character : replace(character);
}

/** JSON knows UTF-16 units only. */
function escaped(character: string): string {
  return character.split("").map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`).join("");
}

/** YAML knows whole characters only. */
function escapedForYaml(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
