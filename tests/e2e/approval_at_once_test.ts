/**
 * One approval, asked and answered everywhere at once: a token in a terminal, the console, buttons in
 * Slack and comments at GitHub or GitLab. There is one effect, everybody is told the truth, what people see outside
 * says the end, and the audit has each try.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { type Client, connect } from "../../src/api/client.ts";
import type { Input } from "../../src/api/operations.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { defined } from "../../src/base/defined.ts";
import { messageOf } from "../../src/base/errors.ts";
import { fakeGitHub } from "../fakes/github.ts";
import { type FakeSlack, fakeSlack } from "../fakes/slack.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import type { Manifest } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { until } from "../helpers/until.ts";
import { type Asked, Site } from "../rigs/approval_gitlab.ts";
import {
  askedAtGitHub,
  asking,
  click,
  clickBody,
  comment,
  fromGitHub,
  fromSlack,
  notes,
  ours,
  postsOf,
  questionOf,
  withIssue,
} from "../rigs/approval_surfaces.ts";

/** Who answers where. */
const PEOPLE = {
  terminal: ["t1", "t2"],
  console: ["c1", "c2"],
  slack: ["s1", "s2", "s3"],
  forge: ["g1", "g2", "g3"],
} as const;
const NAMES = Object.values(PEOPLE).flat();

/** The number of a person at a forge. */
const numberOf = (name: string) => 700 + NAMES.findIndex((one) => one === name);
const slackUserOf = (name: string) => `U0${name.toUpperCase()}`;

function people({ identity }: Forge): Manifest[] {
  return NAMES.map((name) => {
    const is = [`${identity}/${numberOf(name)}`, `slack:T0001/${slackUserOf(name)}`];
    return { kind: "Person", metadata: { name }, spec: { role: "read_only", groups: ["ops"], is } };
  });
}

/** Where the question stands in a thread. */
interface Forge extends AsyncDisposable {
  readonly daemon: TestDaemon;
  /** What stands before the numbers of its users in identities. */
  readonly identity: string;
  /** Starts the task; returns the code of its question. */
  ask(): Promise<string>;
  /** Comments in the thread. */
  say(name: string, text: string): Promise<void>;
  /** The comments of svc. */
  ours(): string[];
}

