// @ts-check
// Draws the live page again at each published step. Everything it writes is a text or an element
// made here: no HTML is parsed. Without this script the page shows what it was loaded with.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 160;
const HEIGHT = 14;
const PLAIN = { largest: 0, is_long: false };

/**
 * @typedef {{cells: string[], bar: [number, number, number] | null}} Row
 * @typedef {{caption: string, head: string[], rows: Row[], largest: number, is_long: boolean}} Table
 * @typedef {{name: string, heading: string, tables: Table[], notes: string[]}} Section
 * @typedef {{status: string, status_text: string, n: number, planned: number, progress: string,
 *   counted: number, is_final: boolean, about_count: string, command: string,
 *   about_step: string, about_intervals: string, step: number, sections: Section[],
 *   rejects: [string, number][]}} Step
 */

/** An element with a text. @param {string} name @param {string} [content] */
function made(name, content) {
  const element = document.createElement(name);
  if (content !== undefined) element.textContent = content;
  return element;
}

/** The element with an id. @param {string} id @returns {any} */
const by = (id) => document.getElementById(id);

/** Set a text if it is another one, so that screen readers say only what is new.
 * @param {Element} element @param {string} content */
function say(element, content) {
  if (element.textContent !== content) element.textContent = content;
}

/** An element of a picture. @param {string} name @param {Record<string, string | number>} facts */
function drawn(name, facts) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(facts)) element.setAttribute(key, String(value));
  return element;
}

/** The same picture as interval_bar of the server.
 * @param {[number, number, number]} bar @param {number} largest */
function picture([share, low, high], largest) {
  const [end, left, right] = [share, low, high].map((value) =>
    Number((WIDTH * Math.min(Math.max(value / largest, 0), 1)).toPrecision(4)),
  );
  const [middle, tick] = [HEIGHT / 2, HEIGHT / 4];
  const ends = [left, right].map((x) => `M${x} ${middle - tick}V${middle + tick}`).join("");
  const box = { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` };
  const svg = drawn("svg", { class: "warner-bar", ...box, "aria-hidden": "true" });
  const shape = { x: 0, y: 1, width: end, height: HEIGHT - 2 };
  const line = { d: `M${left} ${middle}H${right}${ends}`, stroke: "currentColor" };
  svg.append(
    drawn("rect", { ...shape, fill: "currentColor", "fill-opacity": 0.3 }),
    drawn("path", { ...line, "stroke-width": 1.5, fill: "none" }),
  );
  return svg;
}

/** A heading of a column or of a row. @param {string} content @param {string} scope */
function heading(content, scope) {
  const cell = made("th", content);
  cell.setAttribute("scope", scope);
  return cell;
}

/** Fill a table. @param {HTMLTableElement} table @param {Table} data */
function fill(table, data) {
  table.className = "warner";
  say(table.caption ?? table.createCaption(), data.caption);
  const above = made("tr");
  above.append(...data.head.map((name) => heading(name, "col")));
  if (data.largest) above.append(made("td"));
  (table.tHead ?? table.createTHead()).replaceChildren(above);
  const rows = data.rows.map(({ cells: [first, ...rest], bar }) => {
    const line = made("tr");
    line.append(heading(first, "row"), ...rest.map((cell) => made("td", cell)));
    if (data.largest && bar) {
      const cell = made("td");
      cell.append(picture(bar, data.largest));
      line.append(cell);
    }
    return line;
  });
  (table.tBodies[0] ?? table.createTBody()).replaceChildren(...rows);
}

/** The section of a question; what it has is filled anew, so that nothing open is closed.
 * @param {Element | undefined} known @param {Section} data */
function section(known, data) {
  const whole = known ?? made("section");
  let tables = [...whole.querySelectorAll("table")];
  const folds = tables.map((table) => table.closest("details") !== null);
  const same = known && String(folds) === String(data.tables.map((table) => table.is_long));
  if (!same) {
    const blocks = data.tables.map((table) => {
      const inside = made("table");
      if (!table.is_long) return inside;
      const folded = made("details");
      folded.append(made("summary"), inside);
      return folded;
    });
    const notes = made("div");
    notes.className = "notes";
    whole.replaceChildren(made("h2", data.heading), ...blocks, notes);
    tables = [...whole.querySelectorAll("table")];
  }
  data.tables.forEach((table, i) => {
    fill(tables[i], table);
    const above = tables[i].closest("details")?.querySelector("summary");
    if (above) say(above, `${table.rows.length.toLocaleString("en")} rows: ${table.caption}`);
  });
  whole.querySelector(".notes")?.replaceChildren(...data.notes.map((note) => made("p", note)));
  return whole;
}

/** Draw a step. @param {Step} step */
function draw(step) {
  say(by("about-count"), step.about_count);
  say(by("command"), step.command);
  by("no-files").hidden = step.step > 0;
  by("files").hidden = step.step === 0;
  by("final").hidden = !step.is_final;
  say(by("status"), step.status_text);
  say(by("progress"), step.progress);
  say(by("about-step"), step.about_step);
  say(by("about-intervals"), step.about_intervals);
  by("bar").value = Math.min(step.counted, step.planned);
  by("close").hidden = step.status === "closed";
  by("open").hidden = step.status === "open" || step.is_final;
  const all = by("sections");
  const known = [...all.children];
  // Between two steps the sections stay as they are, so that a selected text stays selected.
  (step.step === last ? [] : step.sections).forEach((data, i) => {
    const found = section(known[i], data);
    if (!known[i]) all.append(found);
  });
  last = step.step;
  const [counted, none] = by("rejects").querySelectorAll("div, p");
  counted.hidden = step.rejects.length === 0;
  none.hidden = step.rejects.length > 0;
  const { caption, tHead } = counted.querySelector("table");
  const head = ["reason", "requests"];
  const rows = step.rejects.map(([why, count]) => ({ cells: [why, count.toLocaleString("en")], bar: null }));
  if (tHead) fill(counted.querySelector("table"), { ...PLAIN, caption: caption.textContent, head, rows });
}

let last = -1;
const lost = by("connection");
const events = new EventSource("live/events");
events.addEventListener("step", (event) => draw(JSON.parse(event.data)));
events.addEventListener("open", () => {
  lost.hidden = true;
  say(lost, "");
});
events.addEventListener("error", () => {
  lost.hidden = false;
  const gone = events.readyState === EventSource.CLOSED;
  say(lost, gone ? "The connection ended. Load the page again." : "The connection is lost. Trying again.");
});
