/**
 * What is known of a Connection after something was learnt. Pure.
 *
 * @module
 */

import type { ConnectionKey, ConnectionNews, ConnectionState } from "../connection_records.ts";

/** Gaps that are kept of each Connection. */
const GAPS_KEPT = 10;

/** The state of a Connection before anything was learnt of it. */
export function nothingKnown({ project, name, createdAt }: ConnectionKey): ConnectionState {
  return { project, name, createdAt, marks: {}, repaired: 0, lost: 0, gaps: [] };
}

/** Adds `news` to what was known; `now` is when a new fault began. */
export function withNews(
  before: ConnectionState,
  news: ConnectionNews,
  now: number,
): ConnectionState {
  const { gap } = news;
  const state: { -readonly [Field in keyof ConnectionState]: ConnectionState[Field] } = {
    ...before,
    marks: Object.assign({}, before.marks, news.marks),
    repaired: before.repaired + (gap?.repaired ?? 0),
    lost: before.lost + (gap?.lost ?? 0),
    gaps: gap === undefined ? before.gaps : [gap, ...before.gaps].slice(0, GAPS_KEPT),
  };
  if (news.login !== undefined) state.login = news.login;
  if (news.userId !== undefined) state.userId = news.userId;
  if (news.lastEventAt !== undefined) {
    state.lastEventAt = Math.max(news.lastEventAt, before.lastEventAt ?? 0);
  }
  if (news.repairedAt !== undefined) state.repairedAt = news.repairedAt;
  if (news.tokenEndsAt === null) delete state.tokenEndsAt;
  else if (news.tokenEndsAt !== undefined) state.tokenEndsAt = news.tokenEndsAt;
  if (news.fault === null) {
    delete state.fault;
    delete state.faultSince;
  } else if (news.fault !== undefined) {
    state.fault = news.fault;
    state.faultSince = before.faultSince ?? now;
  }
  return state;
}
