/**
 * The kind `github-check`: a check run of a commit, with annotations. Only Apps have check runs. It is
 * found again by its `external_id`, so sending it again changes nothing.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { pagesOf } from "../connections/api/pages.ts";
import { mustBeOk } from "../connections/api/forge.ts";
import { forgeKind, type ForgeSending } from "./forge_access.ts";
import { commitOf } from "./status.ts";
import type { SendResult } from "./message_kind.ts";
import { safeMarkdown } from "./safe_markdown.ts";

/** Most annotations that GitHub takes in one call; it adds those of the next call to them. */
const A_CALL = 50;
/** Most characters of a summary that GitHub takes. */
const MAX_SUMMARY = 65_535;

/** The kind `github-check`; its id is that of the run, and its commit. */
export const githubCheckKinds = forgeKind({
  output: "check",
  forges: ["github"],
  again: "harmless",
  send,
});

/** A check run at GitHub. */
interface CheckRun {
  readonly id: number;
  readonly sha: string;
  readonly externalId: string;
  /** Number of its annotations. */
  readonly annotations: number;
}

async function send(sending: ForgeSending): Promise<SendResult> {
  const { path, previousId, message, call } = sending;
  const externalId = `svc ${message.id}`;
  const annotations = annotationsOf(message.body);
  const sha = await shaOf(sending);
  const known = await knownRun(sending, { sha, externalId });
  // Annotations stay for ever, so a run that has some gets no others.
  const isOther = known !== undefined && known.externalId !== externalId;
  const goesOn = known !== undefined &&
    !(isOther && known.annotations > 0 && annotations.length > 0);
  let done = goesOn && !isOther ? known.annotations : 0;
  const first = bodyOf(sending, { externalId, part: annotations.slice(done, done + A_CALL) });
  const { data } = mustBeOk(
    await call(
      goesOn
        ? { method: "PATCH", path: `${path}/check-runs/${known.id}`, body: first }
        : { method: "POST", path: `${path}/check-runs`, body: { ...first, head_sha: sha } },
    ),
  );
  const run = toRun(data);
  if (run === undefined) throw new AppError("refused", "The server did not return the check run");
  for (done += A_CALL; done < annotations.length; done += A_CALL) {
    const body = bodyOf(sending, { externalId, part: annotations.slice(done, done + A_CALL) });
    mustBeOk(await call({ method: "PATCH", path: `${path}/check-runs/${run.id}`, body }));
  }
  return { result: "sent", externalId: `${run.id} ${previousId === "" ? sha : run.sha || sha}` };
}

/** The commit; an update stays on that of the first one. */
async function shaOf(sending: ForgeSending): Promise<string> {
  const [, sha = ""] = sending.previousId.split(" ");
  return sha === "" ? await commitOf(sending) : sha;
}

/** The run that an earlier try of this message made, else that of the message before it. */
async function knownRun(
  { path, previousId, message: { target }, call, host }: ForgeSending,
  { sha, externalId }: { readonly sha: string; readonly externalId: string },
): Promise<CheckRun | undefined> {
  const [previous = ""] = previousId.split(" ");
  const name = encodeURIComponent(String(target["name"]));
  const first = `${path}/commits/${sha}/check-runs?check_name=${name}&filter=all&per_page=100`;
  const read = async (path: string) => mustBeOk(await call({ path }));
  let before: CheckRun | undefined;
  for await (const { data } of pagesOf(first, { read, clock: host.clock })) {
    const runs = isJsonObject(data) ? data["check_runs"] : undefined;
    for (const item of Array.isArray(runs) ? runs : []) {
      const run = toRun(item);
      if (run?.externalId === externalId) return run;
      // Another App may have a run of this name.
      if (run !== undefined && String(run.id) === previous) before = run;
    }
  }
  return before;
}

function bodyOf(
  { message: { target, body } }: ForgeSending,
  { externalId, part }: { readonly externalId: string; readonly part: readonly JsonObject[] },
): JsonObject {
  const { status, conclusion } = body;
  const name = String(target["name"]);
  const title = String(body["title"] ?? "") || name;
  const summary = safeMarkdown(String(body["summary"] ?? "")).slice(0, MAX_SUMMARY);
  return {
    name,
    external_id: externalId,
    status: conclusion === undefined ? status : "completed",
    ...(conclusion === undefined ? {} : { conclusion }),
    output: { title, summary, annotations: [...part] },
  };
}

function annotationsOf({ annotations }: JsonObject): readonly JsonObject[] {
  return Array.isArray(annotations) ? annotations.filter(isJsonObject) : [];
}

function toRun(item: unknown): CheckRun | undefined {
  if (!isJsonObject(item) || typeof item["id"] !== "number") return undefined;
  const { id, head_sha: sha, external_id: externalId, output } = item;
  const count = isJsonObject(output) ? output["annotations_count"] : undefined;
  return {
    id,
    sha: typeof sha === "string" ? sha : "",
    externalId: typeof externalId === "string" ? externalId : "",
    annotations: typeof count === "number" ? count : 0,
  };
}
