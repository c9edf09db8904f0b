// The outbox of a device: sealed reports that wait to be sent, in IndexedDB.
//
// The survey page and its service worker share it. A record is sealed once, when the person presses
// Send. Every try sends the same bytes. Answers never come here. What a record says of its
// questions outlives the sending: it is the device's ledger of what all reports on a question spend.

/**
 * @typedef {object} Sealed
 * @property {string} key the digest of the study; with invitations also a hash of the code, from which
 *   the id of the submission does not follow.
 * @property {string} study the digest of the study.
 * @property {{ readonly [question: string]: number }} spent the epsilon of the report on each
 *   question, by the question's digest. It never leaves the device.
 * @property {"pending" | "sent" | "deleted"} state
 * @property {Uint8Array | null} body what is sent; null once it is no longer needed.
 * @property {boolean} tried whether the bytes may have left the device.
 * @property {Outcome | null} outcome of the last try.
 * @property {string} reason the name of an error of the collector, for its owner.
 * @property {number} [due] before when it is not sent, so that the time does not tell whose it is.
 * @property {number} [made] when it was sealed, for a page that gives up; it never leaves the device.
 * @property {string} [series] the name of the survey in all its rounds, where it has several.
 * @property {string} [collector] the address of the collector, where it is not that of this file.
 */

/**
 * What became of a try, or of the question before it, whose answer is `spent` or `unspent`.
 * `unavailable` and `busy` are tried again by themselves.
 *
 * @typedef {"sent" | "spent" | "unspent" | "unavailable" | "busy" | "closed" | "not-open"
 *   | "not-invited" | "other-study" | "rejected"} Outcome
 */

const DATABASE = "warner";
const STORE = "outbox";
const DRAWS = "draws"; // which questions this device is asked, and what covers its tokens
const LONGEST_TRY = 30_000; // milliseconds
const LONGEST_QUESTION = 10_000;
const LONGEST_STATUS = 5_000; // without the word whether the survey is open, people can answer

/** The bytes of a body before its first submission: "WRN1" and the layout of the study. */
export const HEAD_BYTES = 36;

/** The name under which the service worker is asked to send later. */
export const SYNC = "warner-outbox";

/** Between the tabs of a browser: a record has changed. */
export const CHANNEL = "warner-outbox";

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @returns {Promise<IDBDatabase>} */
function database() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE, { keyPath: "key" });
      request.result.createObjectStore(DRAWS);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked"));
  });
}

/**
 * One transaction, which is over only when its data are written.
 *
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => Promise<T>} act
 * @param {string} [name] of the store.
 * @returns {Promise<T>}
 */
async function transaction(mode, act, name = STORE) {
  const db = await database();
  try {
    const open = db.transaction(name, mode, { durability: "strict" });
    const over = new Promise((resolve, reject) => {
      open.oncomplete = () => resolve(undefined);
      open.onabort = () => reject(open.error ?? new Error("aborted"));
    });
    over.catch(() => {});
    const found = await act(open.objectStore(name));
    await over;
    return found;
  } finally {
    db.close();
  }
}

/** @returns {Promise<Sealed[]>} all records. */
export function all() {
  return transaction("readonly", (store) => finished(store.getAll()));
}

/**
 * @param {string} key
 * @returns {Promise<Sealed | undefined>}
 */
export function read(key) {
  return transaction("readonly", (store) => finished(store.get(key)));
}

/**
 * Keep a new record; an error where there is one with its key.
 *
 * @param {Sealed} sealed
 */
export async function add(sealed) {
  await transaction("readwrite", (store) => finished(store.add(sealed)));
}

/**
 * Change a record in one transaction, so that no other tab changes it at the same time.
 *
 * @param {string} key
 * @param {(before: Sealed | undefined) => Sealed | undefined} change returns the record afterwards;
 *   undefined deletes it.
 * @returns {Promise<Sealed | undefined>} the record afterwards.
 */
export async function update(key, change) {
  /** @type {Sealed | undefined} */
  let after;
  await transaction("readwrite", (store) => {
    const before = store.get(key);
    return finished(before).then(async () => {
      after = change(before.result);
      if (after === undefined) await finished(store.delete(key));
      else if (after !== before.result) await finished(store.put(after));
    });
  });
  return after;
}

/** @param {string} key */
export async function remove(key) {
  await update(key, () => undefined);
}

