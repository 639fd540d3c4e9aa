/**
 * Questions of approvals and the answers to them, written once for both databases: the table
 * `wait_answers` over those of waits. `rules/approvals.ts` decides what an answer means.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  Answer,
  AnswerResult,
  AnswerSurface,
  Approval,
  ApprovalPlace,
  AskedAnswer,
  AskedApproval,
  StoredAnswer,
} from "../approval_records.ts";
import { answersThatCount, decideAnswer } from "../rules/approvals.ts";
import { decideWait } from "../rules/waits.ts";
import type { AnsweredEnd, ListedWait, Wait, WaitPlace, WaitQuery } from "../wait_records.ts";
import { json, number, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import {
  end,
  findWait,
  goesOn,
  listWaits,
  newestRound,
  PLACE,
  placeOf,
  stepOf,
  toPlace,
  type WaitHost,
} from "./waits.ts";

/** Counts an answer, and lets the task go on if that decides; of those who answer at once, one decides. */
export const answerWait = <Db extends SqlSession>(host: Omit<WaitHost<Db>, "checkClaim">) =>
async (
  db: Db,
  answer: AskedAnswer,
): Promise<AnswerResult> => {
  await host.lockTask(db, answer.taskId);
  const wait = await findWait(db, answer);
  const part = wait?.parts.findIndex(({ kind }) => kind === "approval") ?? -1;
  const asked = wait?.parts[part]?.asked as AskedApproval | undefined;
  if (wait === undefined || asked === undefined) return { is: "none" };
  if (wait.end?.by === "task" || wait.end === undefined && !await goesOn(db, answer.taskId)) {
    return { is: "ended" };
  }
  const { now } = answer;
  const due = wait.end === undefined ? decideWait(wait, now) : undefined;
  // Its time has come, and the answer is late, also if nothing has woken the task yet.
  if (due?.is === "over") {
    await end(db, { ...toPlaceOf(wait), part: due.part, end: due.end, now });
    await host.wake(db, answer.taskId, now);
    return { is: "was over", end: { ...due.end, at: now, part: due.part } };
  }
  const answers = answersThatCount(await answersOf(db, answer), answer);
  const decision = decideAnswer({ asked, answers, answer, ...defined({ end: wait.end }) });
  const { result, stored } = decision;
  if (stored !== undefined) await storeAnswer(db, answer, stored, answer.gone);
  if (stored === undefined || result.is !== "over") return result;
  const decided = toEnd([...answers.filter(({ key }) => key !== stored.key), stored], stored);
  await end(db, { ...toPlaceOf(wait), part, end: decided, now });
  await host.wake(db, answer.taskId, now);
  return result;
};

const toPlaceOf = ({ taskId, position, round }: WaitPlace) => ({ taskId, position, round });

/** How a question ends with its last answer. */
function toEnd(answers: readonly StoredAnswer[], last: StoredAnswer): AnsweredEnd {
  const { answer, comment, fields, forced } = last;
  const those = answer === "rejected" || forced !== undefined
    ? [last]
    : answers.filter((one) => one.answer === "approved");
  const who = those.map(({ called }) => called);
  return { by: "answer", answer, who, comment, fields, ...defined({ forced }) };
}

