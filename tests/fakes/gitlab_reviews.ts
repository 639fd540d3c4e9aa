/**
 * Reviews of merge requests of the fake GitLab: diffs, threads on their lines, and approvals.
 *
 * @module
 */

import {
  type GitLabRoute,
  type GitLabState,
  page,
  problem,
  type ProjectRequest,
} from "./gitlab.ts";
import type { GitLabMergeRequest, GitLabMergeRequests } from "./gitlab_merge_requests.ts";
import type { GitLabThreads } from "./gitlab_threads.ts";

/** A file of a diff as the API shows it. */
interface ShownDiff {
  readonly old_path: string;
  readonly new_path: string;
  readonly diff: string;
  readonly new_file: boolean;
  readonly renamed_file: boolean;
  readonly deleted_file: boolean;
}

/** Threads on lines, and approvals. */
export class GitLabReviews {
  /** Ids of the users who have approved a merge request. */
  readonly approvals = new Map<GitLabMergeRequest, Set<number>>();
  readonly #state: GitLabState;
  readonly #threads: GitLabThreads;
  readonly #mergeRequests: GitLabMergeRequests;

  constructor(state: GitLabState, threads: GitLabThreads, mergeRequests: GitLabMergeRequests) {
    this.#state = state;
    this.#threads = threads;
    this.#mergeRequests = mergeRequests;
  }

  get routes(): readonly GitLabRoute[] {
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/merge_requests\/([0-9]+)\/diffs$/,
        answer: (request) =>
          this.#with(request, async (one) => page(await this.#diffs(one), request)),
      },
      {
        in: "project",
        method: "POST",
        path: /^\/merge_requests\/([0-9]+)\/discussions$/,
        level: 10,
        answer: (request) => this.#with(request, (one) => this.#discuss(one, request)),
      },
      {
        in: "project",
        method: "GET",
        path: /^\/merge_requests\/([0-9]+)\/approvals$/,
        answer: (request) => this.#with(request, (one) => Response.json(this.#shown(one, request))),
      },
      {
        in: "project",
        method: "POST",
        path: /^\/merge_requests\/([0-9]+)\/approve$/,
        level: 30,
        answer: (request) => this.#with(request, (one) => this.#approve(one, request)),
      },
    ];
  }

  #with(
    { project, match: [iid] }: ProjectRequest,
    answer: (one: GitLabMergeRequest) => Response | Promise<Response>,
  ): Response | Promise<Response> {
    const one = this.#mergeRequests.find(project.id, Number(iid));
    return one === undefined ? problem(404, "Not found") : answer(one);
  }

  async #diffs({ project, base = "", sha }: GitLabMergeRequest): Promise<readonly ShownDiff[]> {
    const all = await this.#state.git.run(project.path, "diff", "-M", "--no-color", base, sha);
    return all.split(/^diff --git /m).slice(1).map((file) => {
      const from = /^--- (?:a\/)?(.*)$/m.exec(file)?.[1] ?? "";
      const to = /^\+\+\+ (?:b\/)?(.*)$/m.exec(file)?.[1] ?? "";
      const at = file.search(/^@@ /m);
      const [new_file, deleted_file] = [from === "/dev/null", to === "/dev/null"];
      const [old_path, new_path] = [new_file ? to : from, deleted_file ? from : to];
      const diff = at === -1 ? "" : `${file.slice(at).trimEnd()}\n`;
      return { old_path, new_path, diff, new_file, deleted_file, renamed_file: from !== to };
    });
  }

  async #discuss(
    one: GitLabMergeRequest,
    { body: { body, position }, user }: ProjectRequest,
  ): Promise<Response> {
    if (typeof body !== "string") {
      return Response.json({ error: "body is missing" }, { status: 400 });
    }
    const where = position as Record<string, unknown> | undefined;
    if (where !== undefined && !await this.#isOnLine(one, where)) {
      const message =
        '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}';
      return Response.json({ message }, { status: 400 });
    }
    const text = this.#threads.withoutActions(body, user, `merge_requests/${one.thread.iid}`);
    const note = this.#threads.note(one.thread, user, text, {
      ...where !== undefined && { position: where },
    });
    const notes = [this.#threads.shownNote(note)];
    return Response.json({ id: `${note.id}`.padStart(40, "d"), individual_note: false, notes }, {
      status: 201,
    });
  }

  /** Whether the diff has a line: an added one is named by its new number, a removed one by its old. */
  async #isOnLine(
    one: GitLabMergeRequest,
    { base_sha, start_sha, head_sha, position_type, old_path, new_path, ...line }: Record<
      string,
      unknown
    >,
  ): Promise<boolean> {
    const isDiff = base_sha === one.base && start_sha === one.base && head_sha === one.sha;
    const file = (await this.#diffs(one)).find((file) =>
      file.old_path === old_path && file.new_path === new_path
    );
    if (!isDiff || position_type !== "text" || file === undefined) return false;
    let [left, right] = [0, 0];
    for (const text of file.diff.split("\n")) {
      const header = /^@@ -(\d+)\S* \+(\d+)\S* @@/.exec(text);
      if (header !== null) [left, right] = [Number(header[1]), Number(header[2])];
      else if (/^[ +-]/.test(text)) {
        const isOld = text[0] !== "+";
        const isNew = text[0] !== "-";
        const [old_line, new_line] = [isOld ? left : undefined, isNew ? right : undefined];
        if (line["old_line"] === old_line && line["new_line"] === new_line) return true;
        if (isOld) left++;
        if (isNew) right++;
      }
    }
    return false;
  }

  #shown(one: GitLabMergeRequest, { user }: ProjectRequest) {
    const by = [...this.approvals.get(one) ?? []];
    return {
      iid: one.thread.iid,
      approved: by.length > 0,
      user_has_approved: by.includes(user.id),
      user_can_approve: !by.includes(user.id) && one.thread.author.id !== user.id,
      approved_by: by.map((id) => ({ user: this.#state.shownUser(id) })),
    };
  }

  #approve(one: GitLabMergeRequest, request: ProjectRequest): Response {
    const { body: { sha }, user } = request;
    if (sha !== undefined && sha !== one.sha) {
      const message = `SHA does not match HEAD of source branch: ${one.sha}`;
      return Response.json({ message }, { status: 409 });
    }
    if (!this.#shown(one, request).user_can_approve) return problem(401, "Unauthorized");
    this.approvals.set(one, new Set([...this.approvals.get(one) ?? [], user.id]));
    return Response.json(this.#shown(one, request), { status: 201 });
  }
}
