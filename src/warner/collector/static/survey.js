// The survey page: it reads the answers, has them sealed once, deletes them, and sends the bytes.
//
// All words stand in the page. This script shows and hides them, and sets text, never HTML. An
// answer is in the form, and in the list that the person checks, until Send is pressed. Then it is
// randomised once, the sealed bytes are saved, and the answers are deleted before the report is sent.
// While the page is loaded again the answers are in the memory of the service worker, see form.js.
// Before that, people with an invitation wait until the collector says that their code is unused, or
// until an issuer has given them a token for it.

import {
  CHANNEL, HEAD_BYTES, SYNC, add, all, alone, announce, ask as askCollector, delayOf, drawnOnce,
  exchange, forgetCover, forgetDraw, probe, read, remove, send, sendUnkept, status, update,
} from "./outbox.js";
import { isLastPage, isShown, pageOf, showPage, shownPage } from "./steps.js";
import { handOver, takeBack, translate } from "./form.js";

/** @typedef {import("./outbox.js").Sealed} Sealed */
/** @typedef {any} Survey what warner.js returns for a survey that it has checked. */
/** @typedef {{ question: any, digest: string }} Entry a question, and its name in the ledger. */

const FIRST_WAIT = 2_000; // milliseconds between the first two tries; it doubles
const LONGEST_WAIT = 300_000;
const CACHE = "warner-survey";
const NOTE = "warner-note"; // the key of this tab's record, from which no code follows

const form = /** @type {HTMLFormElement} */ (element("questions"));
const review = element("review");

/**
 * What the page knows. It holds no answer.
 *
 * @type {{
 *   warner: any, survey: Survey, ledger: Entry[], repeated: number, block: number | null,
 *   sealed: Sealed | null,
 *   bytes: Uint8Array | null, kept: boolean, stores: boolean, code: string, tries: number,
 *   timer: number, sending: boolean, shown: string, memo: any, series: string,
 * }}
 */
const page = {
  warner: null,
  survey: null,
  ledger: [],
  repeated: 0, // what the person was told that reports on repeated questions spend
  block: null, // of questions, which was drawn for this person, where not all are asked
  sealed: null,
  bytes: null,
  kept: true,
  stores: true,
  code: "",
  tries: 0,
  timer: 0,
  sending: false,
  shown: "",
  memo: null, // the module that keeps permanent reports, where the survey has several rounds
  series: "", // the survey without its round
};

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
function every(selector, within = document) {
  return Array.from(within.querySelectorAll(selector));
}

// ---------------------------------------------------------------------------------------------
// What is shown.

/**
 * Show one part of the page and nothing else: "questions", "review", or the name of a panel.
 *
 * @param {string} name
 * @param {string} [reason] the name of an error, for the owner of the survey.
 */
function show(name, reason = "") {
  element("loading").hidden = true;
  element("errors").hidden = true;
  form.hidden = name !== "questions";
  review.hidden = name !== "review";
  for (const panel of every("[data-state]")) panel.hidden = panel.dataset.state !== name;
  for (const room of every("[data-fill=reason]")) room.textContent = reason;
  for (const aside of every(".promise, .introduction")) {
    aside.hidden = name !== "questions" && name !== "review";
  }
  if (page.shown === name) return;
  const first = page.shown === "" && name === "questions";
  page.shown = name;
  if (first) return;
  const target = { questions: form, review }[name] ?? element(`state-${name}`);
  target.focus({ preventScroll: true });
  (name === "questions" || name === "review" ? element("main") : target).scrollIntoView();
}

/** Why the report is not sent yet. @param {string} name */
function showReason(name) {
  for (const line of every("[data-reason]")) line.hidden = line.dataset.reason !== name;
}

/**
 * @param {string} name
 * @param {boolean} holds
 */
function showWhen(name, holds) {
  for (const part of every(`[data-when="${name}"]`)) part.hidden = !holds;
}

/** Show the state of the sealed report. */
function showSealed() {
  const { sealed } = page;
  if (sealed === null) return;
  showWhen("tried", sealed.tried);
  showWhen("untried", !sealed.tried);
  if (sealed.state === "sent") showSent();
  else if (sealed.state === "deleted") show("deleted");
  else show(panelOf(sealed), sealed.reason);
}

/**
 * The panel of a report that was not counted yet.
 *
 * @param {Sealed} sealed
 */
function panelOf({ outcome, due = 0 }) {
  if (page.kept && due > Date.now()) return "delayed";
  if (outcome === "closed" || outcome === "not-open") return `${outcome}-pending`;
  if (outcome === null || outcome === "unavailable" || outcome === "busy" || outcome === "sent") {
    return page.kept ? "pending" : "memory";
  }
  return outcome;
}

