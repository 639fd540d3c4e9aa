/**
 * Approvals: the questions that wait for people, and one of them with all that it shows, where it is
 * answered. An answer names the digest of what was shown, so that it never counts for something else.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ApprovalView, ShownApproval } from "../../../src/api/approval_operations.ts";
import { toRefusal } from "../data/answer.ts";
import { call, type Refusal } from "../data/api.ts";
import { useRecords } from "../data/records.ts";
import { session } from "../data/session.ts";
import { Action } from "../parts/action.tsx";
import { By } from "../parts/by.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { isCutHere, PatchText } from "../parts/diff.tsx";
import { Facts } from "../parts/facts.tsx";
import { Field } from "../parts/field.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Column } from "../parts/table.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { Title } from "../parts/title.tsx";
import { href } from "../route.ts";

const COLUMNS: readonly Column<ApprovalView>[] = [
  {
    header: "Asked",
    whole: true,
    narrow: "time",
    cell: ({ opened_at }) => <Ago at={opened_at} bare />,
  },
  {
    header: "Step",
    narrow: "title",
    cell: ({ workflow, step }) => <Text value={`${workflow}: ${step}`} cell />,
  },
  { header: "Answers", whole: true, cell: (one) => progressOf(one) },
  { header: "Who may", cell: ({ by }) => <Text value={by.join(", ")} cell /> },
  {
    header: "Question",
    narrow: "text",
    cell: ({ task_id, step, ask }) => (
      <Link to={["approvals", task_id, step]}>
        <Text value={ask} cell />
      </Link>
    ),
  },
];

/** `1 of 2`. */
function progressOf({ answers, need }: ApprovalView): string {
  return `${answers.filter(({ answer }) => answer === "approved").length} of ${need}`;
}

/** How many answers are missing, and whose can be among them: `1 of bob, @ops`. */
function missingIn({ answers, need, by }: ApprovalView): string {
  const approved = answers.filter(({ answer }) => answer === "approved");
  const left = by.filter((entry) => !approved.some(({ person }) => person === entry));
  return `${need - approved.length} of ${left.join(", ")}`;
}

/** The screen of all open questions. */
export function ApprovalsPage() {
  const records = useRecords<ApprovalView>({ what: "approvals" });
  return (
    <List
      title="Approvals"
      records={records}
      fields={[]}
      command="svc get approvals --watch"
      empty="Nothing waits for people."
      label="Approvals, the newest first"
      columns={COLUMNS}
      id={({ id }) => id}
      to={({ task_id, step }) => href(["approvals", task_id, step])}
    />
  );
}

/** The screen of one question. */
export function ApprovalPage({ task, step }: { readonly task: string; readonly step: string }) {
  const found = useSignal<ShownApproval | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const read = async () => {
    try {
      found.value = await call("approval", { id: task, ...step === "" ? {} : { step } });
      error.value = undefined;
    } catch (thrown) {
      error.value = toRefusal(thrown);
    }
  };
  useEffect(() => void read(), [task, step]);
  return (
    <>
      {found.value === undefined && <h1>Approval</h1>}
      {error.value !== undefined && <Problem error={error.value} />}
      {found.value !== undefined && (
        <Shown key={found.value.digest} approval={found.value} answered={read} />
      )}
    </>
  );
}

/** What holds an agent of the task back from answering its own question. */
const PROTECTION: Readonly<Record<ApprovalView["protection"], string>> = {
  sandbox: "steps of this task run in sandboxes and cannot answer",
  socket: "the control socket is capped, but steps outside a sandbox could write the database",
  none: "only mistakes: a step outside a sandbox could answer as the daemon's user",
};

