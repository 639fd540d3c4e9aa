import { deepStrictEqual as deepEqual, ok, throws } from "node:assert/strict";
import type { Command } from "../../src/cli/command.ts";
import { helpText } from "../../src/cli/help.ts";
import { count, DURATION, type OptionValues } from "../../src/cli/option.ts";
import { parseArguments } from "../../src/cli/parse.ts";

const COMMAND: Command = {
  help:
    "Does something.\n\nKinds:  one, two, and whatever else there is, in a line that is longer than it",
  arguments: [{ name: "<task>", help: "which" }, { name: "[name...]", help: "whose" }],
  options: [
    { flags: "-o, --output <format>", help: "how", choices: ["text", "json"], fallback: "text" },
    { flags: "-f, --filename <file...>", help: "from where" },
    { flags: "-w, --watch", help: "go on" },
    { flags: "--no-open", help: "open nothing" },
    { flags: "--data-dir <dir>", help: "where" },
    { flags: "--limit <n>", value: count(1, 50), help: "how many", fallback: "10" },
    { flags: "--since <duration>", value: DURATION, help: "since when" },
  ],
  examples: ["svc do it"],
  run: () => Promise.resolve(),
};
const AFTER: Command = {
  ...COMMAND,
  arguments: [{ name: "[name]", help: "whose" }, {
    name: "<command...>",
    help: "what",
    separate: true,
  }],
};
const NONE = {
  output: "text",
  filename: [],
  watch: false,
  open: true,
  dataDir: undefined,
  limit: 10,
  since: undefined,
};

const parse = (...args: string[]) => parseArguments("do", COMMAND, args);

const PARSED: readonly (readonly [line: string, positional: unknown[], options: object])[] = [
  ["a", ["a", []], NONE],
  ["a b c", ["a", ["b", "c"]], NONE],
  ["-o json a", ["a", []], { ...NONE, output: "json" }],
  ["-ojson a", ["a", []], { ...NONE, output: "json" }],
  ["--output=json a", ["a", []], { ...NONE, output: "json" }],
  ["a -o json -o text", ["a", []], NONE],
  ["a --data-dir -x", ["a", []], { ...NONE, dataDir: "-x" }],
  ["a --data-dir=", ["a", []], { ...NONE, dataDir: "" }],
  ["a --no-open", ["a", []], { ...NONE, open: false }],
  ["a -f x y -w", ["a", []], { ...NONE, filename: ["x", "y"], watch: true }],
  ["a -f x -f y", ["a", []], { ...NONE, filename: ["x", "y"] }],
  ["-f=x --filename=y a", ["a", []], { ...NONE, filename: ["=x", "y"] }],
  ["-f x -- a", ["a", []], { ...NONE, filename: ["x"] }],
  ["-wf x -o json a", ["a", []], { ...NONE, filename: ["x"], output: "json", watch: true }],
  ["-f - -o text a", ["a", []], { ...NONE, filename: ["-"] }],
  ["a --limit 50 --since 2m", ["a", []], { ...NONE, limit: 50, since: 120 }],
  ["-- a -w --help", ["a", ["-w", "--help"]], NONE],
];

for (const [line, positional, options] of PARSED) {
  Deno.test(`parseArguments: ${line}`, () => {
    deepEqual(parse(...line.split(" ")), { positional, options });
  });
}

const REFUSED: readonly (readonly [line: string, message: string | RegExp])[] = [
  ["", "TASK is missing: svc do TASK [NAME...]"],
  ["a --outptu json", 'Unknown option "--outptu", did you mean "--output"?'],
  ["a --nope=3", 'Unknown option "--nope": see "svc help do"'],
  ["a -x", 'Unknown option "-x": see "svc help do"'],
  ["a --constructor", 'Unknown option "--constructor": see "svc help do"'],
  ["a --__proto__=x", 'Unknown option "--__proto__": see "svc help do"'],
  ["a --watch=yes", '--watch takes no value: see "svc help do"'],
  ["a -o", '--output needs a value: see "svc help do"'],
  ["a -o yaml", '--output takes text, json, not "yaml"'],
  ["a --limit 51", '--limit takes a whole number from 1 to 50, not "51"'],
  ["a --limit 0x5", '--limit takes a whole number from 1 to 50, not "0x5"'],
  ["a --since soon", /^--since takes a duration such as 30m, .* at most, not "soon"$/],
  ["a --output=", '--output takes text, json, not ""'],
];

