/**
 * A mail server: takes mail over SMTP (RFC 5321) on this machine, or refuses it at the point that a
 * test names.
 *
 * @module
 */

/** What it was sent. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Head and text, as they came. */
  readonly data: string;
  /** What was shown for AUTH PLAIN, decoded; empty without. */
  readonly auth: string;
}

/** The answers that a test changes; each a line with its code. */
export interface SmtpAnswers {
  greeting?: string;
  auth?: string;
  rcpt?: string;
  data?: string;
}

export interface FakeSmtp extends AsyncDisposable {
  readonly port: number;
  readonly mails: ReceivedMail[];
  answers: SmtpAnswers;
}

/** Starts one on a free port of `hostname`. */
export function fakeSmtp(answers: SmtpAnswers = {}, hostname = "127.0.0.1"): FakeSmtp {
  const listener = Deno.listen({ hostname, port: 0 });
  const open = new Set<Deno.Conn>();
  const fake = {
    port: listener.addr.port,
    mails: [] as ReceivedMail[],
    answers,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      await serving;
    },
  };
  const talk = async (connection: Deno.Conn) => {
    open.add(connection);
    try {
      await converse(connection, fake);
    } catch {
      // The other side has gone, or the test is over.
    } finally {
      open.delete(connection);
      try {
        connection.close();
      } catch {
        // It is closed.
      }
    }
  };
  const serving = (async () => {
    const talks: Promise<void>[] = [];
    try {
      for await (const connection of listener) talks.push(talk(connection));
    } catch {
      // It was closed.
    }
    await Promise.all(talks);
  })();
  return fake;
}

async function converse(
  connection: Deno.Conn,
  { answers, mails }: Pick<FakeSmtp, "answers" | "mails">,
): Promise<void> {
  const say = (line: string) => connection.write(new TextEncoder().encode(`${line}\r\n`));
  let [from, auth] = ["", ""];
  let to: string[] = [];
  let text = "";
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  const more = async () => {
    const count = await connection.read(buffer);
    if (count === null) throw new Error("closed");
    text += decoder.decode(buffer.subarray(0, count), { stream: true });
  };
  const until = async (mark: string) => {
    for (;;) {
      const at = text.indexOf(mark);
      if (at >= 0) {
        const found = text.slice(0, at);
        text = text.slice(at + mark.length);
        return found;
      }
      await more();
    }
  };
  await say(answers.greeting ?? "220 fake ESMTP");
  for (;;) {
    const line = await until("\r\n");
    const word = line.split(" ")[0]?.toUpperCase();
    if (word === "EHLO") await say("250-fake\r\n250 AUTH PLAIN");
    else if (word === "AUTH") {
      auth = atob(line.split(" ")[2] ?? "").replaceAll("\0", " ").trim();
      await say(answers.auth ?? "235 ok");
    } else if (word === "MAIL") {
      from = /<(.*)>/.exec(line)?.[1] ?? "";
      await say("250 ok");
    } else if (word === "RCPT") {
      to.push(/<(.*)>/.exec(line)?.[1] ?? "");
      await say(answers.rcpt ?? "250 ok");
    } else if (word === "DATA") {
      await say("354 go on");
      const data = await until("\r\n.\r\n");
      const answer = answers.data ?? "250 taken";
      if (answer.startsWith("2")) mails.push({ from, to, data, auth });
      to = [];
      await say(answer);
    } else if (word === "QUIT") {
      await say("221 bye");
      return;
    } else await say(word === "STARTTLS" ? "502 no TLS here" : "250 ok");
  }
}
