/**
 * `svc edit`: one resource in an editor, applied when it is saved, unless it was changed
 * meanwhile.
 *
 * @module
 */

import { join } from "node:path";
import type { Client } from "../../api/client.ts";
import type { Input } from "../../api/operations.ts";
import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { fileFault } from "../../base/file_fault.ts";
import { findRecordName } from "../../resources/record_names.ts";
import { displayName } from "../../resources/resource.ts";
import { runAttached } from "../../shell/run_attached.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { type Refusal, sameText, withErrors, withHint, withoutComments } from "../edited_text.ts";
import type { Io } from "../io.ts";
import { KIND_PLURALS } from "../listed_names.ts";
import { printApplied } from "../print_applied.ts";

const OPTIONS = [
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Opens a resource in your editor ($VISUAL, else $EDITOR, else vi) and applies what you " +
    "save. If svc refuses it, Enter opens it again with the reasons at the top; without a " +
    "terminal, svc keeps the text and ends. An empty or unchanged file changes nothing. " +
    "Secrets appear as ***, which keeps their values.",
  arguments: [
    { name: "<kind>", help: "KIND/NAME, or KIND followed by the name", complete: KIND_PLURALS },
    { name: "[name]", help: "name", complete: "name" },
  ],
  options: OPTIONS,
  examples: [
    "svc edit trigger/github-push",
    "EDITOR='code --wait' svc edit workflow build -p shop",
  ],
  async run(context) {
    using client = context.client();
    const { expected, text } = await read(client, context);
    const directory = await Deno.makeTempDir({ prefix: "svc-edit-" }); // 0700
    const path = join(directory, `${expected.kind.toLowerCase()}.yaml`);
    let kept = false;
    try {
      const session = { expected, original: text, path, client, context };
      return await edit(session);
    } catch (error) {
      if (!(error instanceof NotApplied)) throw error;
      kept = await keep(path, error.text);
      throw kept ? toldWhere(error.reason, path) : error.reason;
    } finally {
      if (!kept) await Deno.remove(directory, { recursive: true }).catch(() => {});
    }
  },
});

/** The precondition of the apply: the resource is the same one, and unchanged. */
type Precondition = NonNullable<Input<"apply">["expected"]>;

interface Session {
  readonly expected: Precondition;
  readonly original: string;
  readonly path: string;
  readonly client: Client;
  readonly context: Context<typeof OPTIONS>;
}

/** A text that was changed and not applied, so it must not be lost. */
class NotApplied extends Error {
  readonly text: string;
  readonly reason: AppError;

  constructor({ text, reason }: { text: string; reason: AppError }) {
    super(reason.message);
    this.text = text;
    this.reason = reason;
  }
}

async function read(
  client: Client,
  context: Context<typeof OPTIONS>,
): Promise<{ expected: Precondition; text: string }> {
  const [what, name] = nameOf(context);
  if (findRecordName(what) !== undefined) {
    throw new AppError("usage", `"${what}" is a record, and records cannot be changed`);
  }
  const { items } = await client.call("get", { what, name, ...context.project() });
  const { kind, metadata, spec, status } = items[0] as {
    kind: string;
    metadata: { name: string; project?: string };
    spec: unknown;
    status: { generation: number };
  };
  const { generation } = status;
  const expected = { kind, project: metadata.project ?? "", name: metadata.name, generation };
  const { toYaml } = await import("../../resources/manifest.ts");
  return { expected, text: toYaml({ kind, metadata, spec }) };
}

function nameOf(context: Context<typeof OPTIONS>): [what: string, name: string] {
  const [first, second] = [context.argument(0), context.argument(1)];
  const [what = "", name = "", ...rest] = second === "" ? first.split("/") : [first, second];
  if (what !== "" && name !== "" && rest.length === 0 && !what.includes("/")) return [what, name];
  throw new AppError("usage", "Name what to edit: svc edit KIND/NAME");
}

