/**
 * Issues of the fake GitLab, and what issues and merge requests share: notes, emoji reactions and labels;
 * statuses of commits. A line that GitLab takes as a quick action is carried out with the rights of who
 * wrote it: it is noted in `executed`, and taken out of the text.
 *
 * @module
 */

import {
  type GitLabProject,
  type GitLabRoute,
  type GitLabState,
  type GitLabUser,
  invalid,
  page,
  problem,
  type ProjectRequest,
  wrongParameter,
} from "./gitlab.ts";

/** An issue, or what a merge request is beside its branches. */
export interface GitLabThread {
  readonly project: number;
  readonly iid: number;
  readonly id: number;
  readonly kind: "issues" | "merge_requests";
  title: string;
  description: string;
  readonly author: GitLabUser;
  state: "opened" | "closed" | "merged" | "locked";
  labels: string[];
  readonly created_at: string;
  updated_at: string;
}

/** A note. */
export interface GitLabNote {
  readonly id: number;
  readonly thread: GitLabThread;
  readonly author: GitLabUser;
  body: string;
  /** Written by GitLab itself, about what the author did. */
  readonly system: boolean;
  readonly internal: boolean;
  /** The line of a diff on which it stands. */
  readonly position?: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  updated_at: string;
}

/** A reaction; `to` is `issues/5`, `merge_requests/5`, or a note of one: `issues/5/notes/77`. */
export interface GitLabAward {
  readonly id: number;
  readonly project: number;
  readonly to: string;
  readonly name: string;
  readonly user: GitLabUser;
}

/** A status of a commit; those that have ended stay. */
export interface GitLabStatus {
  readonly id: number;
  readonly project: number;
  readonly sha: string;
  readonly ref: string;
  readonly name: string;
  status: string;
  description: string | null;
  readonly author: GitLabUser;
}

/** A quick action that a text held. */
export interface GitLabQuickAction {
  readonly user: GitLabUser;
  /** `/merge`, with its arguments. */
  readonly line: string;
  readonly on: string;
}

/** Commands of quick actions (https://docs.gitlab.com/user/project/quick_actions/). */
const COMMANDS = (
  "add_contacts add_email approve assign assign_reviewer award blocked_by blocks board_move cc " +
  "clear_health_status clear_weight clone close confidential convert_to_ticket copy_metadata " +
  "create_merge_request done draft due duplicate epic estimate estimate_time health_status " +
  "iteration label labels link lock merge milestone move page promote promote_to promote_to_incident " +
  "publish react ready reassign reassign_reviewer rebase relabel relate remove_contacts " +
  "remove_due_date remove_email remove_epic remove_estimate remove_iteration remove_label " +
  "remove_milestone remove_parent remove_time_spent remove_zoom reopen request_changes " +
  "request_review run_pipeline severity ship shrug spend spend_time spent submit_review subscribe " +
  "tableflip target_branch timeline title todo type unapprove unassign unassign_reviewer unlabel " +
  "unlink unlock unsubscribe weight wip zoom"
).split(" ").sort((a, b) => b.length - a.length);

/** What GitLab leaves alone, or a command: the pattern of its own extractor. */
const QUICK_ACTION = new RegExp(
  "(?<other>^```[^]+?\\n```$|^.*`\\n*[^]+?\\n*`$|^<[^>]+?>\\n[^]+?\\n</[^>]+?>$|^>>>[^]+?\\n>>>$)" +
    `|(?:^/(?<cmd>${COMMANDS.join("|")})(?: (?<arg>[^\\n]*))?(?:\\s*\\n|$))`,
  "gimu",
);

const MAX_TITLE = 255;
const MAX_TEXT = 1_048_576;
const MAX_NOTE = 1_000_000;
const NAMES = new Set([
  ..."thumbsup thumbsdown laughing confused heart tada rocket eyes".split(" "),
]);
const STATES = ["pending", "running", "success", "failed", "canceled", "skipped"];

