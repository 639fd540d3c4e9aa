/**
 * The rules of a sandbox as answers show them.
 *
 * @module
 */

import type { SandboxRules } from "../../api/sandbox_operations.ts";
import { DEFAULT_NETWORK, type SandboxSpec } from "../../resources/sandbox.ts";

/** What a sandbox allows, whatever the machine. */
export function rulesView(spec: SandboxSpec): SandboxRules {
  const { memory, pids, cpu } = spec;
  return {
    network: networkView(spec),
    limits: { memory: memory ?? null, pids: pids ?? null, cpu: cpu ?? null },
    nested: spec.nested === true,
    control: spec.control ?? true,
  };
}

function networkView({ network = DEFAULT_NETWORK }: SandboxSpec): SandboxRules["network"] {
  if (typeof network === "string") return { mode: network, allow: [], inject: [] };
  const { allow = [], inject = [] } = network;
  return {
    mode: "rules",
    allow,
    inject: inject.map(({ url, env, headers = {}, paths }) => ({
      url,
      env,
      headers: Object.keys(headers),
      paths: paths ?? null,
    })),
  };
}
