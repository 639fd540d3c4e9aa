/**
 * The handlers of the operations on Connections.
 *
 * @module
 */

import type { CONNECTION_OPERATIONS } from "../../api/connection_operations.ts";
import type { AuditLog } from "../records/audit_log.ts";
import type { Handlers } from "../server/server.ts";
import { connectGitHub, type ConnectHost } from "./connect_github.ts";
import { appManifest, connectGitHubApp } from "./connect_github_app.ts";
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
      const targets = [input.repository ?? input.organization ?? ""];
      const what = { operation: "connect.github", targets, caller };
      return audited(what, connectGitHub(input, caller, host, signal), host);
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