/** Opens the editor until the saved text can be applied, or the person gives up. */
async function edit(session: Session): Promise<number> {
  const { expected, original, path, client, context } = session;
  const name = displayName(expected);
  const hint = hintFor(expected);
  let refused: Refusal & { error: AppError } | undefined;
  for (;;) {
    await write(path, refused === undefined ? withHint(original, hint) : withErrors(refused, hint));
    const text = withoutComments(await openEditor(path, context.io, refused));
    if (text.trim() === "") {
      throw new AppError("refused", `${name} was not changed: the saved file is empty`);
    }
    if (sameText(text, original)) {
      const results = [{ name, project: expected.project, action: "unchanged" as const }];
      return printApplied({ results, warnings: [], hook_failures: [] }, context);
    }
    if (refused !== undefined && sameText(text, refused.text)) {
      throw new NotApplied({ text, reason: refused.error });
    }
    try {
      const files = [{ name: `${expected.kind.toLowerCase()}.yaml`, text }];
      const applied = await client.call("apply", { files, dry_run: false, expected });
      return printApplied(applied, context);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const isToMend = error.code === "invalid" && openAgain(error, context.io);
      if (!isToMend) throw new NotApplied({ text, reason: error });
      refused = { text, error };
    }
  }
}

/**
 * Asks whether to open the editor again, because it may be a program that would save the same
 * mistake for ever.
 */
function openAgain({ message, details }: AppError, io: Io): boolean {
  if (!io.inIsTerminal) return false;
  io.err([message, ...details.map((detail) => `  ${detail}`), ""].join("\n"));
  return io.hiddenLine("Enter opens it again, Ctrl-C keeps the text and ends: ") !== undefined;
}

function hintFor(expected: Precondition): string[] {
  return [
    `Change ${displayName(expected)} and save it; an empty file changes nothing.`,
    "These lines are left out.",
    ...expected.kind === "SecretStore" ? ["*** keeps the stored value."] : [],
  ];
}

/** Runs the editor; returns the saved text. */
async function openEditor(
  path: string,
  io: Io,
  refused: Refusal & { error: AppError } | undefined,
): Promise<string> {
  const editor = io.env("VISUAL") || io.env("EDITOR") || "vi";
  const stop = new AbortController();
  // Ctrl-C is meant for the editor; svc goes on, so that it can remove the file.
  using _signals = io.onStop(
    (signal) => signal === "SIGINT" || stop.abort(),
    ["SIGINT", "SIGTERM", "SIGHUP"],
  );
  const code = await runAttached({
    what: "the editor",
    line: `${editor} "$1"`,
    args: [path],
    env: io.environment(),
    signal: stop.signal,
  });
  if (code === 0 && !stop.signal.aborted) return await readBack(path);
  const why = stop.signal.aborted
    ? "svc was told to end"
    : `the editor (${editor}) ended with exit code ${code}` +
      (code === 127 ? ", which means the program was not found: set $EDITOR" : "");
  const reason = new AppError("refused", `Nothing was changed: ${why}`);
  throw refused === undefined ? reason : new NotApplied({ text: refused.text, reason });
}

async function write(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(path, text, { mode: 0o600 });
  } catch (cause) {
    throw new AppError("refused", `Cannot write "${path}": ${fileFault(cause)}`, { cause });
  }
}

async function readBack(path: string): Promise<string> {
  try {
    const text = findText(await Deno.readFile(path));
    if (text !== undefined) return text;
  } catch (cause) {
    throw new AppError("refused", `Nothing was changed: "${path}" is gone: ${fileFault(cause)}`, {
      cause,
    });
  }
  throw new AppError("refused", "Nothing was changed: the saved file is not UTF-8 text");
}

/** Leaves the text in its file, without the comments; returns whether that worked. */
async function keep(path: string, text: string): Promise<boolean> {
  return await write(path, text).then(() => true, () => false);
}

function toldWhere({ code, message, details, cause }: AppError, path: string): AppError {
  const advice = code === "conflict" ? "edit it again, or " : "";
  return new AppError(
    code,
    `${message}; your text is kept: ${advice}svc apply -f ${path}`,
    { details, cause },
  );
}
