/**
 * Settings of a daemon that runs inside a test.
 *
 * @module
 */

import { type SettingValues, valuesOf } from "../../src/daemon/settings.ts";

/** No webhook server, no Slack, and no limit that a clock moved forward would reach. */
export const OFFLINE: SettingValues = {
  ...valuesOf(new Map()),
  webhookBind: undefined,
  slackApiUrl: "http://127.0.0.1:9",
  workers: 4,
  stepTimeout: undefined,
  taskTimeout: undefined,
};
