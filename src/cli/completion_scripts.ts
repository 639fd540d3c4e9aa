/**
 * Completion scripts for shells. A script contains everything but names and ids, so that pressing
 * Tab starts `svc` only for these, with `svc complete`. The caller gives the places to complete;
 * this file has the syntax of each shell.
 *
 * @module
 */

/** An option as a shell completes it. */
export interface CompletedOption {
  /** Its flags, such as `-o` and `--output`. */
  readonly flags: readonly string[];
  /** One line of help. */
  readonly help: string;
  /** Its value: none, a path, any text, one that `svc complete` prints, or one of a list. */
  readonly takes: "nothing" | "path" | "text" | "asked" | readonly string[];
  /** Whether it may be given again. */
  readonly repeatable: boolean;
}

/** A place on the command line: what may follow these words. */
export interface Place {
  /** Words so far, separated by blanks; empty right after `svc`. */
  readonly words: string;
  /** The possible next words, each with a line of help; empty if they are no closed list. */
  readonly next: readonly { readonly word: string; readonly help: string }[];
  readonly options: readonly CompletedOption[];
  /**
   * How arguments are completed if `next` is empty: with files, or with the output of `svc
   * complete`.
   */
  readonly rest: "nothing" | "path" | "asked";
}

/** Makes the script of one shell. A place comes after the places through which it is reached. */
export type ScriptMaker = (places: readonly Place[]) => string;

/** The scripts by the name of the shell. */
export const SCRIPTS: Readonly<Record<string, ScriptMaker>> = { bash, zsh, fish };

/** `PLACE WORD` for every word that leads on to another place: `' task'`, `'task logs'`. */
function steps(places: readonly Place[]): string[] {
  return places.filter(({ words }) => words !== "")
    .map(({ words }) => quote(words.includes(" ") ? words : ` ${words}`));
}

function bash(places: readonly Place[]): string {
  const valued = places.flatMap(({ words, options }) =>
    options.filter(({ takes }) => takes !== "nothing").map(({ flags, takes }) => ({
      pattern: flags.map((flag) => quote(`${words} ${flag}`)).join("|"),
      list: Array.isArray(takes)
        ? `-W ${quote(takes.join(" "))}`
        : { path: "-f", asked: "asked" }[takes as string] ?? "",
    }))
  );
  const values = valued.map(({ pattern, list }) =>
    `    ${pattern}) ${list === "" ? "return" : `from=(${list})`} ;;`
  );
  const cases = places.map(({ words, next, options, rest }) => {
    const flags = options.flatMap((option) => option.flags).join(" ");
    const list = next.map(({ word }) => word).join(" ");
    return `    ${quote(words)}) list=${quote(list)} options=${quote(flags)} rest=${rest} ;;`;
  });
  return `# bash completion for svc, made by "svc completions bash"
_svc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} IFS=$' \\t\\n'
  local at= word list options rest=nothing i given=0 from=()
  COMPREPLY=()
  # --output=json arrives as three words
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$at $word" in
      ${steps(places).join("|")}) at=\${at:+$at }$word ;;
      ${valued.map(({ pattern }) => pattern).join("|")})
        if [[ \${COMP_WORDS[i+1]} == = ]]; then ((i += 2)); else ((i += 1)); fi ;;
      *" "-*) ;;
      *) ((given += 1)) ;;
    esac
  done
  case "$at $prev" in
${values.join("\n")}
  esac
  case "$at" in
${cases.join("\n")}
  esac
  if ((given > 0)) || [[ $cur == */* ]]; then list=; fi
  if ((\${#from[@]} == 0)); then
    if [[ $cur == -* ]]; then from=(-W "$options")
    elif [[ -n $list || $rest == nothing ]]; then from=(-W "$list")
    elif [[ $rest == path ]]; then from=(-f)
    else from=(asked); fi
  fi
  if [[ \${from[0]} == asked ]]; then
    IFS=$'\\n'
    COMPREPLY=($(svc complete -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" 2>/dev/null))
    # Descriptions stand beside several; the shell inserts only what all begin with
    if ((\${#COMPREPLY[@]} > 1)) && [[ \${COMP_TYPE:-37} != @(37|42) ]]; then
      COMPREPLY=("\${COMPREPLY[@]/$'\\t'/  -- }")
    else
      COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
    fi
    return
  fi
  if [[ \${from[0]} == -f ]]; then IFS=$'\\n'; compopt -o filenames 2>/dev/null; fi
  COMPREPLY=($(compgen "\${from[@]}" -- "$cur"))
}
complete -F _svc svc
`;
}

