/**
 * What is wrong with a text that is not CEL, in words: the parser names only a letter. Habits from
 * other languages are recognised first.
 *
 * @module
 */

/** Habits at the place where the parser stopped, and what CEL writes for them. */
const HABITS: readonly (readonly [habit: RegExp, cure: string])[] = [
  [/^===/, 'write "==" instead of "==="'],
  [/^=~/, 'write VALUE.matches("PATTERN")'],
  [/^=(?!=)/, 'write "==" to compare'],
  [/^<>/, 'write "!=" instead of "<>"'],
  [/^(?:&(?!&)|and\b)/i, 'write "&&"'],
  [/^(?:\|(?!\|)|or\b)/i, 'write "||"'],
  [/^not\b/i, 'write "!"'],
];

/** What can stand between two values. */
const OPERATOR = /^(?:==|!=|<=|>=|&&|\|\||[-+*/%<>?]|in\b)/;

/** What the parser says, for people. */
export function describeSyntaxError(source: string, offset: number, message: string): string {
  const rest = source.slice(offset);
  if (/^\s*\$?\{\{/.test(source)) return 'leave out "{{" and "}}", all of it is an expression';
  if (/[“”‘’]/.test(rest)) return "put texts in straight quotes, \" or '";
  if (/\bnot\s+$/i.test(source.slice(0, offset))) return 'write "!"';
  for (const [habit, cure] of HABITS) if (habit.test(rest)) return cure;
  const [word] = /^(?:\w+|.)/u.exec(rest.trimStart()) ?? [];
  if (message.startsWith("reserved")) return `"${word}" is reserved, a field is VALUE["${word}"]`;
  const [operator] = OPERATOR.exec(rest) ?? [];
  if (operator !== undefined) return `no complete expression follows "${operator}"`;
  const expected = /^found .+? but expecting (.+)$/s.exec(message)?.[1];
  if (expected === undefined) return message;
  if (/^[.[(]/.test(rest) && expected === "end of input") {
    return `the expression that begins with "${word}" is not complete`;
  }
  const where = word === undefined ? "it ends here" : `found "${word}"`;
  if (expected === "end of input") return `${where}, where an operator or the end was expected`;
  if (/^'.'$/.test(expected)) return `${where}, where ${expected} was expected`;
  return `${where}, where a value was expected`;
}