/**
 * What this device draws once, in the transaction that keeps it: two tabs have the same, and so has
 * a page that is loaded again. Under the name of a study it is the block of questions it is asked.
 *
 * @template T
 * @param {string} name
 * @param {() => T} draw
 * @returns {Promise<T>}
 */
export async function drawnOnce(name, draw) {
  /** @type {T | undefined} */
  let drawn;
  await transaction("readwrite", async (store) => {
    const before = await finished(store.get(name));
    drawn = before ?? draw();
    if (before === undefined) await finished(store.add(drawn, name));
  }, DRAWS);
  return /** @type {T} */ (drawn);
}

/** Forget what was drawn under a name. @param {string} name */
export function forgetDraw(name) {
  return transaction("readwrite", (store) => finished(store.delete(name)), DRAWS);
}

/** Write and delete a record: an error where this browser keeps nothing. */
export async function probe() {
  /** @type {Sealed} */
  const record = {
    key: "probe", study: "", spent: {}, state: "deleted", body: null, tried: false, outcome: null,
    reason: "",
  };
  await update(record.key, () => record);
  await remove(record.key);
}

/** Tell other tabs, and the page its worker has news for, that a record has changed. */
export function announce() {
  if (typeof BroadcastChannel === "undefined") return;
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage("changed");
  channel.close();
}

/**
 * Do something while no other tab and no worker does it; at once where there are no locks.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
export async function alone(name, act) {
  if (!navigator.locks) return act();
  return navigator.locks.request(`warner ${name}`, () => act());
}

/** @type {{ [error: string]: Outcome }} */
const REFUSED = {
  exchanged: "spent",
  closed: "closed",
  not_open: "not-open",
  not_invited: "not-invited",
  other_study: "other-study",
};

/**
 * What a reply that does not accept a report means; "busy" where it is of this moment, or of somebody between.
 *
 * @param {number} status
 * @param {any} said the JSON data of the reply.
 * @returns {{ outcome: Outcome, reason: string }}
 */
export function refusalOf(status, said) {
  const reason = typeof said?.error === "string" ? said.error : "";
  const final = status >= 400 && status < 500 && ![408, 429].includes(status);
  if (!final || !/^[a-z_]{1,40}$/.test(reason)) return { outcome: "busy", reason: "" };
  return { outcome: REFUSED[reason] ?? "rejected", reason };
}

/**
 * Send bytes once. Only the collector's own reply counts: what a portal of a network says does not.
 *
 * @param {"reports" | "spent" | "token"} address
 * @param {Uint8Array} body
 * @param {string} [collector]
 * @param {number} [longest] milliseconds.
 * @returns {Promise<{ outcome: Outcome, reason: string, signature?: string }>}
 */
async function post(address, body, collector = import.meta.url, longest = LONGEST_TRY) {
  let reply;
  let said;
  try {
    reply = await fetch(new URL(address, collector), {
      method: "POST",
      body: new Uint8Array(body),
      headers: { "Content-Type": "application/octet-stream" },
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(longest),
    });
    said = await reply.json();
  } catch {
    return { outcome: reply === undefined ? "unavailable" : "busy", reason: "" };
  }
  if (address === "spent") {
    if (reply.status === 200 && said?.spent === 0) return { outcome: "unspent", reason: "" };
    if (reply.status === 200 && said?.spent === 1) return { outcome: "spent", reason: "" };
  } else if (address === "token") {
    const { signature } = said ?? {};
    const signed = reply.status === 200 && /^[0-9a-f]{512}$/.test(signature);
    if (signed) return { outcome: "unspent", reason: "", signature };
  } else if (reply.status === 202 && said?.accepted === 1) return { outcome: "sent", reason: "" };
  return refusalOf(reply.status, said);
}

/**
 * Whether a collector takes reports now; "open" where nobody can say.
 *
 * @param {string} [collector]
 * @returns {Promise<"open" | "closed" | "not-open">}
 */
export async function status(collector = import.meta.url) {
  try {
    const signal = AbortSignal.timeout(LONGEST_STATUS);
    const url = new URL("healthz", collector);
    const reply = await fetch(url, { cache: "no-store", credentials: "omit", signal });
    const { status: said } = await reply.json();
    return said === "closed" ? "closed" : said === "not_open" ? "not-open" : "open";
  } catch {
    return "open";
  }
}