/** Say that the report was counted, and show its bytes if they are still there. */
function showSent() {
  const { bytes, survey, warner } = page;
  if (bytes !== null && survey.program !== undefined) {
    page.block = warner.blockOf(survey, bytes.slice(HEAD_BYTES));
    showBlock(warner.blocks(survey.program)[/** @type {number} */ (page.block)].attributes);
  }
  for (const room of every("[data-bytes]")) {
    const [start, end] = /** @type {string} */ (room.dataset.bytes).split("-").map(Number);
    const digits = bytes === null ? "" : warner.hexadecimal(bytes.slice(start, end));
    room.textContent = digits.replace(/(.{4})(?=.)/g, "$1 ");
  }
  showWhen("bytes", bytes !== null);
  showWhen("no-bytes", bytes === null);
  show("sent");
}

// ---------------------------------------------------------------------------------------------
// Answers.

/**
 * What was asked by a fieldset: its question or public column in the survey.
 *
 * @param {HTMLElement} field
 */
function askedBy(field) {
  const list = field.id.startsWith("p") ? page.survey.public : page.survey.questions;
  return list.find((/** @type {any} */ asked) => asked.name === field.dataset.question);
}

/** The fieldsets of public columns and of the questions that this person is asked. */
function fields() {
  return every("fieldset[data-question]", form).filter((field) => !field.hidden);
}

/** The ledger's entries of the questions that this person is asked. */
function askedEntries() {
  const asked = new Set(fields().map(askedBy));
  return page.ledger.filter(({ question }) => asked.has(question));
}

// ---------------------------------------------------------------------------------------------
// Which questions are asked, where they are drawn.

/**
 * Draw the questions that this person is asked, and show them and no others.
 *
 * They are drawn before anything is answered, and never again: not after a refusal, a question that
 * was left open, a reload, or another language. Otherwise the draw would depend on the answer.
 */
async function drawQuestions() {
  const { survey, warner } = page;
  if (survey.program === undefined) return;
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("code-0"));
  const code = enteredCode();
  let block = null;
  if (field === null) {
    block = page.block ?? await drawn();
  } else if (code !== "") {
    block = await warner.blockOfCode(survey, code);
    if (enteredCode() !== code) return; // it was changed meanwhile
    if (page.block !== null && page.block !== block) {
      const { value } = field;
      forget(); // the answers to the questions of another code
      field.value = value;
    }
  }
  page.block = block ?? page.block;
  showBlock(block === null ? [] : warner.blocks(survey.program)[block].attributes);
  showRepeated(page.stores ? await all().catch(() => []) : []);
}

/** The block that this browser has drawn for the survey; where it keeps nothing, for this page. */
async function drawn() {
  const draw = () => page.warner.drawBlock(page.survey.program);
  if (!page.stores) return draw();
  try {
    return await drawnOnce(page.warner.nameOfDraw(page.survey), draw);
  } catch {
    if (page.memo !== null) page.stores = false; // what is drawn for all rounds must be kept
    showWhen("keeps-nothing", true);
    return draw();
  }
}

/**
 * Show the questions of a block, on the form and wherever something is said of it.
 *
 * @param {readonly string[]} names none where the code is missing from which they follow.
 */
function showBlock(names) {
  const labels = [];
  for (const field of every("fieldset[id^=q]", form)) {
    field.hidden = !names.includes(/** @type {string} */ (field.dataset.question));
    if (!field.hidden) labels.push(field.querySelector(".label")?.textContent ?? "");
    const row = /** @type {HTMLElement} */ (element("review").querySelector(
      `[data-review="${field.id}"]`)?.parentElement);
    row.hidden = field.hidden;
  }
  for (const line of every("[data-size]")) line.hidden = Number(line.dataset.size) !== names.length;
  for (const room of every("[data-fill=asked]")) room.textContent = labels.join("; ");
  for (const said of every("[data-blocks]")) {
    said.hidden = !/** @type {string} */ (said.dataset.blocks).split(" ").includes(`${page.block}`);
  }
  const wait = document.getElementById("chosen-code");
  if (wait !== null) wait.hidden = names.length > 0;
}

/**
 * The answer in a fieldset and how it is shown; undefined where it is missing or out of range.
 *
 * @param {HTMLElement} field
 * @returns {{ answer: unknown, shown: string } | undefined}
 */
function answerIn(field) {
  const asked = askedBy(field);
  // Everybody sends a report on the question: whether somebody was asked is as hidden as an answer.
  if (field.classList.contains("off")) return { answer: null, shown: field.dataset.text ?? "" };
  const box = /** @type {HTMLInputElement | null} */ (field.querySelector("input[type=checkbox]"));
  const found = box?.checked
    ? { answer: null, shown: labelOf(box) }
    : READERS[/** @type {string} */ (field.dataset.kind)](field, asked.domain);
  if (found === undefined) return undefined;
  try {
    page.warner.indexOf(asked, found.answer);
    return found;
  } catch {
    return undefined;
  }
}

/** @param {HTMLElement} control */
function labelOf(control) {
  return (control.closest("label")?.textContent ?? "").trim();
}

/**
 * @typedef {(field: HTMLElement, domain: any) =>
 *   { answer: unknown, shown: string } | undefined} Reader
 * @type {{ [kind: string]: Reader }}
 */
