/**
 * Routes of the fake GitLab: the token and its user, users, projects, groups, and their members.
 *
 * @module
 */

import {
  type GitLabProject,
  type GitLabRoute,
  type GitLabState,
  type GitLabUser,
  page,
  problem,
  type ProjectRequest,
} from "./gitlab.ts";

/** The routes. */
export function projectRoutes(state: GitLabState): readonly GitLabRoute[] {
  const shown = (project: GitLabProject, { level, user }: ProjectRequest) => {
    const { visibility, archived, forkedFrom } = project;
    const own = state.members.get(project.path)?.get(user.id)?.access_level;
    return {
      ...state.shownProject(project),
      visibility,
      archived,
      empty_repo: false,
      permissions: {
        project_access: own === undefined ? null : { access_level: own },
        group_access: level > (own ?? 0) ? { access_level: level } : null,
      },
      ...forkedFrom !== undefined && { forked_from_project: { id: forkedFrom } },
    };
  };
  const shownMember = (path: string, id: number) => {
    const member = state.memberOf(path, id);
    return member && {
      ...state.shownUser(id),
      access_level: member.access_level,
      membership_state: member.membership_state ?? "active",
      expires_at: member.expires_at ?? null,
    };
  };
  return [
    {
      in: "api",
      method: "GET",
      path: /^\/user$/,
      scopes: ["api", "read_api", "read_user"],
      answer: ({ user }) =>
        Response.json({
          ...state.shownUser(user.id),
          bot: isBot(user),
          email: `${user.username}@x.example`,
        }),
    },
    {
      in: "api",
      method: "GET",
      path: /^\/users\/([0-9]+)$/,
      answer: ({ match: [id] }) => {
        const user = state.users.get(Number(id));
        if (user === undefined) return problem(404, "User Not Found");
        return Response.json({ ...state.shownUser(user.id), bot: isBot(user) });
      },
    },
    {
      in: "api",
      method: "GET",
      path: /^\/users$/,
      answer: (request) => {
        const username = request.query.get("username")?.toLowerCase();
        const found = [...state.users.values()].filter((one) =>
          username === undefined || one.username.toLowerCase() === username
        );
        return page(found.map(({ id }) => state.shownUser(id)), request);
      },
    },
    {
      in: "api",
      method: "GET",
      path: /^\/personal_access_tokens\/self$/,
      answer: ({ token: { scopes = ["api"], expires_at = null }, user }) =>
        Response.json({ id: 1, name: "svc", scopes, user_id: user.id, active: true, expires_at }),
    },
    {
      in: "project",
      method: "GET",
      path: /^$/,
      answer: (request) => Response.json(shown(request.project, request)),
    },
    {
      in: "group",
      method: "GET",
      path: /^$/,
      answer: ({ group }) =>
        Response.json({ id: 5, full_path: group, name: group.split("/").at(-1) }),
    },
    {
      in: "project",
      method: "GET",
      path: /^\/members\/all\/([0-9]+)$/,
      answer: ({ project, match: [id] }) => {
        const member = shownMember(project.path, Number(id));
        return member === undefined ? problem(404, "Not found") : Response.json(member);
      },
    },
  ];
}

function isBot({ username, bot }: GitLabUser): boolean {
  return bot === true || /^(project|group)_[0-9]+_bot/.test(username);
}
