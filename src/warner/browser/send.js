// Reports from a page of your own: the answers are randomised once, kept, and sent until they arrive.
//
//     import { send } from "https://survey.example.org/send.js";
//     await send({ theme: "dark" });
//
// The origin of the page stands in origins of [collect]. The module asks the collector that it was
// loaded from, or the one that `collector` names, and no other address.

import * as device from "./warner.js";
import {
  add, alone, ask, delayOf, drawnOnce, exchange, forgetCover, read, remove, send as sendKept,
  sendUnkept, status,
} from "./outbox.js";
import { permanentReports } from "./memo.js";

/** @typedef {import("./outbox.js").Sealed} Sealed */

/** @type {any} what the module has; its types stand in its own sources. */
const warner = device;

const FIRST_WAIT = 2_000; // milliseconds between the first two tries; it doubles
const LONGEST_WAIT = 300_000;
const GIVES_UP = 7 * 24 * 3_600_000; // after the answers were randomised

const SETTINGS = ["collector", "public", "code", "digest", "signal"];
const WAITS = ["unavailable", "busy", "not-open"];

/** @type {Map<string, ArrayBuffer>} what each collector served last, for a page without a connection. */
const served = new Map();

/**
 * The survey of a collector, read and checked at each call: the collector may have come to the next
 * round while the page is open.
 *
 * @param {string | null} [digest] of the survey document, which it must then have.
 * @param {string} [collector] its address; without one, that of this file.
 * @returns {Promise<any>}
 */
export async function survey(digest = null, collector = import.meta.url) {
  if (!/^https?:\/\/[^/]/i.test(collector)) {
    const rule = 'must be the web address of the survey, such as "https://survey.example.org"';
    throw new warner.Refusal("malformed", "collector", rule);
  }
  let bytes = served.get(collector);
  try {
    const reply = await fetch(new URL("study.json", collector), { cache: "no-cache", credentials: "omit" });
    const now = await reply.arrayBuffer();
    // A proxy of a collector that is down says so with a page of its own.
    if (reply.ok || bytes === undefined) bytes = now;
  } catch (cause) {
    const { origin } = new URL(collector);
    const rule = "cannot be reached, and this page has not read the survey before. Nothing was sent; call again later";
    if (bytes === undefined) {
      throw Object.assign(new TypeError(`${origin}: ${rule}.`, { cause }), { code: "unavailable" });
    }
  }
  const read = await warner.readSurvey(/** @type {ArrayBuffer} */ (bytes), digest).catch((/** @type {any} */ error) => {
    // A bundle lies at the app's own address, which serves no survey.
    const isOwn = collector === import.meta.url && error.place === "survey" && error.code === "malformed";
    if (!isOwn) throw error;
    const { origin } = new URL(collector);
    const rule = `must be given, because ${origin}, from which this file was loaded, serves no survey`;
    throw new warner.Refusal("malformed", "collector", rule);
  });
  served.set(collector, /** @type {ArrayBuffer} */ (bytes)); // and not the page on which a network asks people to log in
  return read;
}

/**
 * Send the answers of this person once: they are randomised at the first call, and whoever calls
 * again sends the same bytes, until they have arrived. So it can be called at every visit.
 *
 * With an invitation code the collector is asked first whether the code was used, or an issuer
 * exchanges it for a token, and nothing is randomised before there is an answer.
 *
 * @param {Readonly<Record<string, unknown>>} answers by the names of the questions, and of no
 *   others: to all questions, or to those of one block where the person was asked these alone. Items
 *   are questions with the answers "yes" and "no". All of them are checked first, also those to
 *   questions that are not drawn.
 * @param {object} [settings]
 * @param {string} [settings.collector] its address, where this file is not loaded from it.
 * @param {Readonly<Record<string, unknown>>} [settings.public] by the names of public columns.
 * @param {string} [settings.code] the invitation code, where the survey asks for one.
 * @param {string | null} [settings.digest] of the survey document, 64 hexadecimal digits.
 * @param {AbortSignal} [settings.signal] ends the waiting; what is kept is sent at the next call.
 * @returns {Promise<import("./outbox.js").Outcome | "already" | "given-up">} "sent"; "already" where
 *   an earlier call has sent this person's answers to this study, so that these were not; "closed";
 *   or why they never will be.
 * @throws {TypeError} with the code "unavailable": the survey cannot be read, and was not before.
 */