const READERS = {
  choice: (field, domain) => {
    const select = field.querySelector("select");
    const radio = /** @type {HTMLInputElement | null} */ (field.querySelector("input:checked"));
    const value = select ? select.value : radio?.value ?? "";
    if (value === "") return undefined;
    const shown = select ? select.selectedOptions[0].text : labelOf(/** @type {any} */ (radio));
    if (value === "silence") return { answer: null, shown };
    const index = Number(value);
    const answer = domain.kind === "categorical" ? domain.values[index] : domain.low + index;
    return { answer, shown };
  },
  number: (field) => {
    const input = /** @type {HTMLInputElement} */ (field.querySelector("input[type=number]"));
    if (input.value === "" || !input.validity.valid) return undefined;
    const unit = field.querySelector(".unit")?.textContent ?? "";
    return { answer: input.valueAsNumber, shown: `${input.value} ${unit}`.trim() };
  },
  grid: (field) => {
    const [row, column] = Array.from(field.querySelectorAll("select"), ({ value }) => value);
    if (row === "" || column === "") return undefined;
    const cell = /** @type {HTMLElement} */ (field.querySelector("[data-shown]"));
    const shown = /** @type {string} */ (cell.dataset.shown)
      .replace("{row}", String(Number(row) + 1)).replace("{column}", String(Number(column) + 1));
    return { answer: [Number(row), Number(column)], shown };
  },
  date: (field) => {
    const { value } = /** @type {HTMLInputElement} */ (field.querySelector("input"));
    return value === "" ? undefined : { answer: value, shown: value };
  },
};

/** Delete the answers from the page. */
function forget() {
  form.reset();
  for (const room of every("[data-review]")) room.textContent = "";
  for (const field of every("[aria-invalid]", form)) field.removeAttribute("aria-invalid");
  for (const line of every(".error", form)) line.hidden = true;
  element("errors").hidden = true;
}

// ---------------------------------------------------------------------------------------------
// Checking and reviewing.

/** Check all answers; then show them once more, or say which are missing. */
async function check() {
  await drawQuestions();
  const wrong = await wrongFields();
  if (wrong.length === 0) {
    title(false);
    show("review");
    // The key that goes back then leads to the questions, and not out of the survey.
    if (history.state?.shown !== "review") history.pushState({ shown: "review" }, "");
  } else {
    showErrors(wrong);
  }
}

/** Go on to the next page of the questions, once this one is answered; after the last, check all. */
async function goFurther() {
  await drawQuestions();
  if (isLastPage(form)) {
    await check();
    return;
  }
  const wrong = (await wrongFields()).filter((field) => isShown(form, field));
  for (const field of fields()) if (!isShown(form, field)) mark(field, true); // not seen yet
  if (wrong.length > 0) {
    showErrors(wrong);
    return;
  }
  element("errors").hidden = true;
  title(false);
  const at = shownPage(form) + 1;
  history.pushState({ shown: "questions", at }, "");
  turnTo(at);
}

/** Show a page of the questions, from its beginning. @param {number} at its number from 0. */
function turnTo(at) {
  showPage(form, at, numeral);
  form.focus({ preventScroll: true });
  element(at === 0 ? "main" : "questions").scrollIntoView();
}

/** Mark what is answered, and return the fields that are not answered rightly. */
async function wrongFields() {
  const wrong = [];
  if (page.survey.access !== "open") {
    const code = /** @type {HTMLInputElement} */ (element("code-0"));
    if (!mark(element("code"), page.warner.plainCode(code.value) !== null)) {
      wrong.push(element("code"));
    }
  }
  // Consent is asked and not sent: who does not give it sends no report.
  const box = /** @type {HTMLInputElement | null} */ (document.getElementById("consent-0"));
  if (box !== null && !mark(element("consent"), box.checked)) wrong.push(element("consent"));
  for (const field of fields()) {
    const found = answerIn(field);
    if (!mark(field, found !== undefined) || !await markRoom(field)) wrong.push(field);
    const room = document.querySelector(`[data-review="${field.id}"]`);
    if (room) room.textContent = found?.shown ?? "";
  }
  return wrong;
}

/**
 * Mark a question as right or wrong, for eyes and for screen readers.
 *
 * @param {HTMLElement} field
 * @param {boolean} right
 */
function mark(field, right) {
  element(`${field.id}-error`).hidden = right;
  field.classList.toggle("wrong", !right);
  for (const control of every("input, select", field)) {
    if (right) control.removeAttribute("aria-invalid");
    else if (control.getAttribute("type") !== "radio") control.setAttribute("aria-invalid", "true");
  }
  return right;
}

/**
 * Mark a question whose answer would be one more than this device may report on.
 *
 * @param {HTMLElement} field with an answer.
 * @returns {Promise<boolean>} whether there is room for the answer.
 */
