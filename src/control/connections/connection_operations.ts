/**
 * The handlers of the operations on Connections.
 *
 * @module
 */

import type { CONNECTION_OPERATIONS } from "../../api/connection_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { AuditLog } from "../records/audit_log.ts";
import type { Handlers } from "../server/server.ts";
import { connectForge, type ConnectHost } from "./connect_forge.ts";
import { connectingGitHub } from "./connect_github.ts";
import { appManifest, connectGitHubApp } from "./connect_github_app.ts";
import { connectingGitLab } from "./connect_gitlab.ts";
import { connectLine } from "./connect_line.ts";
import { connectSlack } from "./connect_slack.ts";
import { disconnect } from "./disconnect.ts";
import { audited, toLines } from "./lines.ts";
import { repair } from "./repair.ts";

/** The handlers, by name of the operation. */
export function connectionHandlers(
  host: ConnectHost & AuditLog,
): Pick<Handlers, keyof typeof CONNECTION_OPERATIONS> {
  return {
    "connect.github": (input, caller, signal) => {
      const { repository, organization, ...rest } = input;
      const to = onlyOne(repository, organization, "one repository or one organization");
      const what = { operation: "connect.github", targets: [to], caller };
      const way = connectingGitHub({ repository, organization });
      return audited(what, connectForge({ ...rest, to }, way, { caller, host, signal }), host);
    },
    "connect.gitlab": (input, caller, signal) => {
      const { repository, group, ...rest } = input;
      const to = onlyOne(repository, group, "one project or one group");
      const what = { operation: "connect.gitlab", targets: [to], caller };
      const way = connectingGitLab({ project: repository, group });
      return audited(what, connectForge({ ...rest, to }, way, { caller, host, signal }), host);
    },
    "connect.github_manifest": (input) => Promise.resolve(appManifest(input, host)),
    "connect.github_app": (input, caller, signal) => {
      const targets = [input.name ?? input.organization ?? "github"];
      const what = { operation: "connect.github_app", targets, caller };
      return audited(what, connectGitHubApp(input, caller, host, signal), host);
    },
    "connect.slack": (input, caller, signal) => {
      const what = { operation: "connect.slack", targets: [input.name ?? "slack"], caller };
      return audited(what, connectSlack(input, caller, host, signal), host);
    },
    "connect.line": (input, caller, signal) => {
      const what = { operation: "connect.line", targets: [input.name ?? "line"], caller };
      return audited(what, connectLine(input, caller, host, signal), host);
    },
    "connection.disconnect": (input, caller, signal) => {
      const what = {
        operation: "connection.disconnect",
        targets: [`connection/${input.name}`],
        caller,
      };
      return audited(what, disconnect(input, caller, host, signal), host);
    },
    "connection.repair": (input, _caller, signal) => toLines(repair(input, host, signal), host),
  };
}

function onlyOne(one: string | undefined, other: string | undefined, what: string): string {
  const to = one ?? other;
  if (to !== undefined && (one === undefined || other === undefined)) return to;
  throw new AppError("usage", `Name ${what}`);
}