async function atGitHub(asked: Asked): Promise<Forge> {
  await using opened = new AsyncDisposableStack();
  const fake = withIssue(opened.use(fakeGitHub()));
  const daemon = opened.use(await startDaemon(ONE_PROGRAM));
  await daemon.apply(asking(asked), ...fromGitHub(fake));
  const open = opened.move();
  return {
    daemon,
    identity: `github:${new URL(fake.url).host}`,
    ask: () => askedAtGitHub(daemon, fake),
    async say(name, text) {
      const user = { login: name, id: numberOf(name), type: "User" };
      equal(await comment(daemon, fake, `/${text}`, { user }), 200);
    },
    ours: () => ours(fake),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function atGitLab(asked: Asked): Promise<Forge> {
  const userOf = (name: string) => ({ username: name, id: numberOf(name) });
  const site = await Site.open(ONE_PROGRAM, asked, PEOPLE.forge.map(userOf));
  return {
    daemon: site.daemon,
    identity: `gitlab:${new URL(site.gitlab.url).host}`,
    ask: () => site.ask(),
    say: async (name, text) => void await site.say(userOf(name), text),
    ours: () => site.ours(),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

/** A client with the token of a person. */
async function as(daemon: TestDaemon, person: string) {
  using admin = daemon.client();
  const asked = { person, ttl_secs: 600, name: `of-${person}` };
  const { token } = await admin.call("token.create", asked);
  return connect({ socket: dataDirAt(daemon.dataDir).socket }, token);
}

/** Answers by a client as a command does, or as the console has it forwarded; returns what was said. */
async function answerBy(
  client: Client,
  answer: Input<"approval.answer">,
  isConsole: boolean,
): Promise<string> {
  if (!isConsole) {
    return await client.call("approval.answer", answer).then(({ text }) => text, messageOf);
  }
  const call = { name: "approval.answer", body: JSON.stringify(answer), by: "console" } as const;
  const response = await client.forward(call, new AbortController().signal);
  const { text, detail } = await response.json();
  return text ?? detail;
}

interface Everywhere {
  readonly forge: Forge;
  readonly slack: FakeSlack;
  readonly id: string;
  readonly code: string;
}

/** Has everybody answer at once; returns what those were told who got an answer at once, by name. */
async function answerAtOnce(
  { forge, slack, id, code }: Everywhere,
  says: (name: string) => "approved" | "rejected",
): Promise<Map<string, string>> {
  const { daemon } = forge;
  using admin = daemon.client();
  const { digest } = await admin.call("approval", { id });
  const told = new Map<string, string>();
  using clients = new DisposableStack();
  const called = await Promise.all(
    [...PEOPLE.terminal, ...PEOPLE.console].map(async (name) => ({
      name,
      client: clients.use(await as(daemon, name)),
      isConsole: name.startsWith("c"),
    })),
  );
  const at = await questionOf(slack, 1);
  await Promise.all([
    ...called.map(async ({ name, client, isConsole }) => {
      const answer = { id, answer: says(name), digest };
      told.set(name, await answerBy(client, answer, isConsole));
    }),
    ...PEOPLE.slack.map(async (name) => {
      const button = says(name) === "approved" ? at.approve : at.reject;
      equal(await click(daemon, clickBody(button, at, { user: slackUserOf(name) })), 200);
    }),
    ...PEOPLE.forge.map((name) =>
      forge.say(name, `${says(name) === "approved" ? "approve" : "reject"} ${code}`)
    ),
  ]);
  return told;
}

/** What the audit has of the answers, by who gave them. */
async function audited(daemon: TestDaemon): Promise<Map<string, string>> {
  using admin = daemon.client();
  const { items } = await admin.call("get", { what: "control-audits", limit: 500 });
  const rows = items as unknown as readonly {
    operation: string;
    caller: string;
    result: string;
    target: string;
  }[];
  const answers = rows.filter(({ operation }) => operation === "approval.answer");
  return new Map(answers.map(({ caller, result, target }) => [`${caller}`, `${result} ${target}`]));
}

const CASES: readonly {
  readonly what: string;
  readonly open?: typeof atGitLab;
  readonly need: number;
  readonly says: (name: string) => "approved" | "rejected";
}[] = [
  { what: "one approval is enough", need: 1, says: () => "approved" },
  { what: "two have to approve", need: 2, says: () => "approved" },
  {
    what: "half of them reject",
    need: 1,
    says: (name) => name.endsWith("1") ? "rejected" : "approved",
  },
  { what: "GitLab among them", open: atGitLab, need: 2, says: () => "approved" },
];

for (const { what, need, says, open = atGitHub } of CASES) {
  const test = async () => {
    await using slack = fakeSlack();
    const told = ["thread", { slack: { connection: "chat", channel: "C0001" } }];
    await using forge = await open({ by: ["@ops"], need, tell: told });
    const { daemon } = forge;
    const shown = () => forge.ours()[0] ?? "";
    await daemon.apply(...people(forge), ...fromSlack(slack));
    const code = await forge.ask();
    await until("the post", () => postsOf(slack)[0]);
    const [asked] = await daemon.tasks();
    const id = asked?.id ?? "";
    const answers = await answerAtOnce({ forge, slack, id, code }, says);
    const [task] = await daemon.settled();
    equal((await daemon.tasks()).length, 1, "no answer starts a task");
    // One effect, which the step, its task and each surface call the same.
    using admin = daemon.client();
    const { answers: counted, ended } = await admin.call("approval", { id, step: "ok" });
    const end = counted.at(-1)?.answer ?? "";
    equal(counted.length, end === "rejected" ? 1 : need);
    equal(new Set(counted.map(({ person }) => person)).size, counted.length);
    equal(task?.state, end === "approved" ? "succeeded" : "failed");
    const said = `${end} by ${counted.map(({ by }) => by).join(" and ")}`;
    match(task?.steps[0]?.reason ?? "", new RegExp(`^${said.replaceAll(/[()]/g, "\\$&")}`));
    ok((ended ?? "").includes(counted[0]?.by ?? "?"), ended ?? "");

    // Who counted was told so, and everybody else who has decided.
    const names = counted.map(({ person }) => person);
    for (const [name, text] of answers) {
      if (names.includes(name)) {
        match(text, /, and the task goes on|your answer counts, 1 of 2/, name);
      } else match(text, /^It is decided since .*: /, name);
    }
    await until("a note to each who clicked", () => notes(slack).length === 3 || undefined);
    for (const name of PEOPLE.slack) {
      const note = notes(slack).find((one) => one.startsWith(slackUserOf(name))) ?? "";
      const expected = names.includes(name) ? /goes on|counts/ : /It is decided since/;
      match(note, expected, name);
    }
    // What people see says the end, and asks nobody any more.
    await until("the comment of the end", () => shown().startsWith(`**${said}`) || undefined);
    ok(!shown().includes(`approve ${code}`));
    const update = await until(
      "the post of the end",
      () => slack.calls.findLast(({ method }) => method === "chat.update"),
    );
    ok(JSON.stringify(update.body).includes(said), JSON.stringify(update.body));
    ok(!JSON.stringify(update.body).includes("svc-approve"));

    // A row for each answer, those that came too late as refused.
    const rows = await until("a row of each", async () => {
      const found = await audited(daemon);
      const callers = [...found.keys()].map((caller) => caller.split(" ")[0]);
      return NAMES.every((name) => callers.includes(name)) ? found : undefined;
    });
    const done = [...rows.values()].filter((row) => row.startsWith("done"));
    equal(done.length, counted.length, [...rows].join("\n"));
    equal([...rows.values()].filter((row) => row.endsWith(" console")).length, 2);
  };
  const skip = open === atGitLab ? missing("git") : undefined;
  programTest(`ten answers at once from four surfaces, ${what}`, test, defined({ skip }));
}
