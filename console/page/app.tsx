/**
 * The page: frame, navigation and the current screen.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { type ComponentChildren, type RefObject, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { pauseText } from "../../src/api/pause_text.ts";
import { reach } from "./data/api.ts";
import { currentKeys, useKeys } from "./keys.ts";
import { live, useWatch } from "./data/live.ts";
import { hasLogin, logIn } from "./data/login.ts";
import { Link } from "./parts/link.tsx";
import { tabTitle } from "./parts/title.tsx";
import { go, href, path, query } from "./route.ts";
import { NAVIGATION, screenOf } from "./screens.tsx";
import { logOut, openSession, session } from "./data/session.ts";
import { status } from "./data/status.ts";

function App() {
  const opened = session.value;
  if (opened === "opening") return <p class="center">…</p>;
  if (typeof opened === "string") return <NoSession why={opened} />;
  return <Frame />;
}

type Why = "none" | "ended" | "out";

function NoSession({ why }: { readonly why: Why }) {
  if (hasLogin.value) return <LoggedOut why={why} />;
  const ended = why === "ended";
  return (
    <main class="center">
      <h1>{ended ? "This console has ended" : "This page needs a link"}</h1>
      <p>
        {ended
          ? "The session of this page is over: svc console has ended, or twelve hours have passed."
          : "Each link works once. svc console prints it in the terminal where it runs."}
      </p>
      <p>Press Enter in the terminal where svc console runs to get a new link, or start it:</p>
      <pre>svc console</pre>
    </main>
  );
}

/** What somebody reads who is not logged in, by the way it came to that. */
const OUT: Readonly<Record<Why, string>> = {
  none: "This login is over: it opens the console once, within a minute, in the browser that " +
    "logged in.",
  ended: "Your login is over, or an admin has changed who you are here.",
  out: "So are the other tabs of this browser. Your login provider may still know you: where " +
    "others use this computer, log out there as well.",
};

function LoggedOut({ why }: { readonly why: Why }) {
  return (
    <main class="center">
      <h1>{why === "none" ? "You are not logged in" : "You are logged out"}</h1>
      <p>{OUT[why]}</p>
      <p>
        <button type="button" onClick={logIn}>Log in again</button>
      </p>
    </main>
  );
}

function Frame() {
  useWatch({ status: true }, (update) => {
    if ("status" in update) status.value = update.status;
  });
  const help = useRef<HTMLDialogElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = useSignal(false); // the menu of a narrow window, behind a button
  const toSearch = useRef(() => {
    search.current?.focus();
    if (document.activeElement === search.current) return;
    isOpen.value = true;
    requestAnimationFrame(() => search.current?.focus());
  }).current;
  useKeys([
    { key: "/", help: "Search, or paste an id", act: toSearch },
    { key: "?", help: "This list", act: () => help.current?.showModal() },
  ]);
  const main = useRef<HTMLElement>(null);
  const [name = ""] = path.value;
  const screen = screenOf(path.value);
  const entry = NAVIGATION.flatMap(({ entries }) => entries)
    .find(([first]) => first === (screen.under ?? name));
  const here = entry?.[1] ?? screen.title;
  useEffect(() => {
    isOpen.value = false;
  }, [path.value, query.value]);
  const place = path.value.join("/");
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    // The focused element is gone with the previous screen, so the focus moves to the top of this
    // one.
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [place]);
  useEffect(() => {
    document.title = `${tabTitle.value || screen.title} · svc console`;
  }, [screen.title, tabTitle.value]);
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
        Skip to content
      </a>
      <header>
        <Link to={[]} class="brand">svc</Link>
        <button
          type="button"
          class="menu-button"
          ref={button}
          aria-label={`Menu: ${here}`}
          aria-expanded={isOpen.value}
          aria-controls="menu"
          onClick={() => isOpen.value = !isOpen.value}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d={isOpen.value ? "M3.5 3.5l9 9M12.5 3.5l-9 9" : "M2 4h12M2 8h12M2 12h12"} />
          </svg>
          <span>{here}</span>
        </button>
        <div
          id="menu"
          class={isOpen.value ? "menu open" : "menu"}
          onKeyDown={({ key }) => {
            if (key !== "Escape" || !isOpen.value) return;
            isOpen.value = false;
            button.current?.focus(); // the focused element is about to go
          }}
        >
          <nav aria-label="Screens">
            {NAVIGATION.map(({ title, entries }) => (
              <section key={title} aria-label={title}>
                <h2>{title}</h2>
                <ul>
                  {entries.map(([first, label]) => (
                    <li key={label}>
                      <Link to={first === "" ? [] : [first]} current={first === entry?.[0]}>
                        {label}
                      </Link>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
          </nav>
          <Search input={search} />
        </div>
        <Connection />
        <Who />
      </header>
      <Pauses />
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

/** Shows how the screen is kept up to date: by stream, by polling, or not. */
function Connection() {
  const text = reach.value === "connected"
    ? {
      stream: "live",
      asking: "polling every 3 s",
      paused: "paused",
      broken: "connecting",
    }[live.value]
    : reach.value === "daemon"
    ? "The daemon does not answer: this data is old"
    : "svc console does not answer: this data is old";
  const good = reach.value === "connected" && live.value !== "broken";
  return (
    <span class={good ? "connection" : "connection lost"} role="status">
      {good ? "●" : "○"} {text}
    </span>
  );
}

/** Who is logged in, and the way out; nothing in the console of one person. */
function Who() {
  const dialog = useRef<HTMLDialogElement>(null);
  const opened = session.value;
  if (typeof opened !== "object" || opened.person === undefined) return null;
  const { name, role } = status.value?.caller ?? { name: opened.person, role: null };
  return (
    <>
      <button type="button" class="who" title={name} onClick={() => dialog.current?.showModal()}>
        {name}
      </button>
      <dialog ref={dialog} aria-label="Your login">
        <p>
          You are logged in as {name}
          {role === null ? "" : `, with the role ${role}`}.
        </p>
        <p onClick={() => dialog.current?.close()}>
          <Link to={["audit", "control"]} filters={{ caller: name }}>What you did</Link>
        </p>
        <p class="actions">
          <button type="button" onClick={logOut}>Log out</button>
          <button type="button" onClick={() => dialog.current?.close()}>Close</button>
        </p>
      </dialog>
    </>
  );
}

/** What a person has paused: on every screen, as nothing starts until somebody ends it. */
function Pauses(): ComponentChildren {
  const pauses = status.value?.pauses ?? [];
  if (pauses.length === 0) return null;
  return (
    <section class="pauses" aria-label="Paused">
      {pauses.map((one) => <p key={one.project}>{`Paused: ${pauseText(one)}`}</p>)}
    </section>
  );
}

function Faults(): ComponentChildren {
  const faults = status.value?.degraded ?? [];
  if (faults.length === 0) return null;
  return (
    <section class="faults" aria-label="Problems of the daemon">
      {faults.map((one) => <p key={one}>{one}</p>)}
    </section>
  );
}

await openSession();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