async function markRoom(field) {
  if (page.memo === null || !field.id.startsWith("q")) return true;
  const room = await page.memo.hasRoom(
    page.warner, page.survey, askedBy(field), answerIn(field)?.answer);
  element(`${field.id}-full`).hidden = room;
  field.classList.toggle("wrong", !room);
  return room;
}

/** @param {boolean} wrong */
function title(wrong) {
  const prefix = /** @type {string} */ (document.body.dataset.errorPrefix);
  const plain = document.title.startsWith(prefix)
    ? document.title.slice(prefix.length)
    : document.title;
  document.title = wrong ? prefix + plain : plain;
}

/**
 * The list of what is missing, which takes the focus.
 *
 * @param {HTMLElement[]} wrong
 */
function showErrors(wrong) {
  if (!wrong.some((field) => isShown(form, field))) showPage(form, pageOf(form, wrong[0]), numeral);
  const errors = element("errors");
  const items = wrong.map((field) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const first = /** @type {HTMLElement} */ (field.querySelector("input, select"));
    link.href = `#${first.id}`;
    const question = field.querySelector("legend .label")?.textContent ?? "";
    const said = every(".error", field).find(({ hidden }) => !hidden);
    link.textContent = `${question} — ${said?.textContent ?? ""}`;
    item.append(link);
    return item;
  });
  /** @type {HTMLElement} */ (errors.querySelector("ul")).replaceChildren(...items);
  errors.hidden = false;
  title(true);
  errors.focus({ preventScroll: true });
  errors.scrollIntoView();
}

// ---------------------------------------------------------------------------------------------
// Sealing and sending.

/**
 * The key of a person's record in the outbox. It stays here after the report was sent, so it must not
 * show which report that was: the id follows from the code, and not from this hash of the code.
 *
 * @param {string} code a plain invitation code, "" where none is needed.
 */
async function keyOf(code) {
  const { survey } = page;
  if (survey.access === "open") return survey.study;
  return `${survey.study}:${await digestOf(`warner note\n${survey.study}\n${code}`)}`;
}

/** @param {string} text */
async function digestOf(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return page.warner.hexadecimal(new Uint8Array(hash).slice(0, 16));
}

/**
 * The questions of this survey as the ledger of the device names them: by name and values. Another
 * version of a study may ask the same question in other words, or with another protection.
 *
 * @returns {Promise<Entry[]>}
 */
function ledgerOf(/** @type {Survey} */ survey) {
  return Promise.all(survey.questions.map(async (/** @type {any} */ question) => {
    const same = JSON.stringify([question.name, question.domain]); // the survey's keys are sorted
    return { question, digest: await digestOf(`warner question\n${same}`) };
  }));
}

/** A number as the page's language writes it. @param {number} number */
function numeral(number) {
  // Without a region: not every tag of a study is one that browsers know.
  const [language] = document.documentElement.lang.split("-");
  return number.toLocaleString(language, { numberingSystem: "latn", maximumFractionDigits: 20 });
}

/** The name of a survey in all its rounds. @param {Survey} survey */
async function seriesOf({ questions, repeat }) {
  if (repeat.draw !== undefined) return repeat.draw;
  return digestOf(`warner series\n${JSON.stringify(questions.map((/** @type {any} */ question) => (
    [question.name, question.domain, question.program.memo])))}`);
}

/**
 * Say which questions were answered in this browser in other surveys, and what all reports on them
 * spend with the next one.
 *
 * @param {Sealed[]} kept
 * @returns {boolean} whether that is more than the person was told.
 */
function showRepeated(kept) {
  // Rounds of one survey share permanent reports. What they spend together the page says elsewhere.
  const apart = kept.filter(({ series }) => page.series === "" || series !== page.series);
  const others = apart.filter(({ study }) => study !== page.survey.study);
  const repeated = askedEntries().filter(({ digest }) => others.some(({ spent }) => digest in spent));
  const epsilons = repeated.flatMap(({ question, digest }) => (
    [question.epsilon, ...apart.map(({ spent }) => spent[digest] ?? 0)]));
  const epsilon = epsilons.reduce((sum, term) => sum + term, 0);
  const labels = fields().filter((field) => repeated.some(({ question }) => (
    askedBy(field) === question))).map((field) => field.querySelector(".label")?.textContent);
  const up = Math.ceil(epsilon * 100 - 1e-9) / 100; // never less than it is
  for (const room of every("[data-when=repeated][data-text]")) {
    room.textContent = /** @type {string} */ (room.dataset.text)
      .replaceAll("{epsilon}", numeral(up))
      .replaceAll("{questions}", () => labels.join("; "));
  }
  showWhen("repeated", repeated.length > 0);
  showWhen("first", repeated.length === 0);
  const isNews = epsilon > page.repeated;
  page.repeated = epsilon;
  return isNews;
}

/** The code that the person has entered, plain; "" where none is needed. */
function enteredCode() {
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("code-0"));
  return field === null ? "" : page.warner.plainCode(field.value) ?? "";
}

