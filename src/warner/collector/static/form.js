// What keeps the answers in the form while a person changes the language or loads the page again.
//
// Answers are written nowhere. Over a reload the service worker holds them in its memory, for seconds
// and for this tab alone. Another language comes as a page, of which only the words are taken.

const TAB = "warner-tab"; // the name of this tab in its own storage; it says nothing of answers
const ANSWERS = 3_000; // milliseconds until the worker is given up

/** @typedef {readonly [id: string, value: string, checked: boolean]} Control */

/**
 * What stands in the controls of a form.
 *
 * @param {HTMLFormElement} form
 * @returns {Control[]}
 */
function contents(form) {
  return controlsOf(form).map((control) => (
    [control.id, control.value, "checked" in control && control.checked]));
}

/** @param {HTMLFormElement} form */
function controlsOf(form) {
  return /** @type {(HTMLInputElement | HTMLSelectElement)[]} */ (
    Array.from(form.querySelectorAll("input, select")));
}

/** The name of this tab, drawn once; null where it can keep none. */
function tab() {
  try {
    const before = sessionStorage.getItem(TAB);
    if (before !== null) return before;
    const drawn = crypto.randomUUID();
    sessionStorage.setItem(TAB, drawn);
    return drawn;
  } catch {
    return null;
  }
}

/**
 * Hand the contents of a form to the worker, as the page is left. It forgets them after seconds.
 *
 * @param {HTMLFormElement} form
 * @param {string} survey the digest of the study.
 */
export function handOver(form, survey) {
  const name = tab();
  const worker = navigator.serviceWorker?.controller;
  if (name !== null && worker) worker.postMessage({ keep: `${survey} ${name}`, held: contents(form) });
}

/**
 * Put back what the worker holds for this tab; it forgets it at once.
 *
 * @param {HTMLFormElement} form
 * @param {string} survey the digest of the study.
 * @returns {Promise<boolean>} whether there was anything.
 */
export async function takeBack(form, survey) {
  const name = tab();
  const worker = navigator.serviceWorker?.controller;
  if (name === null || !worker) return false;
  const { port1, port2 } = new MessageChannel();
  const held = await /** @type {Promise<Control[] | null>} */ (new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    window.setTimeout(() => resolve(null), ANSWERS);
    worker.postMessage({ take: `${survey} ${name}` }, [port2]);
  }));
  port1.close();
  if (held === null) return false;
  const before = new Map(held.map(([id, ...rest]) => [id, rest]));
  for (const control of controlsOf(form)) {
    const [value, checked] = before.get(control.id) ?? [control.value, false];
    if ("checked" in control && ["radio", "checkbox"].includes(control.type)) {
      control.checked = checked;
    } else {
      control.value = value;
    }
  }
  return true;
}

/**
 * Take the words of the page in another language, and leave everything else as it is.
 *
 * @param {string} address of the page in that language.
 */
export async function translate(address) {
  const page = await /** @type {Promise<Document>} */ (new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document"; // parsed without running anything
    request.onload = () => (
      request.status === 200 && request.response ? resolve(request.response) : reject());
    request.onerror = reject;
    request.send();
  }));
  const same = page.body?.dataset.fingerprint === document.body.dataset.fingerprint;
  if (!same) throw new Error("another study");
  words(document.documentElement, page.documentElement);
}

// What depends on the language. All other attributes are of the state of the page.
const WORDS = ["lang", "dir", "aria-label", "aria-current", "href", "data-text", "data-shown",
  "data-error-prefix"];

/**
 * Copy texts and the attributes that depend on the language, element by element.
 *
 * @param {Element} here
 * @param {Element} there
 */
function words(here, there) {
  for (const name of WORDS) {
    if (name === "href" && here.tagName !== "A") continue;
    const value = there.getAttribute(name);
    if (value === null) here.removeAttribute(name);
    else if (value !== here.getAttribute(name)) here.setAttribute(name, value);
  }
  const [ours, theirs] = [here, there].map(({ childNodes }) => Array.from(childNodes));
  const alike = ours.length === theirs.length && ours.every((node, i) => (
    node.nodeName === theirs[i].nodeName));
  if (alike) {
    ours.forEach((node, i) => {
      if (node instanceof Element) words(node, /** @type {Element} */ (theirs[i]));
      else if (node.nodeValue !== theirs[i].nodeValue) node.nodeValue = theirs[i].nodeValue;
    });
  } else if (here.querySelector("input, select, button") === null) {
    // Words of the page that stand in another language than the study are marked by an element.
    here.replaceChildren(...theirs.map((node) => document.importNode(node, true)));
  } else {
    const [mine, other] = [here, there].map(({ children }) => Array.from(children));
    mine.forEach((child, i) => {
      if (other[i]?.tagName === child.tagName) words(child, other[i]);
    });
  }
}
