/**
 * A `/bin/sh` that keeps running and answers each line with a line, so that a builtin of the shell needs
 * no new process. Questions are sent together and answered in their order. A shell that is killed (a
 * step may run `killall sh`) is replaced, and its unanswered questions are sent again.
 *
 * @module
 */

/** Answers questions until it is disposed. */
export interface ShellCoprocess extends AsyncDisposable {
  /** The answer to a line. A function is called whenever the line is sent, also when it is sent again. */
  ask(line: string | (() => string)): Promise<string>;
}

interface Question {
  readonly line: string | (() => string);
  readonly resolve: (answer: string) => void;
  readonly reject: (error: Error) => void;
  /** Number of shells that have ended without an answer. */
  lost: number;
}

/**
 * Number of shells after which a question fails, so that a step that kills every shell cannot keep it
 * open for ever.
 */
const MAX_LOST = 3;

/**
 * Starts a shell that runs `script`: a loop that reads a line and prints its answer. Each shell first
 * gets `firstLines`, with the state of the shell before it.
 */
export function startShellCoprocess(
  script: string,
  firstLines: () => readonly string[] = () => [],
): ShellCoprocess {
  let closing = false;
  let shell: Shell | undefined = start();

  function start(): Shell {
    const started = new Shell(script, takeUp);
    for (const line of firstLines()) {
      // Not sent again if it is lost: the next shell has first lines of its own.
      started.put({ line, resolve() {}, reject() {}, lost: MAX_LOST });
    }
    return started;
  }

  /** Starts a shell, unless one runs or this closes. If that fails, the next question tries it again. */
  function restart(): Error | undefined {
    try {
      if (!closing) shell ??= start();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  function put(question: Question): void {
    const fault = restart();
    if (fault === undefined) shell?.put(question);
    else question.reject(fault);
  }

  /** Sends the unanswered questions of a shell to a new one. */
  function takeUp(open: readonly Question[]): void {
    shell = undefined;
    restart();
    for (const question of open) {
      if (closing || ++question.lost >= MAX_LOST) {
        question.reject(new Error("The shell that handles processes has ended"));
      } else {
        put(question);
      }
    }
  }

  return {
    ask(line) {
      return new Promise((resolve, reject) => put({ line, resolve, reject, lost: 0 }));
    },
    async [Symbol.asyncDispose]() {
      await shell?.idle();
      closing = true;
      await shell?.close();
    },
  };
}

/** One shell process, with the questions that it has not answered. */
class Shell {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #open: Question[] = [];
  #unsent = "";
  #sending: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(script: string, onEnd: (open: readonly Question[]) => void) {
    this.#child = new Deno.Command("/bin/sh", {
      args: ["-c", script],
      cwd: "/", // after `sudo -u`, the user may have no right to the working directory
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      clearEnv: true,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      detached: true, // Ctrl-C at the terminal must not end it, because the daemon still needs it
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read().then(async () => {
      await this.#writer.close().catch(() => {});
      await this.#child.status;
      onEnd(this.#open.splice(0));
      this.#onIdle?.();
    });
  }

  put(question: Question): void {
    this.#open.push(question);
    const { line } = question;
    this.#unsent += `${typeof line === "string" ? line : line()}\n`;
    this.#sending ??= Promise.resolve().then(() => this.#send());
  }

  /** Resolves when every question is answered. */
  async idle(): Promise<void> {
    if (this.#open.length === 0) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#reading;
  }

  /** Sends all questions of one turn of the event loop in one write. */
  async #send(): Promise<void> {
    while (this.#unsent !== "") {
      const text = this.#unsent;
      this.#unsent = "";
      // Fails when the shell has ended; then the question is sent to the next one.
      await this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
    }
    this.#sending = undefined;
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.#child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#open.shift()?.resolve(line);
      if (this.#open.length === 0) this.#onIdle?.();
    }
  }
}