export async function send(answers, settings = {}) {
  for (const name of Object.keys(settings)) {
    if (SETTINGS.includes(name)) continue;
    throw new warner.Refusal("malformed", name, `is unknown to send, which takes ${SETTINGS.join(", ")}`);
  }
  if (typeof location === "undefined") {
    // Each call would make another report, because nothing of the first one is kept.
    const rule = 'is for pages in browsers. In Node.js, import send from "warner-survey/node"';
    throw new warner.Refusal("malformed", "send", rule);
  }
  const { code, signal } = settings;
  const address = settings.collector?.replace(/\/?$/, "/");
  const asked = await survey(settings.digest ?? null, address);
  // Whatever was drawn or sent before: each device refuses a wrong answer at once.
  checkAnswers(asked, answers);
  warner.publicIndices(asked, settings.public ?? {});
  const key = code === undefined ? asked.study : `${asked.study}:${await digestOf(code)}`;
  const before = await read(key).catch(() => undefined);
  // What arrived before is not sent again, and "sent" would hide that new answers were not.
  if (before?.state === "sent") return "already";
  // For a survey that is closed nothing is made, and what it refused before is not sent again.
  if (before === undefined || before.outcome === "closed") {
    const now = await repeated(() => status(address), signal);
    if (now !== "open") return before !== undefined && await givesUp(before) ? "given-up" : now;
  }
  let token;
  if (code !== undefined && before === undefined) {
    const question = async () => {
      const answer = asked.access === "tokens"
        ? await exchange(warner, asked, code, key) : await ask(warner, asked, code, address);
      if ("token" in answer) ({ token } = answer);
      return answer.outcome;
    };
    const outcome = await repeated(question, signal);
    if (outcome !== "unspent") return outcome;
  }
  const person = { ...settings, address, token };
  let sealed = await alone("seal", () => sealedOnce(key, asked, answers, person));
  const kept = await read(key).then((found) => found !== undefined, () => false);
  if (kept && token !== undefined) await forgetCover(key).catch(() => {});
  const early = (sealed.due ?? 0) - Date.now();
  if (kept && sealed.state === "pending" && early > 0) await over(early, signal);
  if (signal?.aborted) return sealed.outcome ?? "unavailable";
  return repeated(async () => {
    if (sealed.state === "pending") {
      sealed = kept
        ? (await sendKept(key)).sealed ?? sealed
        : await sendUnkept({ ...sealed, tried: true }, () => ({ ...sealed, tried: true }));
    }
    if (sealed.state === "sent") return "sent";
    return await givesUp(sealed) ? "given-up" : sealed.outcome ?? "unavailable";
  }, signal);
}

/**
 * Whether a report has waited for too long; it is then forgotten.
 *
 * @param {Sealed} sealed
 */
async function givesUp({ key, made = 0 }) {
  if (Date.now() - made <= GIVES_UP) return false;
  await remove(key).catch(() => {});
  return true;
}

/**
 * Refuse an answer that its question does not have, and a question that has none, also where the
 * question was not drawn: an app that forgets one is refused on each device. Who was asked only the
 * questions of one block has answers to these alone.
 *
 * @param {any} asked the survey.
 * @param {Readonly<Record<string, unknown>>} answers
 */
function checkAnswers(asked, answers) {
  const { questions, program } = asked;
  warner.checkNames(asked, answers);
  const names = Object.keys(answers);
  const ofBlock = program !== undefined && warner.blocks(program).some(
    (/** @type {any} */ { attributes }) => attributes.length === names.length
      && names.every((name) => attributes.includes(name)),
  );
  for (const question of questions) {
    if (ofBlock && !names.includes(question.name)) continue;
    warner.indexOf(question, warner.given(question, answers));
  }
}

/**
 * Try until there is an outcome that stays, with longer and longer waits between.
 *
 * @template {string} T
 * @param {() => Promise<T>} attempt
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>} the last outcome.
 */
async function repeated(attempt, signal) {
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const outcome = await attempt();
    if (!WAITS.includes(outcome)) return outcome;
    await later(wait, signal);
    if (signal?.aborted) return outcome;
  }
}

/**
 * The sealed report of this person: the one that is kept, or a new one, kept before it is sent.
 *
 * @param {string} key of its record.
 * @param {any} asked the survey.
 * @param {Readonly<Record<string, unknown>>} answers
 * @param {{
 *   public?: Readonly<Record<string, unknown>>, code?: string, address?: string, token?: Uint8Array,
 * }} settings
 * @returns {Promise<Sealed>}
 */
async function sealedOnce(key, asked, answers, settings) {
  const { code, address, token } = settings;
  const before = await read(key).catch(() => undefined);
  if (before !== undefined) return before;
  let block;
  if (asked.program !== undefined) {
    const draw = () => warner.drawBlock(asked.program);
    // Without storage a survey of one round is answered all the same. With rounds, a device that
    // forgets its question would spend epsilon on another one in each.
    const instead = asked.repeat === undefined ? draw : undefined;
    block = code === undefined
      ? await drawnOnce(warner.nameOfDraw(asked), draw).catch(instead)
      : await warner.blockOfCode(asked, code);
  }
  const names = block === undefined
    ? Object.keys(answers) : warner.blocks(asked.program)[block].attributes;
  const own = Object.fromEntries(names.map((/** @type {string} */ name) => [name, answers[name]]));
  const memos = asked.repeat === undefined
    ? undefined : await permanentReports(warner, asked, own, block);
  const person = { answers: own, block, public: settings.public, code, token, memos };
  const body = warner.body(asked, [await warner.seal(asked, /** @type {any} */ (person))]);
  /** @type {Sealed} */
  const sealed = {
    key, study: asked.study, spent: {}, state: "pending", body, tried: false, outcome: null,
    reason: "", made: Date.now(), ...delayOf(asked), ...(address === undefined ? {} : { collector: address }),
  };
  await add(sealed).catch(() => {}); // a browser that keeps nothing sends it while the page is open
  return await read(key).catch(() => undefined) ?? sealed;
}

/** @param {string} code */
async function digestOf(code) {
  const bytes = new TextEncoder().encode(`warner note\n${warner.plainCode(code)}`);
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return warner.hexadecimal(new Uint8Array(hash).slice(0, 16));
}

/**
 * A wait that is over when it is over, or given up.
 *
 * @param {number} wait milliseconds.
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function over(wait, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, wait);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * A wait, spread so that not all devices come back in one moment; over at a new connection.
 *
 * @param {number} wait milliseconds.
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function later(wait, signal) {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener("online", over);
      resolve();
    };
    const timer = setTimeout(over, wait * (0.75 + Math.random() / 2));
    addEventListener("online", over);
    signal?.addEventListener("abort", over);
  });
}