/** Ask, seal the answers, delete them, save the bytes, and send them. */
async function press() {
  if (page.sealed !== null || (page.shown !== "review" && page.shown !== "waiting")) return;
  window.clearTimeout(page.timer);
  if (page.shown === "waiting") showReason("asking");
  else show("sealing");
  try {
    // One tab at a time, also of other surveys: two presses in two tabs seal one report, and what
    // one has spent the other knows.
    await alone("seal", sealOnce);
  } catch (error) {
    forget();
    show("refused", nameOf(error));
    return;
  }
  if (page.sealed === null) return; // the page says why
  showSealed();
  if (page.kept || !page.stores) await attempt();
}

/** Seal the answers, unless that was done or the code was used. Answers are randomised here alone. */
async function sealOnce() {
  const { survey, warner } = page;
  if (page.sealed !== null) return; // by another press
  const code = enteredCode();
  const key = await keyOf(code);
  const kept = page.stores ? await all().catch(() => []) : [];
  const earlier = kept.find((sealed) => sealed.key === key);
  if (earlier !== undefined) {
    forget();
    page.sealed = earlier;
    return;
  }
  if (showRepeated(kept)) { // another tab has sent meanwhile
    show("review");
    return;
  }
  const letIn = survey.access === "open" || await isLetIn(code, key);
  if (!letIn) return;
  /** @type {{ [name: string]: unknown }} */
  const answers = Object.create(null);
  /** @type {{ [name: string]: unknown }} */
  const open = Object.create(null);
  for (const part of fields()) {
    const into = part.id.startsWith("p") ? open : answers;
    into[/** @type {string} */ (part.dataset.question)] = answerIn(part)?.answer;
  }
  const block = page.block ?? undefined;
  const memos = page.memo === null
    ? undefined : await page.memo.permanentReports(warner, survey, answers, block);
  const token = letIn === true ? undefined : letIn;
  const sealing = warner.seal(survey, { answers, block, public: open, code, token, memos });
  for (const name of Object.keys(answers)) delete answers[name];
  for (const name of Object.keys(open)) delete open[name];
  const body = warner.body(survey, [await sealing]);
  forget();
  const spent = Object.fromEntries(askedEntries().map(({ question, digest }) => (
    [digest, question.epsilon])));
  const sealed = /** @type {Sealed} */ ({
    key, study: survey.study, spent, state: "pending", body, tried: false, outcome: null,
    reason: "", ...delayOf(survey), ...(page.series === "" ? {} : { series: page.series }),
  });
  page.sealed = sealed;
  page.kept = false;
  note(key);
  if (!page.stores) return;
  try {
    await add(sealed);
    page.kept = true;
    announce();
    if (token !== undefined) await forgetCover(key);
  } catch (error) {
    if (nameOf(error) !== "ConstraintError") return;
    // Another tab was faster, in a browser without locks. What was sealed here is never sent.
    page.sealed = await read(key) ?? sealed;
    page.kept = true;
  }
}

/**
 * The token that a code was exchanged for; or whether the collector says that no report was counted
 * with the code; else the page shows why not.
 *
 * Two reports with one code are known to be of one person, and tell more about the answers than one.
 * So nothing is randomised before there is an answer, and the answers wait in the form alone.
 *
 * @param {string} code
 * @param {string} key of the record that the report will have.
 * @returns {Promise<boolean | Uint8Array>}
 */
async function isLetIn(code, key) {
  const { survey, warner } = page;
  const answer = survey.access === "tokens"
    ? await exchange(warner, survey, code, key)
    : await askCollector(warner, survey, code);
  const { outcome, reason } = answer;
  const waits = page.shown === "sealing" || page.shown === "waiting";
  if (!waits || enteredCode() !== code) return false; // the person has gone back meanwhile
  if (outcome === "unavailable" || outcome === "busy") {
    show("waiting");
    showReason(navigator.onLine ? outcome : "offline");
    later(goOn);
  } else if (outcome !== "unspent") {
    if (outcome !== "not-invited") forget();
    const isFault = outcome === "other-study" || outcome === "rejected";
    show(isFault ? "refused" : outcome, reason);
  }
  return "token" in answer && answer.token !== undefined ? answer.token : outcome === "unspent";
}

/** @param {unknown} error */
function nameOf(error) {
  const { code, name } = /** @type {any} */ (error ?? {});
  return typeof code === "string" ? code : String(name ?? "error");
}

/**
 * Send the sealed bytes, the same in every try.
 *
 * @param {boolean} [forced] whether a person asked for it.
 */
