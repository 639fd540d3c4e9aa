/**
 * The handler of the operation on agents.
 *
 * @module
 */

import type { AGENT_OPERATIONS } from "../../api/agent_operations.ts";
import type { DoctorLine } from "../../api/doctor_operations.ts";
import type { Input } from "../../api/operations.ts";
import { examine } from "../../doctor/check.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { auditedLines } from "../records/audited_lines.ts";
import type { Handlers } from "../server/server.ts";
import { AGENT_CHECKS, type AgentCheckHost } from "./agent_checks.ts";
import { AgentScene, type AgentsHost } from "./agent_scene.ts";

/** The handler, by name of the operation. */
export function agentHandlers(
  host: AgentsHost & Pick<AuditLog, "startAudited">,
): Pick<Handlers, keyof typeof AGENT_OPERATIONS> {
  return {
    "agent.check": (input, caller, signal) => {
      const what = { operation: "agent.check", targets: [`agent/${input.name}`], caller };
      return auditedLines(what, () => checkLines(input, host, signal), host);
    },
  };
}

/** The findings, without a secret that the agent may have printed. */
async function* checkLines(
  input: Input<"agent.check">,
  host: AgentsHost,
  signal: AbortSignal,
): AsyncGenerator<DoctorLine, void, undefined> {
  using _run = host.secrets.runBegins();
  const checked: AgentCheckHost = { scene: new AgentScene(input, host) };
  for await (const line of examine(AGENT_CHECKS, checked, signal)) {
    yield host.secrets.redactAll(line);
  }
}