/**
 * Ask whether a report with an invitation code is counted. No answer has a part in what is sent.
 *
 * @param {any} warner the module warner.js.
 * @param {any} survey
 * @param {string} code
 * @param {string} [collector]
 */
export async function ask(warner, survey, code, collector) {
  const id = await warner.invitationId(survey, code);
  const submission = new Uint8Array(warner.submissionLength(survey));
  submission.set(id);
  const head = warner.body(survey, [submission]).slice(0, HEAD_BYTES + id.length);
  return post("spent", head, collector, LONGEST_QUESTION);
}

/** @type {Map<string, Uint8Array>} what covers tokens, where this browser keeps nothing. */
const unkept = new Map();

/** What covers the token of a record. @param {string} key */
const coverOf = (key) => `${key} token`;

/**
 * Exchange an invitation code for a token. What covers the token is kept before the code is sent:
 * where the reply is lost, the same token comes again, and no other one ever does.
 *
 * @param {any} warner the module warner.js.
 * @param {any} survey
 * @param {string} code
 * @param {string} key of the record that the report will have.
 * @returns {Promise<{ outcome: Outcome, reason: string, token?: Uint8Array }>} `unspent` with a token.
 */
export async function exchange(warner, survey, code, key) {
  const block = survey.program && await warner.blockOfCode(survey, code);
  const draw = () => warner.drawBlinding(survey, block);
  const drawn = await drawnOnce(coverOf(key), draw).catch(() => {
    if (!unkept.has(key)) unkept.set(key, draw());
    return unkept.get(key);
  });
  const body = await warner.tokenRequest(survey, code, drawn, block);
  const { issuer } = survey.tokens;
  const { outcome, reason, signature } = await post("token", body, issuer, LONGEST_QUESTION);
  if (signature === undefined) return { outcome, reason };
  return { outcome, reason, token: await warner.tokenOf(survey, drawn, signature, block) };
}

/** Forget what covers a token, which could connect it with its code. @param {string} key */
export async function forgetCover(key) {
  await forgetDraw(coverOf(key));
}

/**
 * When a report is sent at the earliest: after a random while, and before the survey closes.
 *
 * @param {any} survey
 * @returns {{ due?: number }}
 */
export function delayOf({ tokens, closes }) {
  if (tokens === undefined) return {};
  const [word] = crypto.getRandomValues(new Uint32Array(1));
  const due = Date.now() + tokens.wait * 1000 * (word / 2 ** 32);
  return { due: closes === null ? due : Math.min(due, Date.parse(closes) - LONGEST_TRY) };
}

/**
 * Try to send a record that is kept. A record that another tab has sent meanwhile is not sent.
 *
 * @param {string} key
 * @returns {Promise<{ sealed: Sealed | undefined, body: Uint8Array | null }>} the record afterwards,
 *   and the bytes if they were sent now.
 */
export function send(key) {
  return alone(`send ${key}`, async () => {
    // It is marked as tried before the bytes leave: a person may delete what was not tried.
    const sealed = await update(key, (before) => (
      before?.state === "pending" && !before.tried ? { ...before, tried: true } : before));
    if (sealed?.state !== "pending" || sealed.body === null) return { sealed, body: null };
    const { body } = sealed;
    const { outcome, reason } = await post("reports", body, sealed.collector);
    const after = await update(key, (now) => (
      now === undefined ? undefined : settled(now, outcome, reason)));
    announce();
    return { sealed: after, body };
  });
}

/**
 * Try to send a record that is not kept, since this browser keeps nothing.
 *
 * @param {Sealed} sealed a record that is marked as tried.
 * @param {() => Sealed} now the record after the try, which a person may have deleted meanwhile.
 * @returns {Promise<Sealed>}
 */
export async function sendUnkept(sealed, now) {
  if (sealed.body === null) return sealed;
  const { outcome, reason } = await post("reports", sealed.body, sealed.collector);
  return settled(now(), outcome, reason);
}

/**
 * A record after a try. Once its bytes are counted they are no longer kept: they could show which
 * report came from this device.
 *
 * @param {Sealed} sealed
 * @param {Outcome} outcome
 * @param {string} reason
 * @returns {Sealed}
 */
function settled(sealed, outcome, reason) {
  if (outcome === "sent") return { ...sealed, state: "sent", body: null, outcome, reason };
  return { ...sealed, outcome, reason };
}