async function attempt(forced = false) {
  window.clearTimeout(page.timer);
  if (page.sealed?.state !== "pending" || page.sending) return;
  // Where it is not kept, it is sent at once: who closes the page would lose it.
  const early = page.kept ? (page.sealed.due ?? 0) - Date.now() : 0;
  if (early > 0) {
    waitInBackground();
    page.timer = window.setTimeout(attempt, early);
    return;
  }
  if (page.shown === "delayed") showSealed();
  if (!navigator.onLine && !forced) {
    showReason("offline");
    waitInBackground();
    return;
  }
  page.sending = true;
  showReason("sending");
  try {
    if (page.kept) {
      const { sealed, body } = await send(page.sealed.key);
      if (sealed === undefined) {
        location.reload(); // another tab has deleted it
        return;
      }
      page.sealed = sealed;
      page.bytes = body ?? page.bytes;
    } else {
      // Tried from now on: who deletes it while it is on its way is not asked again.
      const leaving = page.sealed = { ...page.sealed, tried: true };
      page.bytes = leaving.body;
      page.sealed = await sendUnkept(leaving, () => page.sealed ?? leaving);
    }
  } catch {
    // The storage failed in between. The record is as it was, and is tried again.
  }
  page.sending = false;
  showSealed();
  again();
}

/** Try again later: after a wait that doubles, at a new connection, and in the background. */
function again() {
  const { sealed } = page;
  if (sealed?.state !== "pending") return;
  const { outcome } = sealed;
  if (outcome === "unavailable" || outcome === "busy" || outcome === null) {
    showReason(!navigator.onLine ? "offline" : outcome === "busy" ? "busy" : "unavailable");
    waitInBackground();
  } else if (outcome !== "not-open") {
    return; // the collector has refused it: a person decides
  }
  later(attempt);
}

/** Do something after a wait that doubles, and not what waited before. @param {() => unknown} act */
function later(act) {
  window.clearTimeout(page.timer);
  const wait = Math.min(FIRST_WAIT * 2 ** page.tries, LONGEST_WAIT);
  page.tries += 1;
  // Spread, so that not all devices come back in one moment.
  page.timer = window.setTimeout(() => act(), wait * (0.75 + Math.random() / 2));
}

/** Go on with what waits; answers that a person is changing wait for Send. */
function goOn() {
  if (page.shown === "waiting") press();
  else if (!waitsForPerson()) attempt();
}

/** Ask the service worker to send when there is a connection, even if the page is closed. */
async function waitInBackground() {
  if (!page.kept || !("serviceWorker" in navigator)) return;
  try {
    const registration = /** @type {any} */ (await navigator.serviceWorker.getRegistration());
    await registration?.sync?.register(SYNC);
  } catch {
    // Without it the report waits until the page is open again.
  }
}

/** Delete a report that was not counted. What was never tried leaves no trace. */
async function stop() {
  const { sealed } = page;
  if (sealed === null) return;
  window.clearTimeout(page.timer);
  let after = stopped(sealed);
  if (page.kept) {
    after = await update(sealed.key, (now) => (now === undefined ? undefined : stopped(now)));
    announce();
  }
  page.sealed = after ?? null;
  page.bytes = null;
  // Another survey is asked anew. Of the same one, the note says that nothing else is sent.
  if (sealed.outcome === "other-study" && page.kept) location.reload();
  else if (after !== undefined) showSealed();
  else askAgain();
}

/**
 * A record after the person has stopped it; undefined where nothing is left.
 *
 * @param {Sealed} sealed
 * @returns {Sealed | undefined}
 */
function stopped(sealed) {
  if (sealed.state === "sent") return sealed;
  if (!sealed.tried) return undefined;
  return { ...sealed, state: "deleted", body: null };
}

/** Delete the note that a report was sent. */
async function forgetNote() {
  if (page.sealed !== null && page.kept) {
    note("");
    await remove(page.sealed.key);
    await forgetDraw(page.survey.study); // not what was drawn for all rounds, as its reports
  }
  location.reload();
}

/** Delete reports to earlier surveys of this address, not the notes of what may have been sent. */
async function dropLeftOver() {
  for (const { key, study } of await all()) {
    if (study === page.survey.study) continue;
    await update(key, (now) => (now === undefined ? undefined : stopped(now)));
  }
  showRepeated(await all()); // what was never tried is no longer spent
  element("left-over").hidden = true;
}

// ---------------------------------------------------------------------------------------------
// Start.

/**
 * Take the invitation code out of the address, where it stands behind "#": from now on nobody reads
 * it there, in the history of the browser or over a shoulder.
 */
function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code !== "") history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** The key of the record that this tab has made; null where there is none. */
function noted() {
  try {
    return sessionStorage.getItem(NOTE);
  } catch {
    return null;
  }
}

/** @param {string} key of the record that this tab has made; "" for none. */
function note(key) {
  try {
    if (key === "") sessionStorage.removeItem(NOTE);
    else sessionStorage.setItem(NOTE, key);
  } catch {
    // After a reload the person enters the code again, and then finds the record.
  }
}

/** The records of this browser; an empty list where it keeps nothing. */
async function records() {
  try {
    await probe();
    return await all();
  } catch {
    page.stores = false;
    page.kept = false;
    showWhen("keeps-nothing", true);
    return [];
  }
}

/**
 * The record that this page goes on with, if there is one.
 *
 * @param {Sealed[]} kept
 */
