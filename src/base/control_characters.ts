/**
 * Hidden characters. Control characters drive a terminal. Marks of direction reverse a part of a line,
 * so that a text looks like another one. Characters without width or ink make a name look like another
 * name, and can hide whole sentences between two letters.
 *
 * @module
 */

// deno-lint-ignore no-control-regex -- the pattern finds control characters
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Letters and marks of scripts in which a joiner changes the form of its neighbours. */
const JOINED = `(?=[\\p{L}\\p{M}])[${
  ("Arab Syrc Nkoo Mand Mong Adlm Rohg Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr " +
    "Tibt Java Bali").split(" ").map((script) => `\\p{scx=${script}}`).join("")
}]`;

// deno-lint-ignore no-control-regex -- the pattern finds control characters
const HIDDEN_IN_LATIN = /([\x00-\x1f\x7f]+)/g;

// deno-lint-ignore no-control-regex -- ASCII has them
const LATIN = /^[\x00-\x7f\xa1-\xac\xae-\u02ff\u2010-\u2027]*$/;

/**
 * Whether a text is ASCII, Latin letters and the dashes, quotes and dots of English. Beside the
 * controls of ASCII, each of its characters has ink in one column of a terminal, and none joins with
 * another. For such texts no tables of Unicode have to be made.
 */
export function isLatin(text: string): boolean {
  return LATIN.test(text);
}

/** The pattern of {@linkcode makeHidden}, made for the first text that needs it: that takes some 6 ms. */
let hidden: RegExp | undefined;

/** The pattern for runs of hidden characters in this text; the group of a match is the run. */
function hiddenIn(text: string): RegExp {
  return isLatin(text) ? HIDDEN_IN_LATIN : hidden ??= makeHidden();
}

// Some of these characters are not hidden, and match without the group: those that combine characters
// to an emoji or select its look, and joiners beside letters of scripts that join. Each alternative
// begins with its rare character, so that the search in plain text is fast.
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

/** A text in which each control character and each mark of direction is replaced. */
export function replaceControls(text: string, replace: (control: string) => string): string {
  return text.replace(CONTROLS, replace);
}

/** The runs of hidden characters in a text, control characters among them; `at` is an index. */
export function* hiddenRuns(
  text: string,
): Generator<{ readonly at: number; readonly run: string }> {
  for (const { index, 1: run } of text.matchAll(hiddenIn(text))) {
    if (run !== undefined) yield { at: index, run };
  }
}

/** A text with hidden characters escaped as in JSON: a JSON text keeps its values. */
export function escapeHidden(text: string): string {
  return replaceHidden(text, escaped);
}

/** The same for a text of several lines, whose line breaks and tabs stay. */
export function escapeInLines(text: string): string {
  return replaceHidden(text.replaceAll("\r\n", "\n"), keeping("\n\t", escaped));
}

/** The same for YAML, if all its strings with hidden characters are in double quotes. */
export function escapeInYaml(text: string): string {
  return replaceHidden(text, keeping("\n\t", escapedForYaml));
}

/** A text of lines for people, with hidden characters spelled out; characters in `kept` stay. */
export function spellInLines(text: string, kept = "\n\t"): string {
  return replaceHidden(text.replaceAll("\r\n", "\n"), keeping(kept, spelled));
}

/** The name of a character, as people write it: `\n` for a line break, `\u200b` for others. */
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

/** Escapes each UTF-16 unit, as JSON does. */
function escaped(character: string): string {
  return character.split("").map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`).join("");
}

/** Escapes whole characters, as YAML does. */
function escapedForYaml(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