/** Issues with their notes, reactions and labels. */
export class GitLabThreads {
  readonly threads: GitLabThread[] = [];
  readonly notes: GitLabNote[] = [];
  readonly awards: GitLabAward[] = [];
  readonly statuses: GitLabStatus[] = [];
  readonly executed: GitLabQuickAction[] = [];
  /** Names of the labels of each project by its id. */
  readonly labels = new Map<number, Set<string>>();
  /** What payloads say of a merge request. */
  shownPull: (thread: GitLabThread) => Record<string, unknown> = (one) => this.payloadOf(one);
  readonly #state: GitLabState;

  constructor(state: GitLabState) {
    this.#state = state;
  }

  /** Opens an issue as a user. */
  openIssue(
    path: string,
    { author, title = "The tide gauge drifts", description = "" }: {
      readonly author: GitLabUser;
      readonly title?: string;
      readonly description?: string;
    },
  ): GitLabThread {
    const project = this.#projectAt(path);
    return this.add(project, { kind: "issues", author, title, description });
  }

  /** Writes a note as a user. */
  note(
    thread: GitLabThread,
    author: GitLabUser,
    body: string,
    { system = false, internal = false, position }: {
      system?: boolean;
      internal?: boolean;
      position?: Readonly<Record<string, unknown>>;
    } = {},
  ): GitLabNote {
    const now = this.#state.now();
    const id = this.#state.nextId();
    const note = {
      id,
      thread,
      author,
      body,
      system,
      internal,
      ...position !== undefined && { position },
      created_at: now,
      updated_at: now,
    };
    this.notes.push(note);
    if (!system) this.#tellNote("create", note);
    return note;
  }

  find(project: number, kind: string, iid: number): GitLabThread | undefined {
    return this.threads.find((one) =>
      one.project === project && one.kind === kind && one.iid === iid
    );
  }

  /** The labels of a project; every one has some. */
  labelsOf(project: number): Set<string> {
    const known = this.labels.get(project) ?? new Set(["bug", "automated", "area/docs", "7"]);
    this.labels.set(project, known);
    return known;
  }

  /** Adds an issue or a merge request, whose numbers are apart; quick actions of its text run. */
  add(
    project: GitLabProject,
    given: Pick<GitLabThread, "kind" | "author" | "title" | "description">,
  ): GitLabThread {
    const same = this.threads.filter((one) =>
      one.project === project.id && one.kind === given.kind
    );
    const iid = Math.max(0, ...same.map((one) => one.iid)) + 1;
    const now = this.#state.now();
    const { kind, author } = given;
    const thread: GitLabThread = {
      ...given,
      description: this.withoutActions(given.description, author, `${kind}/${iid}`),
      project: project.id,
      iid,
      id: this.#state.nextId(),
      state: "opened",
      labels: [],
      created_at: now,
      updated_at: now,
    };
    this.threads.push(thread);
    if (kind === "issues") this.#tellIssue("open", thread, author);
    return thread;
  }

  /** Changes title, text, state and labels as the API does; what is wrong with them, if anything. */
  change(
    thread: GitLabThread,
    body: Record<string, unknown>,
    user: GitLabUser,
  ): Response | undefined {
    const wrong = faultOf(body);
    if (wrong !== undefined) return wrong;
    if (typeof body["title"] === "string") thread.title = body["title"];
    if (typeof body["description"] === "string") {
      const on = `${thread.kind}/${thread.iid}`;
      thread.description = this.withoutActions(body["description"], user, on);
    }
    if (body["state_event"] === "close") thread.state = "closed";
    if (body["state_event"] === "reopen") thread.state = "opened";
    const names = (value: unknown) =>
      (Array.isArray(value) ? value : `${value ?? ""}`.split(",")).map((name) => `${name}`.trim())
        .filter((name) => name !== "");
    const known = this.labelsOf(thread.project);
    // Labels that are not there are made.
    for (const name of [...names(body["labels"]), ...names(body["add_labels"])]) known.add(name);
    if (body["labels"] !== undefined) thread.labels = names(body["labels"]);
    thread.labels = [...new Set([...thread.labels, ...names(body["add_labels"])])]
      .filter((name) => !names(body["remove_labels"]).includes(name)).toSorted();
    thread.updated_at = this.#state.now();
    return undefined;
  }