for (const [line, message] of REFUSED) {
  Deno.test(`parseArguments refuses: ${line}`, () => {
    throws(() => parse(...line.split(" ").filter((word) => word !== "")), {
      code: "usage",
      message,
    });
  });
}

Deno.test("parseArguments refuses one argument too many", () => {
  const [first] = COMMAND.arguments ?? [];
  ok(first !== undefined);
  throws(() => parseArguments("do", { ...COMMAND, arguments: [first] }, ["a", "b"]), {
    message: "Too many arguments: svc do TASK",
  });
});

Deno.test("the types of values follow from the definitions", () => {
  const options = [
    { flags: "-o, --output <format>", help: "", choices: ["text", "json"], fallback: "text" },
    { flags: "--no-open", help: "" },
    { flags: "--header <name=value...>", help: "" },
    { flags: "--max-body <bytes>", help: "", value: count(1) },
    { flags: "--data-dir <dir>", help: "" },
  ] as const;
  // Each of these must be exactly the type: the compiler refuses more and less.
  type Values = {
    readonly output: "text" | "json";
    readonly open: boolean;
    readonly header: readonly string[];
    readonly maxBody: number | undefined;
    readonly dataDir: string | undefined;
  };
  const exactly = <One, Other>(
    same: [One] extends [Other] ? [Other] extends [One] ? true : 0 : 0,
  ) => same;
  const isSame = exactly<OptionValues<typeof options>, Values>(true);
  const command = { help: "", options, examples: [], run: () => Promise.resolve() };
  const values = parseArguments("do", command, ["--max-body", "7", "--header", "a=b"])?.options;
  deepEqual(values, {
    output: "text",
    open: true,
    header: ["a=b"],
    maxBody: 7,
    dataDir: undefined,
  });
  ok(isSame);
});

Deno.test("help is asked for wherever it stands, beside whatever is wrong", () => {
  for (
    const line of [["-h"], ["--help"], ["a", "-h", "--nope"], ["-wh"], ["-o", "yaml", "--help"]]
  ) {
    deepEqual(parse(...line), undefined, line.join(" "));
  }
});

Deno.test("helpText fits the terminal, and leaves a very narrow one to itself", () => {
  const lines = helpText("do", COMMAND, 50).split("\n");
  deepEqual(lines.slice(0, 12), [
    "Usage: svc do [options] <task> [name...]",
    "",
    "Does something.",
    "",
    "Kinds:  one, two, and whatever else there is, in a",
    "line that is longer than it",
    "",
    "Arguments:",
    "  task                      which",
    "  name                      whose",
    "",
    "Options:",
  ]);
  deepEqual(lines.slice(12, 16), [
    '  -o, --output <format>     how (choices: "text",',
    '                            "json", default:',
    '                            "text")',
    "  -f, --filename <file...>  from where",
  ]);
  deepEqual(lines.slice(-4), ["", "Examples:", "  svc do it", ""]);
  ok(helpText("do", COMMAND, 40).includes('how (choices: "text", "json", default: "text")'));
  ok(helpText("do", COMMAND, 500).split("\n").every(({ length }) => length <= 100));
});

Deno.test("what stands after -- is another command's, options included", () => {
  const positional = (line: string) => parseArguments("do", AFTER, line.split(" "))?.positional;
  deepEqual(positional("-w a -- ls -l"), ["a", ["ls", "-l"]]);
  deepEqual(positional("-- ls --help"), [undefined, ["ls", "--help"]]);
  deepEqual(positional("a -- sh -c -- x"), ["a", ["sh", "-c", "--", "x"]]);
  const usage = "svc do [NAME] -- COMMAND...";
  for (const line of ["a", "a --", "--"]) {
    throws(() => positional(line), { message: `COMMAND is missing: ${usage}` }, line);
  }
  throws(() => positional("a b -- c"), { message: `Too many arguments: ${usage}` });
  ok(helpText("do", AFTER).startsWith("Usage: svc do [options] [name] -- <command...>\n"));
});
