/**
 * Merge requests of the fake GitLab over real repositories, with branches, comparisons and trees; the
 * events of merge requests go to its webhooks. What they share with issues is in `gitlab_threads.ts`.
 *
 * @module
 */

import {
  type GitLabProject,
  type GitLabPush,
  type GitLabRoute,
  type GitLabState,
  type GitLabUser,
  page,
  problem,
  type ProjectRequest,
  wrongParameter,
} from "./gitlab.ts";
import type { GitLabThread, GitLabThreads } from "./gitlab_threads.ts";

/** A merge request. Its title, text, state and labels are those of its thread. */
export interface GitLabMergeRequest {
  readonly thread: GitLabThread;
  readonly project: GitLabProject;
  readonly source: GitLabProject;
  readonly source_branch: string;
  target_branch: string;
  /** Newest commit of the source branch; the last one if the branch is gone. */
  sha: string;
  /** Message of that commit. */
  message: string;
  reviewers: number[];
  /** Commit from which its diff goes; not known while GitLab prepares it. */
  base: string | undefined;
  closed_at: string | null;
  merged_at: string | null;
}

/** What `open` is given. */
export interface NewMergeRequest {
  readonly user: GitLabUser;
  readonly branch: string;
  /** `main` if absent. */
  readonly target?: string;
  /** Path of the fork that the branch is in. */
  readonly from?: string;
  readonly title?: string;
  readonly description?: string;
}

/** What makes a draft. */
const DRAFT = /^(\[draft\]|\(draft\)|draft:)/i;

/** Merge requests, and the repositories that they read. */
export class GitLabMergeRequests {
  readonly all: GitLabMergeRequest[] = [];
  /** Projects of a plan with one reviewer: the others are left out without a word. */
  readonly oneReviewer = new Set<number>();
  readonly #state: GitLabState;
  readonly #threads: GitLabThreads;

  constructor(state: GitLabState, threads: GitLabThreads) {
    this.#state = state;
    this.#threads = threads;
    threads.shownPull = (thread) => {
      const one = this.all.find((one) => one.thread === thread);
      return one === undefined ? threads.payloadOf(thread) : this.payloadOf(one);
    };
  }

  find(project: number, iid: number): GitLabMergeRequest | undefined {
    return this.all.find((one) => one.project.id === project && one.thread.iid === iid);
  }

  /** Opens a merge request as a user. */
  async open(path: string, given: NewMergeRequest): Promise<GitLabMergeRequest> {
    const project = this.#state.projectAt(path);
    const source = given.from === undefined ? project : this.#state.projectAt(given.from);
    if (project === undefined || source === undefined) throw new Error(`No project ${path}`);
    const made = await this.#open({ project, source, target: "main", title: "A change", ...given });
    if (made instanceof Response) throw new Error(await made.text());
    return made;
  }

  /** Closes a merge request, or merges it into its target. */
  async close(one: GitLabMergeRequest, user: GitLabUser, merged = false): Promise<void> {
    const { thread } = one;
    thread.state = merged ? "merged" : "closed";
    thread.updated_at = this.#state.now();
    one[merged ? "merged_at" : "closed_at"] = this.#state.now();
    if (merged) {
      const ref = `refs/heads/${one.target_branch}`;
      await this.#state.git.run(one.project.path, "update-ref", ref, one.sha);
    }
    this.#tell(merged ? "merge" : "close", one, user);
  }

  /** Gives open merge requests of a branch their new commit, and tells about it. */
  async pushed({ project, user, ref, old, now }: GitLabPush): Promise<void> {
    if (/^0+$/.test(now)) return;
    for (const one of this.all) {
      const isOf = one.source === project && `refs/heads/${one.source_branch}` === ref;
      if (!isOf || one.thread.state !== "opened") continue;
      one.sha = now;
      await this.#fetch(one);
      this.#tell("update", one, user, { oldrev: old });
    }
  }

