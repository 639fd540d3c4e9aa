/**
 * An answer to the question of a step, for `svc task approve` and `svc task reject`: shows what is asked,
 * asks for a yes, and answers exactly what was shown.
 *
 * @module
 */

import type { ApprovalView, ShownApproval } from "../api/approval_operations.ts";
import { systemClock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { CONNECTION, type Context, OUTPUT_TEXT_JSON, TASK } from "./command.ts";
import { confirm, YES } from "./confirm.ts";
import { ago, type Line, lines, section } from "./described_parts.ts";
import { jsonText } from "./json_text.ts";
import type { OptionDefinition } from "./option.ts";
import { setValues } from "./set_values.ts";
import { printable } from "./terminal_text.ts";

/** The arguments of both commands. */
export const ANSWER_ARGUMENTS = [
  TASK,
  { name: "[step]", help: "id of the step that asks, if several do" },
] as const;

/** The options of both commands. */
export const ANSWER_OPTIONS = [
  { flags: "--comment <text>", help: "why; later steps can read it" },
  {
    flags: "--digest <digest>",
    help: "of what you have seen, its first 8 digits at least; with --yes nothing is shown again",
  },
  YES,
  {
    flags: "--force",
    help: "answer in the place of those who may, as an admin with a token; needs --reason",
  },
  { flags: "--reason <text>", help: "with --force: why" },
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

/** The option for values of fields. */
export const SET_FIELD = {
  flags: "--set <name=value...>",
  help: "field of the question; once for each",
} as const satisfies OptionDefinition;

/** Shows the question, if nobody says what was seen, and answers it. */
export async function answer(
  given: "approved" | "rejected",
  context: Context<typeof ANSWER_OPTIONS>,
  set: readonly string[] = [],
): Promise<void> {
  const { io, options } = context;
  const { comment, digest, yes, force, reason } = options;
  const [id, step] = [context.argument(0), context.argument(1)];
  if (force !== (reason !== undefined)) {
    throw new AppError("usage", "--force and --reason are given together");
  }
  if (yes && digest === undefined) {
    throw new AppError(
      "usage",
      "With --yes, say what you have seen: --digest DIGEST, as svc get approvals shows it",
    );
  }
  using client = context.client();
  const named = step === "" ? { id } : { id, step };
  let seen = digest;
  if (!yes) {
    const question = await client.call("approval", named);
    io.err(questionText(question));
    if (question.ended !== null) throw new AppError("conflict", `It is decided: ${question.ended}`);
    const verb = given === "approved" ? "Approve" : "Reject";
    await confirm(`${verb} ${question.digest.slice(0, SHORT)}?`, context);
    seen ??= question.digest;
  }
  const done = await client.call("approval.answer", {
    ...named,
    answer: given,
    digest: seen ?? "",
    ...defined({ comment, forced: reason }),
    ...set.length === 0 ? {} : { fields: setValues(set) },
  });
  if (options.output === "json") return io.out(jsonText(done));
  io.out(`task/${done.task_id}: step "${done.step}": ${done.text}\n`);
}

/** Digits of a digest that people read. */
const SHORT = 8;

const PROTECTIONS: Readonly<Record<ApprovalView["protection"], string>> = {
  sandbox: "the steps of its task run in sandboxes, and cannot answer",
  socket: "a step of its task outside a sandbox could answer only by changing the database",
  none:
    "a step of its task outside a sandbox could answer itself: this guards against mistakes only",
};

/** A question, with all that it shows. */
export function questionText(question: ShownApproval): string {
  const now = systemClock.now();
  const approvals = question.answers.filter((one) => one.answer === "approved");
  const given = approvals.length === 0 ? "" : `, by ${approvals.map(({ by }) => by).join(", ")}`;
  const facts: readonly Line[] = [
    ["Task", `${question.task_id}, step ${question.step}`],
    ["Workflow", question.workflow],
    ["Asked", ago(question.opened_at, now)],
    ["Open until", question.due_at],
    ["May answer", question.by.join(", ")],
    ["Approved", `${approvals.length} of ${question.need}${given}`],
    ["Four eyes", question.four_eyes ? "nobody who started it" : ""],
    ["Digest", question.digest.slice(0, SHORT)],
    ["Guarded", PROTECTIONS[question.protection]],
    ["Ended", question.ended ?? ""],
  ];
  const fields = Object.entries(question.fields).map(([name, { default: preset, of }]) => {
    const values = of === null ? "" : ` (${of.join(", ")})`;
    return `${name}${values}: ${preset ?? "has to be given"}`;
  });
  return [
    lines(facts),
    `\n${section("Question", safeLines(question.ask))}`,
    fields.length === 0 ? "" : `\n${section("Fields", safeLines(fields.join("\n")))}`,
    diffText(question),
  ].join("");
}

function diffText({ diff, diff_is_cut: isCut, task_id: id }: ShownApproval): string {
  if (diff === null) return "";
  const where = isCut ? `\nAll of it is in: cd "$(svc task workspace ${id})"` : "";
  return `\n${section("Changes", safeLines(`${diff === "" ? "none" : diff}${where}`))}`;
}

const safeLines = (text: string) => text.split("\n").map(printable).join("\n");
