/**
 * The search of the site, in a browser: the same as `svc docs --search`, over the index that
 * search-index.js puts beside it.
 *
 * @module
 */

import { Search } from "../../src/docs/search.ts";

const { document } = globalThis;
const search = new Search(globalThis.SVC_DOCS);
const root = document.documentElement.dataset.root;
const words = document.getElementById("words");
const hits = document.getElementById("hits");

function show() {
  const found = words.value.trim() === "" ? [] : search.find(words.value, 8);
  hits.replaceChildren(...found.map(({ entry, excerpt }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${root}${entry.topic}.html${entry.anchor === "" ? "" : `#${entry.anchor}`}`;
    const title = document.createElement("strong");
    title.textContent = entry.heading === entry.page || entry.anchor === ""
      ? entry.page
      : `${entry.page}: ${entry.heading}`;
    const line = document.createElement("span");
    line.textContent = excerpt;
    link.append(title, line);
    item.append(link);
    return item;
  }));
  if (words.value.trim() !== "" && found.length === 0) hits.textContent = "Nothing found";
  hits.hidden = words.value.trim() === "";
}

words.addEventListener("input", show);
words.addEventListener("keydown", (event) => {
  if (event.key === "Enter") hits.querySelector("a")?.click();
  if (event.key !== "Escape") return;
  words.value = "";
  show();
});
hits.addEventListener("click", () => {
  hits.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === words) return;
  event.preventDefault();
  words.focus();
});
