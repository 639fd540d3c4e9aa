/**
 * The search of the manual, the same in a terminal and in a browser: sections by how rare the words are
 * that they have, and where. Pure, and it imports nothing.
 *
 * @module
 */

/** A section of a page, as it is searched. */
export interface SearchEntry {
  readonly topic: string;
  /** Title of its page. */
  readonly page: string;
  /** Empty for the beginning of a page. */
  readonly anchor: string;
  readonly heading: string;
  /** Questions that this section answers. */
  readonly questions: readonly string[];
  /** Its paragraphs, cells and lines of code. */
  readonly text: readonly string[];
}

/** A section that was found. */
export interface SearchHit {
  readonly entry: SearchEntry;
  readonly score: number;
  /** The line that matches best; empty where only headings do. */
  readonly excerpt: string;
}

/** Words that are in every question and say nothing of what it is about. */
const COMMON = new Set(
  ("a about an and are as at be but by can cannot could did do does for from had has have how i if in " +
    "is it its me my no not of on or our so than that the their them then there these they this to " +
    "was we were what when where which who why will with would you your s t don").split(" "),
);

/** What one word counts where it stands, for each word of a search. */
const WEIGHTS = { heading: 6, page: 2.5, text: 1.5 };
/** What a section of the reference of commands counts, beside one that explains something. */
const REFERENCE = { topic: "commands", weight: 0.4 };
/** What a question counts that has every word of the search. */
const QUESTION = 5;
/** What is found beside something that fits much better is noise. */
const LEAST = 0.15;
/** What a word counts that only begins with the searched word. */
const BEGUN = 0.4;

/** The words of a text, in small letters, cut down to their stem. */
export function stems(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem);
}

/** A word without the endings that its other forms have. */
function stem(word: string): string {
  let short = word;
  if (short.length > 4) short = short.replace(/ies$/, "y").replace(/(?<=[^s])s$/, "");
  else if (short.length > 3) short = short.replace(/(?<=[^su])s$/, "");
  if (short.length > 5) short = short.replace(/(ing|ion|ed|ly)$/, "");
  else if (short.length === 5) short = short.replace(/(?<=[^e])ed$/, "");
  return short.replace(/([^aeiouls])\1$/, "$1").replace(/(?<=\w{3})e$/, "");
}

/** An entry with its words, counted once for all searches. */
interface IndexedEntry {
  readonly entry: SearchEntry;
  readonly heading: ReadonlySet<string>;
  readonly page: ReadonlySet<string>;
  readonly questions: readonly (readonly string[])[];
  readonly text: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Searches sections; one index serves many searches. */
export class Search {
  readonly #all: readonly IndexedEntry[];
  readonly #averageLength: number;

  /** Counts the words of these sections. */
  constructor(entries: readonly SearchEntry[]) {
    this.#all = entries.map(indexEntry);
    const total = this.#all.reduce((sum, { length }) => sum + length, 0);
    this.#averageLength = total / Math.max(1, entries.length);
  }

  /** The sections that fit best, the best first. */
  find(words: string, most = 8): readonly SearchHit[] {
    const all = [...new Set(stems(words))];
    const said = all.filter((word) => !COMMON.has(word));
    const terms = (said.length === 0 ? all : said).map((word) => ({
      word,
      rare: this.#rarity(word),
    }));
    const total = terms.reduce((sum, { rare }) => sum + rare, 0);
    const scored = this.#all.map((one) => {
      let [score, covered] = [0, 0];
      for (const { word, rare } of terms) {
        const weight = this.#weightOf(word, one);
        score += rare * weight;
        if (weight > 0) covered += rare;
      }
      const share = total === 0 ? 0 : covered / total;
      const asked = questionScore(one, terms.map(({ word }) => word), all);
      return {
        entry: one.entry,
        score: weightOf(one.entry) * score * share * share + asked * total,
      };
    });
    const best = scored.reduce((most, { score }) => Math.max(most, score), 0);
    return scored.filter(({ score }) => score > LEAST * best)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, most).map(({ entry, score }) => ({
        entry,
        score,
        excerpt: excerptOf(entry, terms),
      }));
  }

  /** Much for a word that few sections have. */
  #rarity(word: string): number {
    const having = this.#all.filter((one) => one.text.has(word) || one.heading.has(word)).length;
    return Math.log(1 + this.#all.length / (having + 0.5));
  }

  #weightOf(word: string, { heading, page, text, length }: IndexedEntry): number {
    const often = countOf(word, text);
    const long = 0.5 + 0.5 * length / this.#averageLength;
    const inText = often === 0 ? 0 : WEIGHTS.text * often * 2 / (often + long);
    return inText + WEIGHTS.heading * hasWord(word, heading) + WEIGHTS.page * hasWord(word, page);
  }
}

function weightOf({ topic, heading }: SearchEntry): number {
  return topic === REFERENCE.topic && heading.startsWith("svc ") ? REFERENCE.weight : 1;
}

function indexEntry(entry: SearchEntry): IndexedEntry {
  const words = entry.text.flatMap(stems);
  const text = new Map<string, number>();
  for (const word of words) text.set(word, (text.get(word) ?? 0) + 1);
  return {
    entry,
    heading: new Set(stems(entry.heading)),
    page: new Set([...stems(entry.page), ...stems(entry.topic)]),
    questions: entry.questions.map(stems),
    text,
    length: words.length,
  };
}

function hasWord(word: string, words: ReadonlySet<string>): number {
  if (words.has(word)) return 1;
  return word.length > 2 && [...words].some((other) => other.startsWith(word)) ? BEGUN : 0;
}

function countOf(word: string, words: ReadonlyMap<string, number>): number {
  const exact = words.get(word);
  if (exact !== undefined || word.length < 3) return exact ?? 0;
  for (const other of words.keys()) if (other.startsWith(word)) return BEGUN;
  return 0;
}

/** How well a question of the section fits the search; each small word in it counts a little. */
function questionScore(
  { questions }: IndexedEntry,
  terms: readonly string[],
  all: readonly string[],
): number {
  return questions.reduce((best, question) => {
    if (!terms.every((word) => question.includes(word))) return best;
    const same = all.filter((word) => question.includes(word)).length;
    return Math.max(best, QUESTION * same / all.length);
  }, 0);
}

function excerptOf(
  { text }: SearchEntry,
  terms: readonly { readonly word: string; readonly rare: number }[],
): string {
  let best = { line: "", score: 0 };
  for (const line of text.flatMap((block) => block.split(/(?<=[.?!:]) (?=[A-Z\`])/))) {
    const words = new Set(stems(line));
    const score = terms.reduce((sum, { word, rare }) => sum + rare * hasWord(word, words), 0);
    if (score > best.score) best = { line, score };
  }
  return best.line.trim().replace(/\s+/g, " ");
}
