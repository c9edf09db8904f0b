// The memo of a device: the permanent reports of a survey that asks in several rounds.
//
// A permanent report is drawn once for each answer, and kept before anything is sent. It is sealed by
// keys of this browser that no script can read, under a code of the answer that nobody can tell
// without them. So a copy of the memo tells nothing and opens nowhere else. The questions, and not
// the round, name a permanent report: the next round finds it.

import { alone, drawnOnce } from "./outbox.js";

/** @typedef {any} Warner the module warner.js. */
/** @typedef {{ mac: CryptoKey, box: CryptoKey }} Keys of this browser. */
/** @typedef {{ series: string, code: string, iv: Uint8Array, sealed: Uint8Array }} Memo */

const DATABASE = "warner-memo";
const MEMOS = "memos"; // by the question and the code of the answer
const KEYS = "keys";
const INSTALLATION = "installation";

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

/**
 * One transaction, which is over only when its data are written.
 *
 * @template T
 * @param {string} name of the store.
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => Promise<T>} act
 * @returns {Promise<T>}
 */
async function transaction(name, mode, act) {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => {
    const memos = opening.result.createObjectStore(MEMOS, { keyPath: ["series", "code"] });
    memos.createIndex("series", "series");
    opening.result.createObjectStore(KEYS);
  };
  const db = await finished(opening);
  try {
    const open = db.transaction(name, mode, { durability: "strict" });
    const over = new Promise((resolve, reject) => {
      open.oncomplete = () => resolve(undefined);
      open.onabort = () => reject(open.error ?? new Error("aborted"));
    });
    over.catch(() => {});
    let result;
    try {
      result = await act(open.objectStore(name));
    } catch (error) {
      open.abort();
      throw error;
    }
    await over;
    return result;
  } finally {
    db.close();
  }
}

/** The keys of this browser, made once. @returns {Promise<Keys>} */
function keys() {
  return alone("memo keys", async () => {
    const before = await transaction(KEYS, "readonly", (store) => (
      finished(store.get(INSTALLATION))));
    if (before !== undefined) return before;
    const { subtle } = crypto;
    // They cannot be exported: a script that reads the memo cannot carry it away.
    const [mac, box] = await Promise.all([
      subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]),
      subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]),
    ]);
    const made = /** @type {Keys} */ ({ mac, box });
    return transaction(KEYS, "readwrite", async (store) => {
      const first = await finished(store.get(INSTALLATION)); // of a browser without locks
      if (first === undefined) await finished(store.add(made, INSTALLATION));
      return first ?? made;
    });
  });
}

const bytesOf = (/** @type {string} */ text) => new TextEncoder().encode(text);

/**
 * The name of a question and its permanent reports, the same in every round.
 *
 * @param {Warner} warner
 * @param {any} question
 * @returns {Promise<string>}
 */
async function seriesOf(warner, { name, domain, program }) {
  const text = JSON.stringify([name, domain, program.memo]); // the survey's keys are sorted
  const hash = await crypto.subtle.digest("SHA-256", bytesOf(`warner memo question\n${text}`));
  return warner.hexadecimal(new Uint8Array(hash));
}

/**
 * Where the permanent report on an answer is kept.
 *
 * @param {Warner} warner
 * @param {any} question
 * @param {unknown} answer
 * @returns {Promise<{ series: string, code: string }>}
 */
async function placeOf(warner, question, answer) {
  const series = await seriesOf(warner, question);
  const value = JSON.stringify(warner.encode(question, answer));
  const { mac } = await keys();
  const code = await crypto.subtle.sign("HMAC", mac, bytesOf(`warner memo value\n${series}\n${value}`));
  return { series, code: warner.hexadecimal(new Uint8Array(code)) };
}

/**
 * A question with the program of its reports, which stands in that of all questions where one is drawn.
 *
 * @param {Warner} warner
 * @param {any} survey
 * @param {any} question
 */
function withProgram(warner, survey, question) {
  return { ...question, program: warner.programsOf(survey, question.name)[0] };
}

/**
 * On how many different answers a device reports at most.
 *
 * @param {any} survey
 * @param {any} question
 */
function mostOf(survey, { program }) {
  return Math.min(survey.repeat.values, program.size);
}