function zsh(places: readonly Place[]): string {
  const plain = (text: string) => text.replace(/[\\[\]():"]/g, "\\$&");
  const option = ({ flags, help, takes, repeatable }: CompletedOption) => {
    const value = Array.isArray(takes) ? `:value:(${takes.join(" ")})` : {
      nothing: "",
      text: ":value: ",
      path: ":path:_files",
      asked: ":value:_svc_ask",
    }[takes as string];
    const before = repeatable ? "*" : flags.length > 1 ? `(${flags.join(" ")})` : "";
    const after = (flag: string) => value !== "" && flag.startsWith("--") ? "=" : "";
    return flags.map((flag) => quote(`${before}${flag}${after(flag)}[${plain(help)}]${value}`))
      .join(" ");
  };
  const cases = places.toReversed().map(({ words, next, options, rest }) => {
    const depth = words === "" ? 0 : words.split(" ").length;
    const list = next.map(({ word, help }) => help === "" ? word : `${word}\\:"${plain(help)}"`);
    const isList = next.length > 0 && rest !== "asked";
    const first = isList ? [quote(`1:what:((${list.join(" ")}))`)] : [];
    if (rest !== "nothing") first.push(quote(`*:what:${rest === "path" ? "_files" : "_svc_ask"}`));
    return `    ${quote(words === "" ? "" : `${words} `)}*)
      shift ${depth} words; (( CURRENT -= ${depth} ))
      _arguments ${[...options.map(option), ...first].join(" ")} ;;`;
  });
  return `#compdef svc
# zsh completion for svc, made by "svc completions zsh"
_svc_ask() {
  local -a found shown
  found=(\${(f)"$(svc complete -- "\${(@)asked[2,-1]}" 2>/dev/null)"})
  shown=(\${\${found//:/\\\\:}/$'\\t'/:})
  _describe -V value shown
}
_svc() {
  local -a asked=("\${(@)words[1,CURRENT]}")
  case "\${(j: :)words[2,CURRENT-1]} " in
${cases.join("\n")}
  esac
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

function fish(places: readonly Place[]): string {
  const option = ({ flags, help, takes }: CompletedOption) =>
    [
      ...flags.map((flag) => flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`),
      Array.isArray(takes)
        ? `-xa ${quote(takes.join(" "))}`
        : { nothing: "", text: "-x", path: "-rF", asked: `-xa ${quote("(__svc_ask)")}` }[
          takes as string
        ],
      `-d ${quote(help)}`,
    ].join(" ");
  const others = { nothing: [], path: ["-F"], asked: [`-ka ${quote("(__svc_ask)")}`] };
  const lines = places.flatMap(({ words, next, options, rest }) =>
    [
      // `svc complete` also prints the closed lists, and knows how many arguments there are.
      ...rest === "asked" ? [] : next.map(({ word, help }) => `-a ${word} -d ${quote(help)}`),
      ...options.map(option),
      ...others[rest],
    ]
      .map((rest) => `complete -c svc -n ${quote(`__svc_at "${words}"`)} ${rest}`)
  );
  return `# fish completion for svc, made by "svc completions fish"
function __svc_ask
    svc complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
function __svc_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${steps(places).join(" ")}
                set at (string trim -- "$at $word")
            case ' -*'
            case ' *'
                set at unknown
        end
    end
    test "$at" = "$argv[1]"
end
complete -c svc -f
${lines.join("\n")}
`;
}

/**
 * A text in single quotes. All three shells read it the same way if it contains no single quote.
 */
function quote(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
