/**
 * The commands in lines of a shell, as far as the examples in the documentation need it: words with
 * their quotes taken off, without comments, redirections and what stands in here-documents.
 *
 * @module
 */

/** One command and its line in the text, from 0. */
export interface ShellCommand {
  readonly line: number;
  readonly words: readonly string[];
}

const TOKEN =
  /\\\n|\\.|'[^']*'|"(?:\\.|[^"\\])*"|#[^\n]*|<<-?\s*'?"?(\w+)'?"?|\d?(?:>>|>&|<|>)\s*[^\s|;&)]*|\$\(|\$\{[^}]*\}|&&|\|\||[|;&()`\n]|[^\S\n]+|[^\s\\'"|;&()<>`]+|./g;

/** The commands of a text, those within `$(…)` included, which leave a placeholder. */
export function shellCommands(text: string): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  const outer: { words: string[]; word: string }[] = [];
  let line = 0;
  let word: string | undefined;
  let words: string[] = [];
  const endWord = () => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push({ line, words });
    words = [];
  };
  for (const [token] of withoutHeredocs(text).matchAll(TOKEN)) {
    const isComment = token.startsWith("#") && word === undefined;
    const around = token === ")" ? outer.pop() : undefined;
    if (token === "$(") {
      outer.push({ words, word: `${word ?? ""}VALUE` });
      [words, word] = [[], undefined];
    } else if (around !== undefined) {
      endCommand();
      ({ words, word } = around);
    } else if (/^(&&|\|\||[|;&()`\n])$/.test(token)) endCommand();
    else if (isComment || /^(\d?[<>]|\s+$|\\\n)/.test(token)) endWord();
    else {
      if (token.startsWith('"')) commands.push(...within(token, line));
      word = (word ?? "") + token.replace(/^(['"])([\s\S]*)\1$/, "$2").replace(/^\\/, "");
    }
    line += token.split("\n").length - 1;
  }
  endCommand();
  return commands;
}

/** Commands within `"…$(…)…"`. */
function within(token: string, line: number): readonly ShellCommand[] {
  return [...token.matchAll(/\$\(([^()]*)\)/g)].flatMap(([, inner = ""]) =>
    shellCommands(inner).map(({ words }) => ({ line, words }))
  );
}

/** The text with empty lines in the place of here-documents. */
function withoutHeredocs(text: string): string {
  return text.replace(
    /(<<-?\s*['"]?(\w+)['"]?[^\n]*\n)([\s\S]*?\n)(\s*\2(?=\n|$))/g,
    (_, head: string, _name: string, body: string, end: string) =>
      head + body.replace(/[^\n]/g, "") + end.replace(/[^\n]/g, ""),
  );
}

/** Words that may stand before a command, and what belongs to them. */
const BEFORE = /^(sudo|exec|env|time|watch|if|while|until|!|then|do|else|command|nohup|\w+=.*)$/;

/** What follows `svc` or `svcd` where a command is one of them. */
export function svcArguments({ words }: ShellCommand): readonly string[] | undefined {
  let rest = words.map((word) => word === "$" ? "" : word).filter((word) => word !== "");
  for (;;) {
    const [first = ""] = rest;
    if (/^(.*\/)?svcd?$/.test(first)) {
      return first.endsWith("svcd") ? ["daemon", ...rest.slice(1)] : rest.slice(1);
    }
    if (!BEFORE.test(first)) return undefined;
    rest = rest.slice(first === "sudo" && rest[1] === "-u" ? 3 : 1);
  }
}
