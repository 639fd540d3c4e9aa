import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { backUp } from "../../src/upkeep/back_up.ts";
import { check } from "../../src/upkeep/check.ts";
import { filesIn, finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";

/** What a check of the database finds, with nobody else there. */
async function checked(rig: UpkeepRig, file = rig.dirs.database) {
  return (await finish(check({ file, alone: true }, rig.dirs))).result;
}

Deno.test("check finds nothing wrong with a sound database, and leaves nothing beside it", async () => {
  await using rig = await upkeepRig();
  const before = filesIn(rig.dirs.root);
  const { faults, notes, bytes } = await checked(rig);
  deepEqual([faults, notes], [[], []]);
  equal(bytes, (await Deno.stat(rig.dirs.database)).size);
  deepEqual(filesIn(rig.dirs.root), before);
});

const INTO_WAITS =
  "INSERT INTO waits (task_id, position, round, part, project, kind, state, asked, " +
  "due_at, is_relative, opened_at, over_at, result)";

const IMPOSSIBLE: readonly {
  readonly name: string;
  readonly sql: string;
  readonly says: RegExp;
}[] = [
  {
    name: "a step of no task",
    sql:
      "INSERT INTO steps (task_id, position, id, state, reason) VALUES ('T', 0, 'a', 'failed', '')",
    says: /steps of tasks that do not exist: T$/,
  },
  { name: "a task whose plan is gone", sql: "DELETE FROM plans", says: /plan is gone/ },
  {
    name: "a task that waits without a plan",
    sql: "UPDATE tasks SET plan_hash = NULL",
    says: /without a plan/,
  },
  { name: "a task in no state", sql: "UPDATE tasks SET state = 'lost'", says: /in no state/ },
  {
    name: "a task that has ended at no time",
    sql: "UPDATE tasks SET state = 'failed'",
    says: /contradict each other/,
  },
  {
    name: "a task that waits although it has ended",
    sql: "UPDATE tasks SET finished_at = 7",
    says: /contradict each other/,
  },
  {
    name: "a step that runs in a task that does not",
    sql: `INSERT INTO steps (task_id, position, id, state, reason)
          SELECT id, 0, 'a', 'running', '' FROM tasks LIMIT 1`,
    says: /steps that run in tasks that do not/,
  },
  {
    name: "a step that waits in a task that has ended",
    sql: `UPDATE tasks SET state = 'failed', finished_at = 1;
          INSERT INTO steps (task_id, position, id, state, reason)
          SELECT id, 0, 'a', 'waiting', '' FROM tasks LIMIT 1`,
    says: /steps that wait in tasks that have ended: 01J/,
  },
  {
    name: "the end of no task",
    sql: "INSERT INTO task_ends VALUES ('T')",
    says: /There are unhandled ends of tasks that do not exist/,
  },
  {
    name: "the turn of a task that has ended",
    sql: `INSERT INTO turns (task_id, position, project, agent, state, place)
          VALUES ('T', 0, 'default', 'claude', 'held', 1)`,
    says: /There are turns of agents of tasks that have ended or do not exist: T/,
  },
  {
    name: "something that is set aside for no run",
    sql: `INSERT INTO turns (task_id, position, project, agent, state, place, run)
          VALUES ('T', 0, 'default', 'claude', 'waiting', 1, 'r')`,
    says: /budgets have something set aside for no run: T/,
  },
  {
    name: "a budget of which less than nothing was used",
    sql: `INSERT INTO spend (project, scope, unit, per, starts_at, ends_at, spent, unknown, told)
          VALUES ('default', 'agent/claude', 'usd', 'day', 1, 2, -1, 0, 0)`,
    says: /budgets that no run can have left so: default agent\/claude/,
  },
  {
    name: "a task that has read more than it was told",
    sql: "UPDATE tasks SET read_up_to = 1",
    says: /There are tasks that have read, or are to get, more than they were told: 01J/,
  },
  {
    name: "a task whose next message has the place of another",
    sql: "INSERT INTO inbox SELECT id, 0, '{}', 1 FROM tasks",
    says: /There are tasks that have read, or are to get, more than they were told: 01J/,
  },
  {
    name: "a conversation with no task",
    sql: "INSERT INTO conversations VALUES (x'00', 'C', 'default', 'pr', 'k', 'T', 1, 1)",
    says: /There are conversations with tasks that do not exist: C/,
  },
  {
    name: "a waiting task that nothing wakes",
    sql: "UPDATE tasks SET state = 'waiting', started_at = 1",
    says: /There are tasks that wait for nothing, so they never go on: 01J/,
  },
  {
    name: "a waiting task that has never begun",
    sql: "UPDATE tasks SET state = 'waiting', run_at = 1",
    says: /There are tasks that wait and cannot: 01J/,
  },
  {
    name: "a waiting task that is to be stopped, and its wait is open",
    sql: `UPDATE tasks SET state = 'waiting', started_at = 1, cancel_reason = 'no';
          ${INTO_WAITS} SELECT id, 0, 1, 0, project, 'time', 'open', '{}', 9, 0, 1, NULL, NULL FROM tasks`,
    says: /There are tasks that wait and cannot: 01J/,
  },
  {
    name: "an open wait of a task that has ended",
    sql: `UPDATE tasks SET state = 'failed', finished_at = 1;
          ${INTO_WAITS} SELECT id, 0, 1, 0, project, 'time', 'open', '{}', 9, 0, 1, NULL, NULL FROM tasks`,
    says: /There are waits of tasks that do not exist, or open ones of ended tasks: 01J/,
  },
  {
    name: "the wait of no task",
    sql: `${INTO_WAITS} VALUES ('T', 0, 1, 0, 'default', 'time', 'over', '{}', 9, 0, 1, 2, '{}')`,
    says: /There are waits of tasks that do not exist, or open ones of ended tasks: T/,
  },
  {
    name: "a wait for an event that has no key",
    sql:
      `${INTO_WAITS} SELECT id, 0, 1, 0, project, 'event', 'over', '{}', 9, 0, 1, 2, NULL FROM tasks`,
    says: /There are waits for events that no event can end: 01J/,
  },
  {
    name: "half the key of a wait for an event",
    sql:
      `${INTO_WAITS} SELECT id, 0, 1, 0, project, 'approval', 'over', '{}', 9, 0, 1, 2, NULL FROM tasks;
          UPDATE waits SET shape = 's', digest = 'd'`,
    says: /There are waits for events that no event can end: 01J/,
  },
  {
    name: "a wait that is over at no time",
    sql:
      `${INTO_WAITS} SELECT id, 0, 1, 0, project, 'time', 'over', '{}', 9, 0, 1, NULL, '{}' FROM tasks`,
    says: /There are waits that are over and open at once: 01J/,
  },
  {
    name: "a delivery that ended a wait for none",
    sql:
      `${INTO_WAITS} SELECT id, 0, 1, 0, project, 'time', 'over', '{}', 9, 0, 1, 2, '{}' FROM tasks;
          UPDATE waits SET delivery_id = 'D'`,
    says: /There are waits that are over and open at once: 01J/,
  },
  {
    name: "the pack of a message that was sent",
    sql: `INSERT INTO outbox VALUES ('M', 'default', 'c', 'github-pull', '{}', '', '{}', '',
            'lane', 'sent', 0, 0, NULL, NULL, '', '', 1, 1);
          INSERT INTO outbox_content VALUES ('M', 'pack', 0, x'00')`,
    says: /There are long parts of messages that are over or do not exist: M/,
  },
  {
    name: "an audit row from outside",
    sql: `INSERT INTO plugin_audit (id, created_at, action, crd_kind, plugin_name, command, result,
            plugin_type, phase, "trigger", delivery_id, stderr, role, policy_mode)
          VALUES ('A', '', 'apply', '', '', '', 'allowed', '', '', '', '', '', '', '')`,
    says: /^Audit: Row A was added from outside/,
  },
];

for (const { name, sql, says } of IMPOSSIBLE) {
  Deno.test(`check finds ${name}`, async () => {
    await using rig = await upkeepRig();
    rig.change(sql);
    const { faults } = await checked(rig);
    match(faults.join("\n"), new RegExp(says, "m"));
  });
}

Deno.test("check lists some of many and says that there are more", async () => {
  await using rig = await upkeepRig(40);
  rig.change("UPDATE tasks SET state = 'lost', finished_at = 1");
  const { faults } = await checked(rig);
  equal(faults.length, 1);
  match(faults[0] ?? "", /( 01J\w+,){19} 01J\w+ and more$/);
});

Deno.test("check finds damaged pages, and says of another file that it is not a database", async () => {
  await using rig = await upkeepRig(200);
  const bytes = await Deno.readFile(rig.dirs.database);
  const damaged = join(rig.elsewhere, "damaged.db");
  await Deno.writeFile(damaged, new Uint8Array(bytes).fill(0xa5, bytes.length / 2));
  match((await checked(rig, damaged)).faults[0] ?? "", /^(Damaged|It cannot be read)/);
  const letter = join(rig.elsewhere, "letter.db");
  await Deno.writeTextFile(letter, "no database ".repeat(1000));
  match((await checked(rig, letter)).faults[0] ?? "", /cannot be read.*not a database/);
  const other = join(rig.elsewhere, "other.db");
  rig.change(
    `ATTACH '${other}' AS other; CREATE TABLE other.t (a); PRAGMA other.user_version = 2;`,
  );
  deepEqual((await checked(rig, other)).faults, ["It is not a database of svc"]);
});

Deno.test("check finds a database of a newer svc", async () => {
  await using rig = await upkeepRig();
  rig.change("PRAGMA user_version = 9999");
  match((await checked(rig)).faults[0] ?? "", /newer svc \(schema 9999/);
});

Deno.test("check finds secrets that the key does not open, and a key that is gone", async () => {
  await using rig = await upkeepRig();
  await Deno.writeTextFile(rig.dirs.secretKey, newKeyFile());
  match(
    (await checked(rig)).faults.join(),
    /SecretStore "github" key "current" was sealed with key/,
  );
  await Deno.remove(rig.dirs.secretKey);
  match((await checked(rig)).faults.join(), /secretstore\.key" cannot be used/);
});

Deno.test("check notes tasks that were running, which is no fault: a daemon takes them up", async () => {
  await using rig = await upkeepRig();
  {
    await using store = await rig.open();
    await store.claimTasks(1, 5);
  }
  const { faults, notes } = await checked(rig);
  deepEqual([faults, notes], [[], ["1 tasks were running: they continue when a daemon starts"]]);
  const { result } = await finish(check({ file: rig.dirs.database, alone: false }, rig.dirs));
  deepEqual(result.notes, []);
});

Deno.test("check works while the store is open and written to, and on a copy", async () => {
  await using rig = await upkeepRig();
  await using _store = await rig.open();
  const { result } = await finish(check({ file: rig.dirs.database, alone: false }, rig.dirs));
  deepEqual(result.faults, []);
  const file = join(rig.elsewhere, "copy.db");
  await finish(backUp({ file, force: false }, rig.dirs));
  deepEqual((await finish(check({ file, alone: false }, rig.dirs))).result.faults, []);
  deepEqual(filesIn(rig.elsewhere), ["copy.db"]);
});
