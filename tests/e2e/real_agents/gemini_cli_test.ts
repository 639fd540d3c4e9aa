/**
 * The agent of `integrations/gemini-cli`, end to end: see `tests/rigs/working_agent.ts`.
 *
 * @module
 */

import { testAgent } from "../../rigs/working_agent.ts";

testAgent("gemini-cli");
