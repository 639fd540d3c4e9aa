/**
 * One small prompt to an Agent, through its own command, its sandbox and its adapter: whether it is logged
 * in, or what kept it from answering.
 *
 * @module
 */

import { shortDuration } from "../../base/duration.ts";
import { plainOutput } from "../../base/output_text.ts";
import { failed, type Finding, ok, warning } from "../../doctor/check.ts";
import { envReferences } from "../../resources/env.ts";
import { networkReferences } from "../../resources/network.ts";
import { Capture } from "../../shell/capture.ts";
import { judgeExit } from "../../tasks/run/attempt_step.ts";
import { AgentOutput, type ProcessEnd, withTokens } from "../../tasks/step/agent_output.ts";
import type { AgentRun, AgentScene } from "./agent_scene.ts";

/** The word that the agent is to say. */
const WORD = "ready";
const PROMPT = `Answer with the single word: ${WORD}`;

/** Longest time for the answer: agents try again for a while when a limit is reached. */
const [ANSWER_MS, ANSWER_TIME] = [120_000, "2m"];
/** Most bytes of an output that are looked at. */
const MOST_BYTES = 256 * 1024;
/** Most characters of what the agent said. */
const MOST_SHOWN = 300;

/** Asks an agent, and says how it went; nothing when `signal` has ended that. */
export async function askAgent(scene: AgentScene, signal: AbortSignal): Promise<Finding[]> {
  const { agent, host: { clock } } = scene;
  const printed = { out: new Capture(MOST_BYTES), err: new Capture(MOST_BYTES) };
  const said = new AgentOutput(agent, {
    write(stream, chunk) {
      if (stream !== "raw") printed[stream].add(chunk);
      return Promise.resolve();
    },
    note: () => Promise.resolve(),
  }, clock);
  const startedAt = clock.monotonicMs();
  const run = await scene.run({
    line: agent.command,
    prompt: PROMPT,
    timeoutMs: ANSWER_MS,
    signal,
    onOutput: (stream, chunk) => said.write(stream, chunk),
  });
  const took = shortDuration(clock.monotonicMs() - startedAt);
  if (signal.aborted) return [];
  await said.end();
  const { exit } = run;
  if (typeof exit === "string") return [failed(exit)];
  const limit = { time: ANSWER_TIME, whose: "the limit of this check" };
  const end = said.judge(judgeExit(exit, limit), exit.code);
  const [out, err] = [lastLine(printed.out), lastLine(printed.err)];
  if (end.state === "failed") {
    const { left } = await scene.fillEnv();
    return [
      failed(await failureText(end, { scene, run, said: err || out })),
      ...left.map((name) => warning(`${name} of its env has no value without an event`)),
      ...run.notes.map((note) => warning(note)),
    ];
  }
  const { result = text(printed.out), ...outputs } = withTokens(said.outputs, agent, run.network) ??
    {};
  await scene.noteWorks();
  if (!new RegExp(`\\b${WORD}\\b`, "i").test(result)) {
    const answer = plainOutput(result, MOST_SHOWN);
    return [warning(`it ended well, but "${WORD}" is not in its answer: ${answer || "nothing"}`)];
  }
  const { tokens_in: tokensIn, tokens_out: tokensOut } = outputs;
  const tokens = (tokensIn ?? tokensOut) === undefined
    ? ""
    : `, ${tokensIn ?? "?"} tokens in and ${tokensOut ?? "?"} out`;
  return [ok(`it is logged in, and answered after ${took}${tokens}`)];
}

/** Why it did not answer, and what helps. */
async function failureText(
  { reason, failure }: ProcessEnd,
  { scene, run, said }: {
    readonly scene: AgentScene;
    readonly run: AgentRun;
    readonly said: string;
  },
): Promise<string> {
  const at = run.limits.length === 0 ? "" : `, at its limit of ${run.limits.join(" and ")}`;
  const told = failure === undefined && said !== "" ? `: ${said}` : "";
  const remedy = failure === "auth" ? `; ${await loginRemedy(scene)}` : "";
  return `${reason}${at}${told}${remedy}`;
}

async function loginRemedy(scene: AgentScene): Promise<string> {
  const references = [
    ...networkReferences(await scene.network(), []),
    ...envReferences(scene.agent.env, []),
  ];
  const [first] = references;
  if (first !== undefined) {
    const { name, secretKey = "" } = first;
    return `another key: ${scene.command(`svc secret set ${name} ${secretKey}`)}`;
  }
  const choice = await scene.choose();
  return "sandbox" in choice
    ? "a login in the home directory is not in its sandbox: use a package, which has a key, or name " +
      "its files in read"
    : "log in as the user of the daemon";
}

function text(capture: Capture): string {
  return new TextDecoder().decode(capture.bytes());
}

/** The last line with something on it. */
function lastLine(capture: Capture): string {
  const last = text(capture).trimEnd().split("\n").at(-1) ?? "";
  return plainOutput(last, MOST_SHOWN);
}
