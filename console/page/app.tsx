/**
 * The page: frame, navigation, and the screen of the address.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { type ComponentChildren, type RefObject, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reach } from "./data/api.ts";
import { currentKeys, useKeys } from "./keys.ts";
import { live, useWatch } from "./data/live.ts";
import { Link } from "./parts/link.tsx";
import { go, href, path } from "./route.ts";
import { NAVIGATION, screenOf } from "./screens.tsx";
import { openSession, session } from "./data/session.ts";
import { status } from "./data/status.ts";

function App() {
  const opened = session.value;
  if (opened === "opening") return <p class="center">…</p>;
  if (opened === "none" || opened === "ended") return <NoSession ended={opened === "ended"} />;
  return <Frame />;
}

function NoSession({ ended }: { readonly ended: boolean }) {
  return (
    <main class="center">
      <h1>{ended ? "This console has ended" : "This page needs a link"}</h1>
      <p>
        {ended
          ? "The key of this page is no longer good: svc console has ended, or twelve hours are over."
          : "A link is good once. It comes from the terminal in which svc console runs."}
      </p>
      <p>Press Enter in that terminal for a new link, or start it:</p>
      <pre>svc console</pre>
    </main>
  );
}

function Frame() {
  useWatch({ status: true }, (update) => {
    if ("status" in update) status.value = update.status;
  });
  const help = useRef<HTMLDialogElement>(null);
  const search = useRef<HTMLInputElement>(null);
  useKeys([
    { key: "/", help: "Search, or paste an id", act: () => search.current?.focus() },
    { key: "?", help: "This list", act: () => help.current?.showModal() },
  ]);
  const main = useRef<HTMLElement>(null);
  const [name = ""] = path.value;
  const screen = screenOf(path.value);
  useEffect(() => {
    document.title = screen.title === "" ? "svc console" : `${screen.title} · svc console`;
  }, [screen.title]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        To the content
      </a>
      <header>
        <strong>svc</strong>
        <nav aria-label="Screens">
          {NAVIGATION.map(({ parts, label }) => (
            <Link key={label} to={parts} current={(parts[0] ?? "") === (screen.under ?? name)}>
              {label}
            </Link>
          ))}
        </nav>
        <Search input={search} />
        <Connection />
      </header>
      <Faults />
      <main ref={main} id="main" tabindex={-1}>{screen.content}</main>
      <dialog ref={help} aria-label="Keys">
        <h2>Keys</h2>
        <dl class="keys">
          {currentKeys().map(({ key, help }) => (
            <div key={key + help}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{help}</dd>
            </div>
          ))}
        </dl>
        <button type="button" onClick={() => help.current?.close()}>Close</button>
      </dialog>
    </>
  );
}

function Search({ input }: { readonly input: RefObject<HTMLInputElement | null> }) {
  const text = useSignal("");
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = text.value.trim();
        if (wanted !== "") go(href(["search"], { q: wanted }));
        input.current?.blur();
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label="Search, or paste an id"
        placeholder="Search or id  ( / )"
        value={text.value}
        onInput={({ currentTarget }) => text.value = currentTarget.value}
      />
    </form>
  );
}

/** Whether what is shown is up to date. */
function Connection() {
  const text = reach.value === "connected"
    ? {
      stream: "live",
      asking: "asking every 3 s",
      paused: "paused",
      broken: "connecting",
    }[live.value]
    : reach.value === "daemon"
    ? "The daemon does not answer: what is shown is old"
    : "svc console does not answer: what is shown is old";
  const good = reach.value === "connected" && live.value !== "broken";
  return (
    <span class={good ? "connection" : "connection lost"} role="status">
      {good ? "●" : "○"} {text}
    </span>
  );
}

function Faults(): ComponentChildren {
  const faults = status.value?.degraded ?? [];
  if (faults.length === 0) return null;
  return (
    <section class="faults" aria-label="What does not work as it should">
      {faults.map((one) => <p key={one}>{one}</p>)}
    </section>
  );
}

await openSession();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