  async #open(
    { project, source, user, branch, target, title, description = "" }: {
      readonly project: GitLabProject;
      readonly source: GitLabProject;
      readonly user: GitLabUser;
      readonly branch: string;
      readonly target: string;
      readonly title: string;
      readonly description?: string;
    },
  ): Promise<GitLabMergeRequest | Response> {
    const { git } = this.#state;
    const sha = await git.find(source.path, `refs/heads/${branch}`);
    if (sha === undefined) {
      return Response.json({ message: ['Source branch "' + branch + '" does not exist'] }, {
        status: 400,
      });
    }
    if (project === source && branch === target) {
      const message = ["You can't use same project/branch for source and target"];
      return Response.json({ message }, { status: 422 });
    }
    const same = this.all.find((one) =>
      one.project === project && one.source === source && one.source_branch === branch &&
      one.target_branch === target && one.thread.state === "opened"
    );
    if (same !== undefined) {
      const message = [
        `Another open merge request already exists for this source branch: !${same.thread.iid}`,
      ];
      return Response.json({ message }, { status: 409 });
    }
    // A target that is not there is taken.
    const thread = this.#threads.add(project, {
      kind: "merge_requests",
      author: user,
      title,
      description,
    });
    const made: GitLabMergeRequest = {
      thread,
      project,
      source,
      source_branch: branch,
      target_branch: target,
      sha,
      message: "",
      reviewers: [],
      base: undefined,
      closed_at: null,
      merged_at: null,
    };
    await this.#fetch(made);
    this.all.push(made);
    this.#tell("open", made, user);
    return made;
  }

  /** Brings the commits of a merge request to its project, where no branch has those of a fork. */
  async #fetch(one: GitLabMergeRequest): Promise<void> {
    const { git } = this.#state;
    const { project, source, thread, sha } = one;
    one.message = await git.run(source.path, "log", "-1", "--format=%B", sha);
    const ref = `refs/merge-requests/${thread.iid}/head`;
    await git.run(project.path, "fetch", "--quiet", git.directory(source.path), `+${sha}:${ref}`);
    one.base = await git.tryRun(project.path, "merge-base", one.target_branch, sha);
  }

  #tell(
    action: string,
    one: GitLabMergeRequest,
    user: GitLabUser,
    more: Readonly<Record<string, unknown>> = {},
  ): void {
    this.#state.tell({
      project: one.project,
      event: "Merge Request Hook",
      payload: {
        object_kind: "merge_request",
        event_type: "merge_request",
        user: this.#state.shownUser(user.id),
        project: this.#state.shownProject(one.project),
        object_attributes: { ...this.payloadOf(one), action, ...more },
      },
    });
  }

  /** A merge request as payloads show it. */
  payloadOf(one: GitLabMergeRequest) {
    return {
      ...this.#threads.payloadOf(one.thread),
      source_branch: one.source_branch,
      target_branch: one.target_branch,
      source_project_id: one.source.id,
      target_project_id: one.project.id,
      draft: DRAFT.test(one.thread.title),
      last_commit: { id: one.sha, message: one.message },
      source: this.#state.shownProject(one.source),
      target: this.#state.shownProject(one.project),
    };
  }

  #shown(one: GitLabMergeRequest) {
    const { thread, source, project, reviewers, base, ...rest } = one;
    const draft = DRAFT.test(thread.title);
    const refs = { base_sha: base, start_sha: base, head_sha: one.sha };
    return {
      diff_refs: base === undefined ? null : refs,
      ...this.#threads.shown(thread),
      ...rest,
      source_project_id: source.id,
      target_project_id: project.id,
      draft,
      work_in_progress: draft,
      reviewers: reviewers.map((id) => this.#state.shownUser(id)),
    };
  }

  get routes(): readonly GitLabRoute[] {
    return [...this.#mergeRequestRoutes(), ...this.#repositoryRoutes()];
  }

  #with(
    { project, match: [iid] }: ProjectRequest,
    answer: (one: GitLabMergeRequest) => Response | Promise<Response>,
  ): Response | Promise<Response> {
    const one = this.find(project.id, Number(iid));
    return one === undefined ? problem(404, "Not found") : answer(one);
  }

  #mergeRequestRoutes(): readonly GitLabRoute[] {
    const path = /^\/merge_requests\/([0-9]+)$/;
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/merge_requests$/,
        answer: (request) => {
          const { project, query } = request;
          const is = (name: string, value: string) =>
            query.get(name) === null || query.get(name) === value;
          const found = this.all.filter(({ thread, ...one }) =>
            one.project === project &&
            (query.get("state") === "all" || is("state", thread.state)) &&
            is("source_branch", one.source_branch) && is("target_branch", one.target_branch)
          );
          const inOrder = query.get("sort") === "asc" ? found : found.toReversed();
          return page(inOrder.map((one) => this.#shown(one)), request);
        },
      },
      {
        in: "project",
        method: "POST",
        path: /^\/merge_requests$/,
        level: 30,
        answer: async ({ project, body, user }) => {
          for (const field of ["title", "source_branch", "target_branch"]) {
            if (typeof body[field] !== "string") return wrongParameter(`${field} is missing`);
          }
          if ([...`${body["title"]}`].length > 255) {
            const message = { title: ["is too long (maximum is 255 characters)"] };
            return Response.json({ message }, { status: 400 });
          }
          const made = await this.#open({
            project,
            source: project,
            user,
            branch: `${body["source_branch"]}`,
            target: `${body["target_branch"]}`,
            title: `${body["title"]}`,
            description: `${body["description"] ?? ""}`,
          });
          return made instanceof Response
            ? made
            : Response.json(this.#shown(made), { status: 201 });
        },
      },
      {
        in: "project",
        method: "GET",
        path,
        answer: (request) => this.#with(request, (one) => Response.json(this.#shown(one))),
      },
      {
        in: "project",
        method: "PUT",
        path,
        level: 30,
        answer: (request) => this.#with(request, (one) => this.#update(one, request)),
      },
      {
        in: "project",
        method: "GET",
        path: /^\/merge_requests\/([0-9]+)\/commits$/,
        answer: (request) =>
          this.#with(request, async ({ project, target_branch, sha }) => {
            const range = `refs/heads/${target_branch}..${sha}`;
            const list = await this.#state.git.tryRun(project.path, "rev-list", range) ?? "";
            const ids = list.split("\n").filter((id) => id !== "");
            const commits = await Promise.all(ids.map((id) => this.#commit(project, id)));
            return page(commits, request);
          }),
      },
    ];
  }

  #update(one: GitLabMergeRequest, { body, user }: ProjectRequest): Response {
    const wrong = this.#threads.change(one.thread, body, user);
    if (wrong !== undefined) return wrong;
    if (typeof body["target_branch"] === "string") one.target_branch = body["target_branch"];
    if (Array.isArray(body["reviewer_ids"])) {
      const ids = body["reviewer_ids"].map(Number).filter((id) => this.#state.users.has(id));
      one.reviewers = this.oneReviewer.has(one.project.id) ? ids.slice(0, 1) : ids;
    }
    this.#tell("update", one, user);
    return Response.json(this.#shown(one));
  }

  #repositoryRoutes(): readonly GitLabRoute[] {
    const { git } = this.#state;
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/repository\/branches\/([^/]+)$/,
        answer: async ({ project, match: [name = ""] }) => {
          const sha = await git.find(project.path, `refs/heads/${name}`);
          if (sha === undefined) return problem(404, "Branch Not Found");
          return Response.json({
            name,
            default: name === project.default_branch,
            protected: name === project.default_branch,
            commit: await this.#commit(project, sha),
          });
        },
      },
      {
        in: "project",
        method: "GET",
        path: /^\/repository\/compare$/,
        answer: async ({ project, query }) => {
          const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
          if (from === "" || to === "") return wrongParameter("from is missing");
          const [a, b] = [await git.find(project.path, from), await git.find(project.path, to)];
          if (a === undefined || b === undefined) return problem(404, "Ref Not Found");
          const list = await git.run(project.path, "rev-list", "--reverse", `${a}..${b}`);
          const ids = list.split("\n").filter((id) => id !== "");
          const commits = await Promise.all(ids.map((id) => this.#commit(project, id)));
          return Response.json({
            commit: commits.at(-1) ?? null,
            commits,
            diffs: [],
            compare_timeout: false,
            compare_same_ref: a === b,
          });
        },
      },
      {
        in: "project",
        method: "GET",
        path: /^\/repository\/merge_base$/,
        answer: async ({ project, query }) => {
          const refs = query.getAll("refs[]");
          if (refs.length < 2) {
            return Response.json({ message: "Provide at least 2 refs" }, { status: 400 });
          }
          const found = await Promise.all(refs.map((ref) => git.find(project.path, ref)));
          const unknown = refs.filter((_, i) => found[i] === undefined);
          if (unknown.length > 0) {
            const message = `Could not find ref: ${unknown.join(", ")}`;
            return Response.json({ message }, { status: 400 });
          }
          const ids = found.filter((id) => id !== undefined);
          const base = await git.tryRun(project.path, "merge-base", ...ids);
          return base === undefined
            ? problem(404, "Merge Base Not Found")
            : Response.json(await this.#commit(project, base));
        },
      },
      {
        in: "project",
        method: "GET",
        path: /^\/repository\/tree$/,
        answer: async (request) => {
          const { project, query } = request;
          const ref = query.get("ref") ?? project.default_branch;
          if (await git.find(project.path, ref) === undefined) {
            return problem(404, "Tree Not Found");
          }
          const list = await git.run(project.path, "ls-tree", "-z", ref);
          const entries = list.split("\0").filter((line) => line !== "").map((line) => {
            const [, mode = "", type = "", id = "", name = ""] =
              /^(\S+) (\S+) (\S+)\t([^]*)$/.exec(line) ?? [];
            return { id, name, type, path: name, mode };
          });
          // Directories come first.
          const order = ["tree", "blob", "commit"];
          const sorted = entries.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
          return page(sorted, request);
        },
      },
    ];
  }

  /** A commit as the API shows it: it names no tree. */
  async #commit({ path }: GitLabProject, id: string) {
    const format = "--format=%P%x00%an%x00%ae%x00%cI%x00%B";
    const shown = await this.#state.git.run(path, "log", "-1", format, id);
    const [parents = "", author_name = "", author_email = "", created_at = "", message = ""] = shown
      .split("\0");
    return {
      id,
      short_id: id.slice(0, 8),
      title: message.split("\n")[0],
      message: `${message}\n`,
      author_name,
      author_email,
      created_at,
      committed_date: created_at,
      parent_ids: parents.split(" ").filter((one) => one !== ""),
    };
  }
}
