// Reports from a page of your own: the answers are randomised once, kept, and sent until they arrive.
//
//     import { send } from "https://survey.example.org/send.js";
//     await send({ theme: "dark" });
//
// The origin of the page stands in origins of [collect]. The module asks the collector that it was
// loaded from, and no other address.

import * as warner from "./warner.js";
import { add, alone, drawnOnce, read, remove, send as sendKept, sendUnkept } from "./outbox.js";
import { permanentReports } from "./memo.js";

/** @typedef {import("./outbox.js").Sealed} Sealed */

const FIRST_WAIT = 2_000; // milliseconds between the first two tries; it doubles
const LONGEST_WAIT = 300_000;
const GIVES_UP = 7 * 24 * 3_600_000; // after the answers were randomised

/** @type {Promise<any> | undefined} */
let reading;

/**
 * The survey of the collector that this module was loaded from, read once and checked.
 *
 * @param {string | null} [digest] of the survey document, which it must then have.
 * @returns {Promise<any>}
 */
export function survey(digest = null) {
  reading ??= (async () => {
    const reply = await fetch(new URL("study.json", import.meta.url), { credentials: "omit" });
    return warner.readSurvey(await reply.arrayBuffer(), digest);
  })();
  reading.catch(() => { reading = undefined; }); // without a connection: read it later
  return reading;
}

/**
 * Send the answers of this person once: they are randomised at the first call, and whoever calls
 * again sends the same bytes, until they have arrived. So it can be called at every visit.
 *
 * @param {Readonly<Record<string, unknown>>} answers by the names of the questions.
 * @param {object} [settings]
 * @param {Readonly<Record<string, unknown>>} [settings.public] by the names of public columns.
 * @param {string} [settings.code] the invitation code, where the survey asks for one.
 * @param {string | null} [settings.digest] of the survey document, 64 hexadecimal digits.
 * @param {AbortSignal} [settings.signal] ends the waiting; what is kept is sent at the next call.
 * @returns {Promise<import("./outbox.js").Outcome | "given-up">} "sent", or why it never will be.
 */
export async function send(answers, settings = {}) {
  const { signal } = settings;
  const asked = await survey(settings.digest ?? null);
  let sealed = await alone("seal", () => sealedOnce(asked, answers, settings));
  const kept = await read(sealed.key).then((found) => found !== undefined, () => false);
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    if (sealed.state === "pending") {
      sealed = kept
        ? (await sendKept(sealed.key)).sealed ?? sealed
        : await sendUnkept({ ...sealed, tried: true }, () => ({ ...sealed, tried: true }));
    }
    if (sealed.state === "sent") return "sent";
    const { outcome, made = 0 } = sealed;
    const waits = outcome === null || ["unavailable", "busy", "not-open"].includes(outcome);
    if (!waits) return outcome;
    if (Date.now() - made > GIVES_UP) {
      await remove(sealed.key).catch(() => {});
      return "given-up";
    }
    await later(wait, signal);
    if (signal?.aborted) return outcome ?? "unavailable";
  }
}

/**
 * The sealed report of this person: the one that is kept, or a new one, kept before it is sent.
 *
 * @param {any} asked the survey.
 * @param {Readonly<Record<string, unknown>>} answers
 * @param {{ public?: Readonly<Record<string, unknown>>, code?: string }} settings
 * @returns {Promise<Sealed>}
 */
async function sealedOnce(asked, answers, settings) {
  const { code } = settings;
  const key = code === undefined ? asked.study : `${asked.study}:${await digestOf(code)}`;
  const before = await read(key).catch(() => undefined);
  if (before !== undefined) return before;
  let block;
  if (asked.program !== undefined) {
    const draw = () => warner.drawBlock(asked.program);
    block = code === undefined
      ? await drawnOnce(asked.study, draw).catch(draw) : await warner.blockOfCode(asked, code);
  }
  const names = block === undefined
    ? Object.keys(answers) : warner.blocks(asked.program)[block].attributes;
  const own = Object.fromEntries(names.map((name) => [name, answers[name]]));
  const memos = asked.repeat === undefined
    ? undefined : await permanentReports(warner, asked, own);
  const person = { answers: own, block, public: settings.public, code, memos };
  const body = warner.body(asked, [await warner.seal(asked, /** @type {any} */ (person))]);
  /** @type {Sealed} */
  const sealed = {
    key, study: asked.study, spent: {}, state: "pending", body, tried: false, outcome: null,
    reason: "", made: Date.now(),
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
