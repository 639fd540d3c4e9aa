/**
 * `svc outbox show`.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import { type PatchedFile, type PatchLook, PatchReader } from "../../api/patch_text.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { type Command, CONNECTION, defineCommand, MESSAGE, OUTPUT_TEXT_JSON } from "../command.ts";
import { ago, type Line, lines, part, section, text } from "../described_parts.ts";
import { type Io, isColoured } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { green, red, type SafeText, styled } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help:
    "Shows a message of the outbox: where it goes, what it says, why it waits. Of a message that " +
    "changes files it also shows the files, and with --diff their lines. A message that was sent or " +
    "dropped keeps no files.",
  arguments: [MESSAGE],
  options: [
    { flags: "--diff", help: "also the changed lines, in the form of git diff" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc get outbox --state held", "svc outbox show latest --diff"],
  async run(context) {
    const { io } = context;
    const { diff } = context.options;
    using client = context.client();
    const input = { what: "outbox", name: context.argument(0) };
    const { items: [message] } = await client.call("get", input);
    if (!isJsonObject(message)) throw new AppError("not_found", `No message ${input.name}`);
    const patch = await patchOf(message, client, diff);
    const reader = new PatchReader();
    const looks = linesOf(patch).map((line) => [line, reader.look(line)] as const);
    const { files } = reader;
    if (context.options.output === "json") {
      return io.out(jsonText({ ...message, files, ...(diff ? { patch } : {}) }));
    }
    io.out(`${factsOf(message)}${filesText(files)}`);
    if (!diff || patch === "") return;
    io.out("\n");
    printPatch(patch, looks, io);
  },
});

/** The patch of a message; empty where it has none, which is an error if it was asked for. */
async function patchOf(message: JsonObject, client: Client, isAsked: boolean): Promise<string> {
  if (!isAsked && typeof part(message, "body")["files"] !== "number") return "";
  const parts: string[] = [];
  try {
    const id = text(message["id"]);
    for await (const { text: some } of client.stream("outbox.diff", { id })) parts.push(some);
  } catch (error) {
    if (isAsked || !(error instanceof AppError) || error.code !== "conflict") throw error;
  }
  return parts.join("");
}

function linesOf(patch: string): string[] {
  return patch === "" ? [] : patch.replace(/\n$/, "").split("\n");
}

function factsOf(message: JsonObject): string {
  const now = systemClock.now();
  const [id, state, reason] = [message["id"], message["state"], message["reason"]].map(text);
  const body = part(message, "body");
  const { title, text: said } = body;
  const target = Object.values(part(message, "target")).filter((value) => value !== "");
  const next = {
    held: `svc outbox send ${id}, or svc outbox drop ${id}`,
    failed: `svc outbox retry ${id}, or svc outbox drop ${id}`,
  }[state ?? ""];
  const facts: readonly Line[] = [
    ["Message", id ?? ""],
    ["State", state ?? ""],
    ["Reason", reason ?? ""],
    ["Kind", text(message["kind"])],
    ["To", target.map((value) => isJsonObject(value) ? JSON.stringify(value) : value).join(" ")],
    ["Connection", text(message["connection"])],
    ["Project", text(message["project"])],
    ["Task", text(message["task_id"])],
    ["Key", text(message["key"])],
    ["Created", ago(message["created_at"], now)],
    ["Held until", text(message["held_until"])],
    ["Tried", message["tries"] === 0 ? "" : `${message["tries"]} times`],
    ["Next try", text(message["next_at"])],
    ["At the platform", text(message["external_id"])],
    ["Next", next ?? ""],
    ["Title", text(title)],
  ];
  const content = typeof said === "string" ? said : JSON.stringify(body, undefined, 2);
  return `${lines(facts)}${content === "" ? "" : `\n${section("Content", content)}`}`;
}

/** The changed files with the numbers of their lines, and their sum. */
function filesText(files: readonly PatchedFile[]): string {
  if (files.length === 0) return "";
  const width = Math.max(...files.map(({ path }) => path.length));
  const rows = files.map(({ path, added, removed, isBinary }) =>
    `${path.padEnd(width)}  ${isBinary ? "binary" : `+${added} \u2212${removed}`}\n`
  );
  return `\n${section("Files", rows.join(""))}`;
}

const LOOKS: Readonly<Record<PatchLook, (line: string) => SafeText>> = {
  file: (line) => styled([{ text: line, look: "strong" }]),
  hunk: (line) => styled([{ text: line, look: "code" }]),
  added: green,
  removed: red,
  same: (line) => styled([{ text: line }]),
};

/** Prints a patch: to a terminal in colours, and to a program as it is. */
function printPatch(
  patch: string,
  looks: readonly (readonly [line: string, look: PatchLook])[],
  io: Io,
): void {
  if (!isColoured(io)) return io.out(patch);
  for (const [line, look] of looks) {
    io.out(LOOKS[look](line));
    io.out("\n");
  }
}
