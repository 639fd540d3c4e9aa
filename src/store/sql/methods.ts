/**
 * The methods of the store that are the same function with both databases, by name. The `methods.ts`
 * of each database adds its own.
 *
 * @module
 */

import type { StoreMethod } from "../store.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import { findApproval, listApprovals, oldestApproval } from "./approvals.ts";
import { listBudgetUse } from "./budget_use.ts";
import { bindThread, findBindings, findThreadOfTask } from "./bindings.ts";
import {
  findNextChildren,
  listAbandonedChildren,
  listChildren,
  listLostChildren,
} from "./children.ts";
import { listConnectionStates, noteConnection } from "./connections.ts";
import { finishControl, listControl, recordControl } from "./control_audit.ts";
import { bindConversation, findConversations, listConversations } from "./conversations.ts";
import { claimRun, findCursor } from "./cursors.ts";
import { findDeliveries, readDeliveries, readDelivery } from "./deliveries.ts";
import { findIds, nthId } from "./id_search.ts";
import { addToInbox, listInbox, listUnread } from "./inbox.ts";
import { listKeyUse, recordKeyUse } from "./key_uses.ts";
import {
  addToOutbox,
  dropMessage,
  expireHeld,
  findMessages,
  listMessages,
  outboxCounts,
  pruneOutbox,
  releaseMessage,
  retryMessage,
} from "./outbox.ts";
import { listOutputs, readContent } from "./outputs.ts";
import { listPauses, resumeTasks } from "./pauses.ts";
import { pruneSourceEvents } from "./source_event_pruning.ts";
import { postponeSourceEvent, replaySourceEvent, replayUnread } from "./source_event_queue.ts";
import { findEventOfDelivery, findSourceEvents } from "./source_events.ts";
import { forgetTaskEnd } from "./task_ends.ts";
import { findPlan } from "./tasks.ts";
import { findSessions, saveSession } from "./sessions.ts";
import { createToken, findToken, listTokens, revokeToken } from "./tokens.ts";
import type { SqlSession } from "./session.ts";
import { listAgentUse } from "./agent_use.ts";
import { countWaits, listWaits } from "./waits.ts";
import {
  findWaits,
  listFilledInboxes,
  listWaitedTriggers,
  listWaitShapes,
  listWaitsOfDeliveries,
} from "./waits_for_events.ts";

/** A method of `Store` as it runs in a transaction, or outside of one where it only reads. */
type SharedCall<Name extends StoreMethod> = (
  db: SqlSession,
  ...args: StoreArgs<Name>
) => Promise<StoreResult<Name>>;

/** The methods by name. */
export const SHARED_METHODS = {
  findDeliveries,
  readDelivery,
  readDeliveries,
  postponeSourceEvent,
  replaySourceEvent,
  replayUnread,
  findSourceEvents,
  findEventOfDelivery,
  findThreadOfTask,
  pruneSourceEvents,
  bindThread,
  findBindings,
  listConversations,
  findConversations,
  bindConversation,
  recordKeyUse,
  listKeyUse,
  findCursor,
  claimRun,
  findPlan,
  addToInbox,
  listInbox,
  listUnread,
  listAgentUse,
  listBudgetUse,
  listWaits,
  listWaitedTriggers,
  listWaitShapes,
  findWaits,
  listWaitsOfDeliveries,
  listFilledInboxes,
  countWaits,
  findNextChildren,
  listChildren,
  listLostChildren,
  listAbandonedChildren,
  listApprovals,
  findApproval,
  oldestApproval,
  listPauses,
  resumeTasks,
  saveSession,
  findSessions,
  forgetTaskEnd,
  addToOutbox,
  listMessages,
  findMessages,
  retryMessage,
  dropMessage,
  expireHeld,
  releaseMessage,
  readContent,
  listOutputs,
  outboxCounts,
  pruneOutbox,
  listConnectionStates,
  noteConnection,
  recordControl,
  finishControl,
  listControl,
  createToken,
  findToken,
  listTokens,
  revokeToken,
  findIds,
  nthId,
} satisfies { readonly [Name in StoreMethod]?: SharedCall<Name> };