async function earlier(kept) {
  const { survey, warner } = page;
  const ours = kept.filter(({ study }) => study === survey.study);
  // With another code the answers would be randomised a second time.
  showWhen("already", survey.access !== "open" && ours.length > 0);
  const mine = page.code === "" ? ours.find(({ key }) => key === noted()) : undefined;
  if (mine !== undefined) return mine;
  const code = survey.access === "open" ? "" : warner.plainCode(page.code);
  if (code === null) return ours.find(({ state }) => state === "pending");
  const key = await keyOf(code);
  return ours.find((sealed) => sealed.key === key);
}

/** Fill in the law of reports, from the integers that are compared with the random words. */
function showLaws() {
  for (const room of every("[data-law]")) {
    const asked = page.survey.questions.find((/** @type {any} */ q) => q.name === room.dataset.law);
    const law = page.warner.probabilities(asked);
    if (law === null) continue;
    const { of, same, other } = law;
    const sentence = /** @type {string} */ (room.dataset.text);
    room.textContent = sentence.replaceAll("{of}", numeral(of))
      .replaceAll("{same}", numeral(same)).replaceAll("{other}", numeral(other));
    room.hidden = false;
  }
}

/** Let people answer. */
async function ask() {
  if (page.memo !== null) {
    if (!page.stores) {
      show("no-memo");
      return;
    }
    const { round } = page.survey.repeat;
    showWhen("memo-none", round > 1 && !await page.memo.hasMemo(page.warner, page.survey));
  }
  showLaws();
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("code-0"));
  if (field !== null) field.value = page.code;
  const wasReview = history.state?.shown === "review";
  // Who follows a link with a code is not who filled the form a moment ago in this tab.
  const isBack = page.code === "" && await takeBack(form, page.survey.study);
  await drawQuestions();
  if (page.memo !== null && !page.stores) {
    show("no-memo");
    return;
  }
  for (const name of ["continue", "clear"]) element(name).removeAttribute("disabled");
  showPage(form, isBack ? history.state?.at ?? 0 : 0, numeral);
  show("questions");
  if (isBack && wasReview) await check();
}

/** Show the page in another language, with everything that stands in it. @param {string} address */
async function speak(address) {
  try {
    await translate(address);
  } catch {
    location.assign(address); // it asks first, where answers would be lost
    return;
  }
  history.replaceState(history.state, "", address);
  title(!element("errors").hidden);
  if (page.survey === null) return;
  showLaws();
  showPage(form, shownPage(form), numeral);
  if (page.survey.program !== undefined && page.block !== null) {
    showBlock(page.warner.blocks(page.survey.program)[page.block].attributes);
  }
  if (page.sealed !== null) {
    showSealed();
    return;
  }
  showRepeated(page.stores ? await all().catch(() => []) : []);
  for (const field of fields()) {
    const room = document.querySelector(`[data-review="${field.id}"]`);
    if (room) room.textContent = page.shown === "review" ? answerIn(field)?.shown ?? "" : "";
  }
  if (!element("errors").hidden) {
    showErrors((await wrongFields()).filter((field) => (
      isShown(form, field) || isLastPage(form))));
  }
  await keepPage();
}

/** Let people answer anew, after all that they had answered was deleted. */
async function askAgain() {
  forget();
  title(false);
  page.kept = page.stores;
  await ask();
  const cleared = element("cleared");
  cleared.hidden = false;
  cleared.focus({ preventScroll: true });
  cleared.scrollIntoView();
}

/** Keep the page for times without a connection. */
async function keepPage() {
  if (!("serviceWorker" in navigator) || !page.stores) return;
  try {
    const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("warner-worker", {
      createScriptURL: () => "sw.js",
    });
    await navigator.serviceWorker.register(
      policy ? policy.createScriptURL("") : "sw.js",
      { type: "module", updateViaCache: "none" },
    );
    const cache = await caches.open(CACHE);
    const here = location.pathname + location.search;
    const files = ["survey.css", "survey.js", "form.js", "steps.js", "outbox.js", "warner.js", "study.json"];
    if (page.memo !== null) files.push("memo.js");
    await cache.addAll([here, ...files]);
    if (page.sealed?.state === "pending") await waitInBackground();
  } catch {
    // The page works without it, as long as there is a connection.
  }
}

/** React to another tab or to the worker. */
async function changed() {
  if (!page.stores || page.sending || page.survey === null) return;
  const found = page.sealed === null
    ? await earlier(await records())
    : page.kept ? await read(page.sealed.key) : page.sealed;
  if (found === undefined) {
    if (page.sealed !== null) location.reload();
    return;
  }
  if (page.sealed === null) {
    if (page.shown === "sealing") return;
    forget();
    page.kept = true;
  }
  page.sealed = found;
  showSealed();
}