async function storeAnswer(
  db: SqlSession,
  place: WaitPlace,
  one: StoredAnswer,
  gone: readonly string[],
): Promise<void> {
  await db.run(
    `DELETE FROM wait_answers WHERE ${PLACE} AND giver IN (SELECT value FROM json_each(?))`,
    ...placeOf(place),
    JSON.stringify([one.key, ...gone]),
  );
  await db.run(
    `INSERT INTO wait_answers (task_id, position, round, giver, person, identity, called, answered_at,
       surface, answer, comment, given, forced) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...placeOf(place),
    one.key,
    one.person ?? null,
    one.identity ?? null,
    one.called,
    one.at,
    one.surface,
    one.answer,
    one.comment,
    JSON.stringify(one.fields),
    one.forced ?? null,
  );
}

async function answersOf(db: SqlSession, place: WaitPlace): Promise<StoredAnswer[]> {
  const rows = await db.all(
    `SELECT * FROM wait_answers WHERE ${PLACE}`,
    ...placeOf(place),
  );
  return inOrder(rows);
}

/** A question has a handful of answers. */
const inOrder = (rows: readonly Row[]) => rows.map(toAnswer).toSorted((a, b) => a.at - b.at);

function toAnswer(row: Row): StoredAnswer {
  const optional = (name: string) => row[name] === null ? undefined : text(row, name);
  return {
    key: text(row, "giver"),
    called: text(row, "called"),
    at: number(row, "answered_at"),
    surface: text(row, "surface") as AnswerSurface,
    answer: text(row, "answer") as Answer,
    comment: text(row, "comment"),
    fields: json(row, "given") as Record<string, string>,
    ...defined({
      person: optional("person"),
      identity: optional("identity"),
      forced: optional("forced"),
    }),
  };
}

/** The open questions, the one whose time ends first at the beginning, without what they show beside. */
export async function listApprovals(db: SqlSession, query: WaitQuery): Promise<Approval[]> {
  const waits = await listWaits(db, { ...query, kind: "approval" });
  if (waits.length === 0) return [];
  const rows = await db.all(
    "SELECT * FROM wait_answers WHERE task_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(waits.map(({ taskId }) => taskId)),
  );
  return waits.map((wait) => ({
    ...toApproval(wait, wait),
    answers: inOrder(rows.filter((row) => isAt(toPlace(row), wait))),
  }));
}

const isAt = (one: WaitPlace, other: WaitPlace) =>
  one.taskId === other.taskId && one.position === other.position && one.round === other.round;

function toApproval(
  named: Pick<ListedWait, "step" | "trigger" | "workflow">,
  { asked, dueAt, ...wait }:
    & Pick<ListedWait, "asked" | "dueAt" | "project" | "openedAt">
    & WaitPlace,
): Omit<Approval, "answers"> {
  const { step, trigger, workflow } = named;
  const { project, openedAt } = wait;
  const question = asked as unknown as AskedApproval;
  return { ...toPlaceOf(wait), project, step, trigger, workflow, openedAt, dueAt, asked: question };
}

/** The question of a step, open or decided, with all that it shows; the newest if no round is named. */
export async function findApproval(
  db: SqlSession,
  { taskId, position, round }: ApprovalPlace,
): Promise<Approval | undefined> {
  const place = { taskId, position, round: round ?? await newestRound(db, taskId, position) };
  const wait = await findWait(db, place);
  const index = wait?.parts.findIndex(({ kind }) => kind === "approval") ?? -1;
  const part = wait?.parts[index];
  if (wait === undefined || part === undefined) return undefined;
  const row = await db.get(
    `SELECT waits.shown, tasks."trigger", tasks.workflow, plans.plan FROM waits
     JOIN tasks ON tasks.id = waits.task_id JOIN plans ON plans.hash = tasks.plan_hash
     WHERE ${PLACE} AND part = ?`,
    ...placeOf(place),
    index,
  );
  if (row === undefined) return undefined;
  const named = {
    step: stepOf(row, place),
    trigger: text(row, "trigger"),
    workflow: text(row, "workflow"),
  };
  const diff = row["shown"] === null ? undefined : text(row, "shown");
  return {
    ...toApproval(named, { ...place, ...pick(wait, part) }),
    answers: await answersOf(db, place),
    ...defined({ diff, end: wait.end }),
  };
}

const pick = ({ project, openedAt }: Wait, { asked = {}, dueAt }: Wait["parts"][number]) => ({
  project,
  openedAt,
  asked,
  dueAt,
});

/** When the oldest open question was asked, in milliseconds since the epoch. */
export async function oldestApproval(db: SqlSession): Promise<number | undefined> {
  const row = await db.get(
    `SELECT min(opened_at) AS at FROM waits ${db.dialect.indexedBy("waits_open")}
     WHERE state = 'open' AND kind = 'approval'`,
  );
  return row === undefined || row["at"] === null ? undefined : number(row, "at");
}