function Shown({ approval, answered }: {
  readonly approval: ShownApproval;
  readonly answered: () => Promise<void>;
}) {
  const { task_id: task, step, workflow, ask, by, need, answers, digest, diff, ended } = approval;
  const comment = useSignal("");
  const given = useSignal<Readonly<Record<string, string>>>({});
  const command = `svc task approve ${task} ${step}`;
  const isReadOnly = typeof session.value === "object" && session.value.read_only;
  const why = ended !== null
    ? `It is over: ${ended}`
    : isReadOnly
    ? "This console is read-only: it was started with --read-only"
    : undefined;
  // A page that does not show all that is sealed leads to the command, which does.
  const notHere = diff !== null && (approval.diff_is_cut || isCutHere(diff))
    ? "This page does not show all of the change: look at it in a terminal"
    : undefined;
  const answer = (word: "approved" | "rejected") => async () => {
    const fields = word === "approved" ? { fields: given.value } : {};
    const input = { id: task, step, answer: word, digest, comment: comment.value, ...fields };
    const { text } = await call("approval.answer", input);
    await answered();
    return text;
  };
  return (
    <>
      <Title text={`${workflow}: ${step}`} back={["approvals", "Approvals"]}>
        <Chip word={ended === null ? "waiting" : "over"} />
        <Ago at={approval.opened_at} />
      </Title>
      {ended !== null && (
        <p class="verdict">
          <Text value={ended} />
        </p>
      )}
      <h2>Question</h2>
      <TextBlock value={ask} label="Question" />
      <Facts
        of={{
          "Task": <Link to={["task", task]}>{task}</Link>,
          "Who may": <Text value={by.join(", ")} />,
          "Answers": `${progressOf(approval)}${need > 1 ? ", from different people" : ""}`,
          "Missing": ended === null ? <Text value={missingIn(approval)} /> : undefined,
          "Four eyes": approval.four_eyes ? "not by those who started the task" : undefined,
          "Fails": ended === null ? <Until at={approval.due_at} /> : undefined,
          "Guards against": PROTECTION[approval.protection],
          "Digest": <code>{digest.slice(0, 8)}</code>,
        }}
      />
      {answers.length > 0 && (
        <ul aria-label="Answers">
          {answers.map((one, index) => (
            <li key={index}>
              <By called={one.by} person={one.person ?? undefined} />: {one.answer}{" "}
              <Ago at={one.at} /> <Text value={one.comment} cell />
            </li>
          ))}
        </ul>
      )}
      {diff !== null && (
        <section aria-labelledby="change-title">
          <h2 id="change-title">Change</h2>
          <PatchText text={diff} command={command} />
        </section>
      )}
      {ended === null && (
        <form class="answer" onSubmit={(event) => event.preventDefault()}>
          {Object.entries(approval.fields).map(([name, { type, default: preset, of }]) => {
            const value = given.value[name] ?? preset ?? "";
            const set = ({ currentTarget }: { currentTarget: { value: string } }) =>
              given.value = { ...given.value, [name]: currentTarget.value };
            return (
              <Field key={name} label={name}>
                {type === "choice"
                  ? (
                    <select value={value} onChange={set}>
                      {value === "" && <option value="">—</option>}
                      {(of ?? []).map((one) => <option key={one} value={one}>{one}</option>)}
                    </select>
                  )
                  : <textarea rows={4} value={value} onInput={set} />}
              </Field>
            );
          })}
          <Field label="Comment">
            <input
              value={comment.value}
              onInput={({ currentTarget }) => comment.value = currentTarget.value}
            />
          </Field>
        </form>
      )}
      <div class="actions">
        <Action
          label="Approve"
          primary
          needs="read_only"
          question="Approves what this page shows."
          command={`${command} --digest ${digest.slice(0, 8)} --yes`}
          act={answer("approved")}
          why={why ?? notHere}
        />
        <Action
          label="Reject"
          needs="read_only"
          terse
          question="Rejects it: one rejection ends the question."
          command={`svc task reject ${task} ${step}`}
          act={answer("rejected")}
          why={why}
        />
      </div>
      <Command line={command} />
    </>
  );
}