/** Everything that a button does. @type {{ [action: string]: () => unknown }} */
const ACTIONS = {
  clear: askAgain,
  back: () => (history.state?.shown ? history.back() : show("questions")),
  send: press,
  try: () => attempt(true),
  stop,
  forget: forgetNote,
  reload: () => location.reload(),
  "drop-left-over": dropLeftOver,
};

function listen() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    element("cleared").hidden = true;
    if (page.survey !== null) goFurther();
  });
  form.addEventListener("input", ({ target }) => {
    // A number and "no answer" exclude each other.
    const control = /** @type {HTMLInputElement} */ (target);
    if (control.id === "code-0") drawQuestions();
    showPage(form, shownPage(form), numeral);
    const field = control.closest("fieldset");
    const box = /** @type {HTMLInputElement | null | undefined} */ (
      field?.querySelector("input[type=checkbox]"));
    if (!field || !box) return;
    if (control !== box) box.checked = false;
    else if (box.checked) {
      for (const other of every("input, select", field)) {
        if (other !== box) /** @type {HTMLInputElement} */ (other).value = "";
      }
    }
  });
  document.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const button = target.closest("[data-action]");
    if (button instanceof HTMLElement) {
      event.preventDefault();
      ACTIONS[/** @type {string} */ (button.dataset.action)]();
      return;
    }
    const other = target.closest(".languages a");
    if (other instanceof HTMLAnchorElement) {
      event.preventDefault();
      speak(other.href);
      return;
    }
    // Links within the page move the focus, and leave the address alone.
    const link = target.closest("a[href^='#']");
    const goal = link && document.getElementById(link.getAttribute("href")?.slice(1) ?? "");
    if (goal) {
      event.preventDefault();
      const field = goal.closest("fieldset");
      if (field !== null && !isShown(form, field)) showPage(form, pageOf(form, field), numeral);
      goal.focus({ preventScroll: true });
      (goal.closest("fieldset") ?? goal).scrollIntoView();
    }
  });
  window.addEventListener("popstate", ({ state }) => {
    if (page.sealed !== null || page.survey === null) return;
    if (state?.shown === "review") {
      if (page.shown === "questions") check();
      return;
    }
    if (["review", "waiting", "not-invited"].includes(page.shown)) {
      window.clearTimeout(page.timer);
      show("questions");
    }
    if (page.shown === "questions") turnTo(state?.at ?? 0);
  });
  window.addEventListener("online", () => {
    page.tries = 0;
    goOn();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") goOn();
  });
  const filled = () => page.sealed === null && page.survey !== null
    && ["questions", "review"].includes(page.shown) && fields().some((field) => answerIn(field));
  window.addEventListener("beforeunload", (event) => {
    // A browser may not send in the background: who closes the page may never open it again.
    const unkept = page.sealed?.state === "pending"
      && (!page.kept || (page.sealed.due ?? 0) > Date.now());
    // A form that is left for another page is empty afterwards, since answers are kept nowhere.
    if (unkept || filled() || page.shown === "waiting") event.preventDefault();
  });
  window.addEventListener("pagehide", () => {
    if (page.sealed === null && page.survey !== null) handOver(form, page.survey.study);
  });
  if (typeof BroadcastChannel !== "undefined") {
    new BroadcastChannel(CHANNEL).addEventListener("message", changed);
  }
}

/** Whether the next try is for the person to decide. */
function waitsForPerson() {
  const { sealed, kept, stores } = page;
  if (sealed === null || sealed.state !== "pending") return true;
  if (!kept && stores && !sealed.tried) return true; // not saved against expectation
  return !["unavailable", "busy", "not-open", null].includes(sealed.outcome);
}

async function start() {
  page.code = takeCode();
  listen();
  if (!window.isSecureContext) {
    show("insecure");
    return;
  }
  element("loading").hidden = false;
  try {
    page.warner = await import(/** @type {string} */ ("./warner.js"));
  } catch {
    show("old-browser");
    return;
  }
  try {
    const reply = await fetch("study.json", { cache: "no-cache", credentials: "omit" });
    const served = new Uint8Array(await reply.arrayBuffer());
    page.survey = await page.warner.readSurvey(served, document.body.dataset.fingerprint);
    page.ledger = await ledgerOf(page.survey);
    if (page.survey.repeat !== undefined) {
      page.memo = await import(/** @type {string} */ ("./memo.js"));
      page.series = await seriesOf(page.survey);
    }
  } catch (error) {
    show("refused", nameOf(error));
    return;
  }
  if (page.warner.promisesOf(page.survey).join(" ") !== element("promise").dataset.promises) {
    show("refused", "promise");
    return;
  }
  const kept = await records();
  const found = await earlier(kept);
  showRepeated(kept);
  element("left-over").hidden = !kept.some(({ study, state }) => (
    study !== page.survey.study && state === "pending"));
  if (found !== undefined) {
    page.sealed = found;
    showSealed();
    if (["unavailable", "busy", "not-open", "closed", null].includes(found.outcome)) await attempt();
  } else {
    const now = await status();
    if (now === "open") await ask();
    else show(now);
  }
  await keepPage();
}

start();
