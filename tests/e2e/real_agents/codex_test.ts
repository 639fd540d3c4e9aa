/**
 * The agent of `integrations/codex`, end to end: see `tests/rigs/working_agent.ts`.
 *
 * @module
 */

import { testAgent } from "../../rigs/working_agent.ts";

testAgent("codex");
