// A long survey page by page: some questions at a time, with how far a person has come.
//
// What stands on another page is out of sight and keeps its answer. Code and consent are on the first
// page. Of questions that are drawn, those that are asked are counted alone.

/** @param {string} selector @returns {HTMLElement[]} */
const every = (selector) => Array.from(document.querySelectorAll(selector));

/**
 * The pages of the form: the fields of each.
 *
 * @param {HTMLFormElement} form
 * @returns {HTMLElement[][]}
 */
function pagesOf(form) {
  const asked = every("#questions fieldset.question:not([hidden], .off)");
  const first = asked.filter((field) => field.dataset.question === undefined);
  const questions = asked.slice(first.length);
  const size = Number(form.dataset.perPage ?? questions.length) || 1;
  const pages = [];
  for (let at = 0; at < questions.length; at += size) pages.push(questions.slice(at, at + size));
  return [[...first, ...pages[0] ?? []], ...pages.slice(1)];
}

/** Show the questions whose condition holds; the answer to others is "does not apply". */
function showConditions() {
  for (const field of every("#questions [data-only-if]")) {
    const other = document.getElementById(String(field.dataset.onlyIf));
    const control = other?.querySelector("input:checked, select");
    const chosen = control && "value" in control && !other?.classList.contains("off")
      ? String(control.value) : "";
    const holds = String(field.dataset.onlyIfChoices).split(" ").includes(chosen);
    field.classList.toggle("off", !holds);
  }
}

/**
 * The page that is shown, by its number from 0.
 *
 * @param {HTMLFormElement} form
 */
export function shownPage(form) {
  return Math.min(Number(form.dataset.page ?? 0), pagesOf(form).length - 1);
}

/** @param {HTMLFormElement} form */
export function isLastPage(form) {
  return shownPage(form) === pagesOf(form).length - 1;
}

/**
 * Whether a field stands on the page that is shown.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} field
 */
export function isShown(form, field) {
  return pagesOf(form)[shownPage(form)].includes(field);
}

/**
 * The number of the page on which a field stands.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} field
 */
export function pageOf(form, field) {
  return Math.max(0, pagesOf(form).findIndex((fields) => fields.includes(field)));
}

/**
 * Show one page of the form; a number beyond the last is that of the last.
 *
 * @param {HTMLFormElement} form
 * @param {number} number
 * @param {(count: number) => string} numeral
 */
export function showPage(form, number, numeral) {
  showConditions();
  const pages = pagesOf(form);
  form.dataset.page = String(number);
  const shown = shownPage(form);
  pages.forEach((fields, i) => {
    for (const field of fields) field.classList.toggle("elsewhere", i !== shown);
  });
  const hasPublic = pages[shown].some((field) => field.closest(".public") !== null);
  for (const room of every(".public")) room.classList.toggle("elsewhere", !hasPublic);
  for (const room of every(".chosen")) room.classList.toggle("elsewhere", shown > 0);
  for (const button of every("#previous")) button.hidden = shown === 0;
  for (const room of every("#steps")) {
    room.hidden = pages.length === 1;
    const [text, bar] = [room.querySelector("[data-text]"), room.querySelector("progress")];
    if (text instanceof HTMLElement) {
      text.textContent = String(text.dataset.text).replace("{number}", numeral(shown + 1))
        .replace("{count}", numeral(pages.length));
    }
    if (bar) [bar.value, bar.max] = [shown + 1, pages.length];
  }
}
