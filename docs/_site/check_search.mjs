// Searches a built site as its search page does: node check_search.mjs FOLDER WORDS ...
// prints {words: [pages, best first]} as JSON.
import fs from "node:fs";
import vm from "node:vm";

const [folder, ...queries] = process.argv.slice(2);
const page = vm.createContext({
  document: { getElementById: () => null, documentElement: { dataset: {} } },
  SPHINX_HIGHLIGHT_ENABLED: false,
  _ready() {},
  _: (text) => text,
});
page.window = page;
for (const file of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"]) {
  const script = fs.readFileSync(`${folder}/${file}`, "utf8");
  const after = file.endsWith("searchtools.js")
    ? "globalThis.Search = Search; globalThis._removeChildren = () => {};"
    : "";
  vm.runInContext(`${script.replace("const _removeChildren", "var unused")}\n${after}`, page, { filename: file });
}
const ranked = (query) => {
  const parsed = page.Search._parseQuery(query);
  const pages = page.Search._performSearch(...parsed).reverse().map((result) => result[0]);
  return [...new Set(pages)];
};
console.log(JSON.stringify(Object.fromEntries(queries.map((query) => [query, ranked(query)]))));
