/**
 * Tells people of approvals, with messages of the outbox.
 *
 * @module
 */

import type { OutboxStore } from "../store/outbox_store.ts";
import { MESSAGES_OF_TASK, type NewMessage } from "../store/outbox_records.ts";
import type { AskingPlace, ToldQuestion } from "../store/approval_records.ts";
import type { Tell } from "../resources/tell.ts";
import { approvalDrafts, overDrafts, type Told } from "./approval_drafts.ts";
import type { Draft } from "./message_kind.ts";
import type { AnswerSources } from "./origin.ts";

/** The parts of the daemon that tell people. */
export interface TellerHost extends AnswerSources {
  readonly store: AnswerSources["store"] & Pick<OutboxStore, "listMessages">;
  readonly outbox: {
    prepare(drafts: readonly Draft[]): readonly NewMessage[];
    enqueue(drafts: readonly Draft[]): Promise<unknown>;
  };
}

/** Makes what a step that asks uses to tell people. */
export function approvalTeller(host: TellerHost) {
  return {
    async ask(
      question: ToldQuestion,
      tell: readonly Tell[],
    ): Promise<Omit<Told, "drafts"> & { readonly messages: readonly NewMessage[] }> {
      const { drafts, ...told } = await approvalDrafts(question, tell, host);
      return { ...told, messages: host.outbox.prepare(drafts) };
    },
    async over(
      { task: { id: taskId }, step, round }: AskingPlace,
      over: string,
    ): Promise<void> {
      const messages = await host.store.listMessages({ taskId, limit: MESSAGES_OF_TASK });
      await host.outbox.enqueue(overDrafts(messages, { taskId, step, round, over }));
    },
  };
}
