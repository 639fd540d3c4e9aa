/**
 * The agent of `integrations/copilot`, end to end: see `tests/rigs/working_agent.ts`.
 *
 * @module
 */

import { testAgent } from "../../rigs/working_agent.ts";

testAgent("copilot");
