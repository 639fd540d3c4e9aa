/**
 * The agent of `integrations/claude-code`, end to end: see `tests/rigs/working_agent.ts`.
 *
 * @module
 */

import { testAgent } from "../../rigs/working_agent.ts";

testAgent("claude-code");
