/**
 * The agent of `integrations/qwen-code`, end to end: see `tests/rigs/working_agent.ts`.
 *
 * @module
 */

import { testAgent } from "../../rigs/working_agent.ts";

testAgent("qwen-code");
