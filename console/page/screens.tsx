/**
 * REGISTRY of the screens: what the console shows at each of its pages (`src/console/pages.ts`).
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import type { PageName } from "../../src/console/pages.ts";
import { DEFAULT_PROJECT } from "./data/triggers.ts";
import { ConnectionsPage } from "./pages/connections.tsx";
import { DeliveriesPage } from "./pages/deliveries.tsx";
import { DeliveryPage } from "./pages/delivery.tsx";
import { NowPage } from "./pages/now.tsx";
import { ResourcesPage } from "./pages/resources.tsx";
import { SearchPage } from "./pages/search.tsx";
import { TasksPage } from "./pages/tasks.tsx";
import { TriggerPage } from "./pages/trigger.tsx";
import { TriggersPage } from "./pages/triggers.tsx";
import { lazy } from "./parts/lazy.tsx";
import { Link } from "./parts/link.tsx";

const TaskPage = lazy(async () => (await import("./pages/task.tsx")).TaskPage);
const ResourcePage = lazy(async () => (await import("./pages/resource.tsx")).ResourcePage);
const FilterPage = lazy(async () => (await import("./pages/filter.tsx")).FilterPage);
const SecretsPage = lazy(async () => (await import("./pages/secrets.tsx")).SecretsPage);
const SecretPage = lazy(async () => (await import("./pages/secrets.tsx")).SecretPage);
const ApprovalsPage = lazy(async () => (await import("./pages/approvals.tsx")).ApprovalsPage);
const ApprovalPage = lazy(async () => (await import("./pages/approvals.tsx")).ApprovalPage);
const MessagePage = lazy(async () => (await import("./pages/message.tsx")).MessagePage);
const ThreadPage = lazy(async () => (await import("./pages/thread.tsx")).ThreadPage);
const ThreadsPage = lazy(async () => (await import("./pages/threads.tsx")).ThreadsPage);
const AuditPage = lazy(async () => (await import("./pages/audit.tsx")).AuditPage);
const LogPage = lazy(async () => (await import("./pages/log.tsx")).LogPage);

interface Screen {
  readonly title: string;
  readonly content: ComponentChildren;
  /** The screen that the navigation marks as the current one; this screen itself when absent. */
  readonly under?: PageName;
}

/** An entry of the navigation: the first part of the address of its screen, and its name. */
type Entry = readonly [name: PageName | "", label: string];

/** The navigation, in three groups. */
export const NAVIGATION: readonly { readonly title: string; readonly entries: readonly Entry[] }[] =
  [
    {
      title: "Activity",
      entries: [
        ["", "Now"],
        ["deliveries", "Deliveries"],
        ["tasks", "Tasks"],
        ["approvals", "Approvals"],
        ["threads", "Threads"],
      ],
    },
    {
      title: "Setup",
      entries: [
        ["triggers", "Triggers"],
        ["filter", "Try a filter"],
        ["connections", "Connections"],
        ["secrets", "Secrets"],
        ["resources", "Resources"],
      ],
    },
    { title: "Security", entries: [["audit", "Audit"]] },
  ];

/** Makes each screen from the parts of its address after the first one, which is the key here. */
const SCREENS: Readonly<Record<PageName | "", (...rest: readonly string[]) => Screen>> = {
  "": () => ({ title: "Now", content: <NowPage /> }),
  deliveries: () => ({ title: "Deliveries", content: <DeliveriesPage /> }),
  delivery: (id = "") => ({
    title: "Delivery",
    under: "deliveries",
    content: <DeliveryPage key={id} id={id} />,
  }),
  filter: () => ({ title: "Try a filter", content: <FilterPage /> }),
  search: () => ({ title: "Search", content: <SearchPage /> }),
  tasks: () => ({ title: "Tasks", content: <TasksPage /> }),
  task: (id = "", part = "") =>
    part === "log"
      ? { title: "Log", under: "tasks", content: <LogPage key={id} id={id} /> }
      : { title: "Task", under: "tasks", content: <TaskPage key={id} id={id} /> },
  triggers: () => ({ title: "Triggers", content: <TriggersPage /> }),
  trigger: (...of) => {
    const { project, name } = named(of);
    return {
      title: name,
      under: "triggers",
      content: <TriggerPage key={`${project}/${name}`} project={project} name={name} />,
    };
  },
  threads: () => ({ title: "Threads", content: <ThreadsPage /> }),
  thread: (id = "") => ({
    title: "Thread",
    under: "threads",
    content: <ThreadPage key={id} id={id} />,
  }),
  connections: () => ({ title: "Connections", content: <ConnectionsPage /> }),
  outbox: (id = "") => ({
    title: "Message",
    under: "connections",
    content: <MessagePage key={id} id={id} />,
  }),
  resources: () => ({ title: "Resources", content: <ResourcesPage /> }),
  resource: (kind = "", ...of) => ({
    title: of.at(-1) ?? kind,
    under: "resources",
    content: (
      <ResourcePage
        key={[kind, ...of].join("/")}
        kind={kind}
        project={of.length > 1 ? of[0] ?? "" : ""}
        name={of.at(-1) ?? ""}
      />
    ),
  }),
  approvals: (task = "", step = "") =>
    task === "" ? { title: "Approvals", content: <ApprovalsPage /> } : {
      title: "Approval",
      under: "approvals",
      content: <ApprovalPage key={`${task}.${step}`} task={task} step={step} />,
    },
  audit: (...rest) => ({ title: "Audit", content: <AuditPage rest={rest} /> }),
  secrets: () => ({ title: "Secrets", content: <SecretsPage /> }),
  secret: (...of) => {
    const { project, name } = named(of);
    return {
      title: name,
      under: "secrets",
      content: <SecretPage key={`${project}/${name}`} project={project} name={name} />,
    };
  },
};

/**
 * Project and name of `PROJECT/NAME`; `NAME` alone is in the default project, as on the command
 * line.
 */
function named(of: readonly string[]): { readonly project: string; readonly name: string } {
  const [first = "", second] = of;
  return second === undefined
    ? { project: DEFAULT_PROJECT, name: first }
    : { project: first, name: second };
}

/** The screen for the parts of an address, or a screen that says that the page does not exist. */
export function screenOf([name = "", ...rest]: readonly string[]): Screen {
  const screen = Object.hasOwn(SCREENS, name) ? SCREENS[name as PageName | ""] : undefined;
  if (screen !== undefined) return screen(...rest);
  return {
    title: "Not found",
    content: (
      <p>
        This page does not exist. <Link to={["deliveries"]}>Go to deliveries</Link>
      </p>
    ),
  };
}