/**
 * Whether a device may report on an answer: it has a permanent report on it, or room for one more.
 *
 * @param {Warner} warner
 * @param {any} survey
 * @param {any} question
 * @param {unknown} answer
 * @returns {Promise<boolean>}
 */
export async function hasRoom(warner, survey, question, answer) {
  const asked = withProgram(warner, survey, question);
  const { series, code } = await placeOf(warner, asked, answer);
  return transaction(MEMOS, "readonly", async (store) => {
    if (await finished(store.getKey([series, code])) !== undefined) return true;
    return await finished(store.index("series").count(series)) < mostOf(survey, asked);
  });
}

/**
 * Whether this browser has a permanent report on any question of a survey.
 *
 * @param {Warner} warner
 * @param {any} survey
 * @returns {Promise<boolean>}
 */
export async function hasMemo(warner, survey) {
  const all = await Promise.all(survey.questions.map((/** @type {any} */ question) => (
    seriesOf(warner, withProgram(warner, survey, question)))));
  return transaction(MEMOS, "readonly", async (store) => {
    const counts = await Promise.all(all.map((series) => (
      finished(store.index("series").count(series)))));
    return counts.some((count) => count > 0);
  });
}

/**
 * The permanent report on each answer: those that are kept, and for other answers new ones, which
 * are kept before this returns. All of them, or none where one has no room.
 *
 * @param {Warner} warner
 * @param {any} survey
 * @param {{ readonly [name: string]: unknown }} answers to all questions, or to the one that was drawn.
 * @param {number} [block] what was drawn. Where a code says it, the first code says it for all rounds.
 * @returns {Promise<{ [name: string]: Uint8Array }>} the record of each question.
 */
export async function permanentReports(warner, survey, answers, block) {
  if (block !== undefined && await drawnOnce(warner.nameOfDraw(survey), () => block) !== block) {
    throw refusal("memo_other");
  }
  const { box } = await keys();
  const asked = survey.questions.filter((/** @type {any} */ { name }) => (
    survey.program === undefined || Object.hasOwn(answers, name)));
  const made = await Promise.all(asked.map(async (/** @type {any} */ one) => {
    const question = withProgram(warner, survey, one);
    const { memo } = question.program;
    const place = await placeOf(warner, question, answers[question.name]);
    const record = warner.sample(memo, warner.encode(question, answers[question.name]));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt(boxed(place, iv), box, record);
    return { question, memo: { ...place, iv, sealed: new Uint8Array(sealed) } };
  }));
  // One transaction: two tabs that come at the same moment get the same permanent reports.
  const memos = await transaction(MEMOS, "readwrite", async (store) => {
    const all = [];
    for (const { question, memo } of made) {
      const before = await finished(store.get([memo.series, memo.code]));
      if (before === undefined) {
        const count = await finished(store.index("series").count(memo.series));
        if (count >= mostOf(survey, question)) throw refusal("memo_full", question.name);
        await finished(store.add(memo));
      }
      all.push(before ?? memo);
    }
    return /** @type {Memo[]} */ (all);
  });
  const records = await Promise.all(memos.map(async ({ series, code, iv, sealed }) => {
    try {
      return new Uint8Array(await crypto.subtle.decrypt(
        boxed({ series, code }, iv), box, new Uint8Array(sealed),
      ));
    } catch {
      throw refusal("memo_altered"); // or of another browser
    }
  }));
  return Object.fromEntries(made.map(({ question }, i) => [question.name, records[i]]));
}

/**
 * @param {{ series: string, code: string }} place
 * @param {Uint8Array} iv
 */
function boxed({ series, code }, iv) {
  return { name: "AES-GCM", iv, additionalData: bytesOf(`${series}:${code}`) };
}

const RULES = {
  memo_full: "would be one answer more than values in [repeat] lets a device report, so nothing was sent",
  memo_other: "the code asks another question than the one on which this device reports in all rounds",
  memo_altered: "a permanent report of this device was changed, or is of another browser",
};

/**
 * @param {keyof typeof RULES} code
 * @param {string} [name] of the question that is refused.
 */
function refusal(code, name) {
  const place = name === undefined ? "" : `${name}: `;
  return Object.assign(new Error(`${code}: ${place}${RULES[code]}`), { code, place: name });
}