  /** A text without its quick actions, which are carried out. */
  withoutActions(text: string, user: GitLabUser, on: string): string {
    return text.replaceAll("\r", "").replace(QUICK_ACTION, (found: string, ...rest: unknown[]) => {
      const { cmd } = rest.at(-1) as { cmd?: string };
      if (cmd === undefined) return found;
      this.executed.push({ user, line: found.trimEnd(), on });
      return "";
    }).trimEnd();
  }

  #projectAt(path: string): GitLabProject {
    const project = this.#state.projectAt(path);
    if (project === undefined) throw new Error(`No project ${path}`);
    return project;
  }

  #tellNote(action: string, { thread, author, ...note }: GitLabNote): void {
    const project = this.#state.projects.get(thread.project);
    if (project === undefined) return;
    const isIssue = thread.kind === "issues";
    this.#state.tell({
      project,
      event: "Note Hook",
      payload: {
        object_kind: "note",
        event_type: note.internal ? "confidential_note" : "note",
        user: this.#state.shownUser(author.id),
        project_id: project.id,
        project: this.#state.shownProject(project),
        object_attributes: {
          id: note.id,
          note: note.body,
          noteable_type: isIssue ? "Issue" : "MergeRequest",
          noteable_id: thread.id,
          author_id: author.id,
          internal: note.internal,
          system: note.system,
          action,
        },
        ...this.#shownThread(thread),
      },
    });
  }

  /** An issue or merge request under its name. */
  #shownThread(thread: GitLabThread): Record<string, unknown> {
    return thread.kind === "issues"
      ? { issue: this.payloadOf(thread) }
      : { merge_request: this.shownPull(thread) };
  }

  #tellAward(project: GitLabProject, award: GitLabAward): void {
    const [kind = "", iid, , id] = award.to.split("/");
    const thread = this.find(project.id, kind, Number(iid));
    const note = this.notes.find((one) => one.thread === thread && one.id === Number(id));
    if (thread === undefined) return;
    this.#state.tell({
      project,
      event: "Emoji Hook",
      payload: {
        object_kind: "emoji",
        event_type: "award",
        user: this.#state.shownUser(award.user.id),
        project_id: project.id,
        project: this.#state.shownProject(project),
        object_attributes: {
          id: award.id,
          name: award.name,
          user_id: award.user.id,
          awardable_type: note !== undefined
            ? "Note"
            : kind === "issues"
            ? "Issue"
            : "MergeRequest",
          awardable_id: note?.id ?? thread.id,
          action: "award",
        },
        ...note !== undefined && {
          note: { id: note.id, note: note.body, internal: note.internal },
        },
        ...this.#shownThread(thread),
      },
    });
  }

  /** A status from outside makes a pipeline of its own. */
  #tellStatus(project: GitLabProject, { id, sha, ref, status, author }: GitLabStatus): void {
    this.#state.tell({
      project,
      event: "Pipeline Hook",
      payload: {
        object_kind: "pipeline",
        object_attributes: { id, sha, ref, status, source: "external", tag: false },
        merge_request: null,
        user: this.#state.shownUser(author.id),
        project: this.#state.shownProject(project),
        commit: { id: sha },
        builds: [],
      },
    });
  }

  #tellIssue(action: string, thread: GitLabThread, user: GitLabUser): void {
    const project = this.#state.projects.get(thread.project);
    if (project === undefined) return;
    this.#state.tell({
      project,
      event: "Issue Hook",
      payload: {
        object_kind: "issue",
        event_type: "issue",
        user: this.#state.shownUser(user.id),
        project: this.#state.shownProject(project),
        object_attributes: { ...this.payloadOf(thread), action },
      },
    });
  }

  /** What payloads say of a thread; merge requests add their branches. */
  payloadOf({ iid, id, title, description, state, author, labels }: GitLabThread) {
    const shown = labels.map((title) => ({ title }));
    return { iid, id, title, description, state, author_id: author.id, labels: shown };
  }

  /** A note as the API shows it. */
  shownNote({ thread, author, ...note }: GitLabNote) {
    return {
      type: note.position === undefined ? null : "DiffNote",
      ...note,
      author: this.#state.shownUser(author.id),
      noteable_iid: thread.iid,
      noteable_type: thread.kind === "issues" ? "Issue" : "MergeRequest",
    };
  }

  /** An issue as the API shows it, and the part of a merge request that is the same. */
  shown({ author, ...thread }: GitLabThread) {
    const path = this.#state.projects.get(thread.project)?.path ?? "";
    const { kind, project, ...rest } = thread;
    return {
      ...rest,
      project_id: project,
      author: this.#state.shownUser(author.id),
      web_url: `https://gitlab.com/${path}/-/${kind}/${thread.iid}`,
    };
  }

  get routes(): readonly GitLabRoute[] {
    return [
      ...this.#issueRoutes(),
      ...this.#noteRoutes(),
      ...this.#awardRoutes(),
      ...this.#labelRoutes(),
      ...this.#statusRoutes(),
    ];
  }

  #issueRoutes(): readonly GitLabRoute[] {
    const one = /^\/(issues)\/([0-9]+)$/;
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/issues$/,
        answer: (request) => {
          const { project, query } = request;
          const after = Date.parse(query.get("updated_after") ?? "") || 0;
          const author = query.get("author_id");
          const found = this.threads.filter((thread) =>
            thread.project === project.id && thread.kind === "issues" &&
            [null, "all", thread.state].includes(query.get("state")) &&
            (author === null || `${thread.author.id}` === author) &&
            Date.parse(thread.updated_at) >= after
          );
          const inOrder = query.get("sort") === "asc" ? found : found.toReversed();
          return page(inOrder.map((thread) => this.shown(thread)), request);
        },
      },
      {
        in: "project",
        method: "POST",
        path: /^\/issues$/,
        level: 10,
        answer: ({ project, body, user }) => {
          const wrong = typeof body["title"] === "string"
            ? faultOf(body)
            : wrongParameter("title is missing");
          if (wrong !== undefined) return wrong;
          const text = { title: `${body["title"]}`, description: `${body["description"] ?? ""}` };
          const made = this.add(project, { kind: "issues", author: user, ...text });
          this.change(made, { labels: body["labels"] ?? "" }, user);
          return Response.json(this.shown(made), { status: 201 });
        },
      },
      {
        in: "project",
        method: "GET",
        path: one,
        answer: (request) => this.#with(request, (thread) => Response.json(this.shown(thread))),
      },
      {
        in: "project",
        method: "PUT",
        path: one,
        level: 10,
        answer: (request) =>
          this.#with(request, (thread) => {
            const wrong = this.change(thread, request.body, request.user);
            if (wrong !== undefined) return wrong;
            this.#tellIssue("update", thread, request.user);
            return Response.json(this.shown(thread));
          }),
      },
    ];
  }

  #with(
    { project, match: [kind = "", iid] }: ProjectRequest,
    answer: (thread: GitLabThread) => Response,
  ): Response {
    const thread = this.find(project.id, kind, Number(iid));
    return thread === undefined ? problem(404, "Not found") : answer(thread);
  }

  #noteRoutes(): readonly GitLabRoute[] {
    const all = /^\/(issues|merge_requests)\/([0-9]+)\/notes$/;
    const one = /^\/(issues|merge_requests)\/([0-9]+)\/notes\/([0-9]+)$/;
    const shown = (note: GitLabNote) => this.shownNote(note);
    const withNote = (request: ProjectRequest, answer: (note: GitLabNote) => Response) =>
      this.#with(request, (thread) => {
        const note = this.notes.find((found) =>
          found.thread === thread && found.id === Number(request.match[2])
        );
        return note === undefined ? problem(404, "Not found") : answer(note);
      });
    return [
      {
        in: "project",
        method: "GET",
        path: all,
        answer: (request) =>
          this.#with(request, (thread) => {
            const by = request.query.get("order_by") === "updated_at" ? "updated_at" : "created_at";
            const found = this.notes.filter((note) => note.thread === thread)
              .toSorted((a, b) => Date.parse(a[by]) - Date.parse(b[by]) || a.id - b.id);
            const inOrder = request.query.get("sort") === "asc" ? found : found.toReversed();
            return page(inOrder.map(shown), request);
          }),
      },
      {
        in: "project",
        method: "POST",
        path: all,
        level: 10,
        answer: (request) =>
          this.#with(request, (thread) => {
            const { body: { body }, user } = request;
            const wrong = faultOfNote(body);
            if (wrong !== undefined) return wrong;
            const on = `${thread.kind}/${thread.iid}`;
            const text = this.withoutActions(`${body}`, user, on);
            if (text.trim() === "") {
              // There is nothing but commands: no note is made.
              const summary = ["Applied the commands."];
              return Response.json({ commands_changes: {}, summary }, { status: 202 });
            }
            return Response.json(shown(this.note(thread, user, text)), { status: 201 });
          }),
      },
      {
        in: "project",
        method: "GET",
        path: one,
        answer: (request) => withNote(request, (note) => Response.json(shown(note))),
      },
      {
        in: "project",
        method: "PUT",
        path: one,
        level: 10,
        answer: (request) =>
          withNote(request, (note) => {
            const { body: { body }, user, level } = request;
            if (note.author.id !== user.id && level < 40) return problem(403, "Forbidden");
            const wrong = faultOfNote(body);
            if (wrong !== undefined) return wrong;
            note.body = this.withoutActions(
              `${body}`,
              user,
              `${note.thread.kind}/${note.thread.iid}`,
            );
            note.updated_at = this.#state.now();
            this.#tellNote("update", note);
            return Response.json(shown(note));
          }),
      },
    ];
  }

  #awardRoutes(): readonly GitLabRoute[] {
    const path = /^\/((issues|merge_requests)\/([0-9]+)(?:\/notes\/([0-9]+))?)\/award_emoji$/;
    const exists = ({ project, match: [, kind = "", iid, note] }: ProjectRequest) => {
      const thread = this.find(project.id, kind, Number(iid));
      return thread !== undefined && (note === "" ||
        this.notes.some((one) => one.thread === thread && one.id === Number(note)));
    };
    const shown = ({ id, name, user }: GitLabAward) => ({
      id,
      name,
      user: this.#state.shownUser(user.id),
    });
    const of = ({ project, match: [to] }: ProjectRequest) =>
      this.awards.filter((one) => one.project === project.id && one.to === to);
    return [
      {
        in: "project",
        method: "GET",
        path,
        answer: (request) =>
          exists(request) ? page(of(request).map(shown), request) : problem(404, "Not found"),
      },
      {
        in: "project",
        method: "POST",
        path,
        level: 10,
        answer: (request) => {
          if (!exists(request)) return problem(404, "Not found");
          const { project, match: [to = ""], body, user } = request;
          const name = body["name"];
          if (typeof name !== "string") return wrongParameter("name is missing");
          if (!NAMES.has(name)) {
            return problem(404, "Award Emoji Name is not a valid emoji name Not Found");
          }
          if (of(request).some((one) => one.name === name && one.user.id === user.id)) {
            return problem(404, "Award Emoji Name has already been taken Not Found");
          }
          const award = { id: this.#state.nextId(), project: project.id, to, name, user };
          this.awards.push(award);
          this.#tellAward(project, award);
          return Response.json(shown(award), { status: 201 });
        },
      },
    ];
  }

  #labelRoutes(): readonly GitLabRoute[] {
    const shown = (name: string, id: number) => ({ id: id + 5, name, color: "#D9534F" });
    const of = (project: number) => [...this.labelsOf(project)].map(shown);
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/labels$/,
        answer: (request) => page(of(request.project.id), request),
      },
      {
        in: "project",
        method: "GET",
        path: /^\/labels\/([^/]+)$/,
        answer: ({ project, match: [name] }) => {
          const all = of(project.id);
          const found = all.find(({ id }) => `${id}` === name) ??
            all.find((label) => label.name === name);
          return found === undefined ? problem(404, "Label Not Found") : Response.json(found);
        },
      },
    ];
  }

  #statusRoutes(): readonly GitLabRoute[] {
    const isOn = (status: GitLabStatus) => ["pending", "running"].includes(status.status);
    return [
      {
        in: "project",
        method: "GET",
        path: /^\/repository\/commits\/([0-9a-f]+)\/statuses$/,
        answer: (request) => {
          const { project, match: [sha], query } = request;
          const name = query.get("name");
          const found = this.statuses.filter((one) =>
            one.project === project.id && one.sha === sha && (name === null || one.name === name)
          );
          const latest = found.filter((one, i) =>
            !found.slice(i + 1).some((later) => later.name === one.name)
          );
          return page(query.get("all") === "true" ? found : latest, request);
        },
      },
      {
        in: "project",
        method: "POST",
        path: /^\/statuses\/([^/]+)$/,
        level: 30,
        answer: async ({ project, match: [sha = ""], body, user }) => {
          const { state, description, ref: given } = body;
          const name = `${body["name"] ?? body["context"] ?? "default"}`;
          if (!STATES.includes(`${state}`)) {
            return wrongParameter("state does not have a valid value");
          }
          if (typeof description === "string" && description.length > 255) {
            return invalid("description", "is too long (maximum is 255 characters)");
          }
          const git = this.#state.git;
          if (await git.find(project.path, sha) === undefined) {
            return problem(404, "Commit Not Found");
          }
          const branches = await git.run(
            project.path,
            "for-each-ref",
            "--contains",
            sha,
            "--format=%(refname:short)",
            "refs/heads/",
          );
          const ref = given === undefined ? branches.split("\n")[0] ?? "" : `${given}`;
          if (ref === "") return problem(404, "References for commit Not Found");
          const on = this.statuses.find((one) =>
            one.project === project.id && one.sha === sha && one.ref === ref && one.name === name &&
            one.author.id === user.id && isOn(one)
          );
          if (on !== undefined && (state === "pending" || state === on.status)) {
            const event = state === "pending" ? "enqueue" : "run";
            const message = `Cannot transition status via :${event} from :${on.status} ` +
              `(Reason(s): Status cannot transition via "${event}")`;
            return Response.json({ message }, { status: 400 });
          }
          const made: GitLabStatus = on ?? {
            id: this.#state.nextId(),
            project: project.id,
            sha,
            ref,
            name,
            status: "",
            description: null,
            author: user,
          };
          if (on === undefined) this.statuses.push(made);
          made.status = `${state}`;
          if (typeof description === "string") made.description = description;
          this.#tellStatus(project, made);
          return Response.json(made, { status: 201 });
        },
      },
    ];
  }
}

function faultOf(body: Record<string, unknown>): Response | undefined {
  const { title, description } = body;
  if (title === "") return wrongParameter("title is empty");
  if (typeof title === "string" && [...title].length > MAX_TITLE) {
    return invalid("title", `is too long (maximum is ${MAX_TITLE} characters)`);
  }
  if (typeof description === "string" && [...description].length > MAX_TEXT) {
    return invalid("description", `is too long (maximum is ${MAX_TEXT} characters)`);
  }
  return undefined;
}

function faultOfNote(body: unknown): Response | undefined {
  if (typeof body !== "string") return wrongParameter("body is missing");
  if ([...body].length <= MAX_NOTE) return undefined;
  const message =
    `400 Bad request - Note {:note=>["is too long (maximum is ${MAX_NOTE} characters)"]}`;
  return Response.json({ message }, { status: 400 });
}
