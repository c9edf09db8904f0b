// The service worker of the survey page: the page opens without a connection, and what is sealed
// and saved is sent when the connection is back, even if the page is closed.

import { SYNC, all, send } from "./outbox.js";

const CACHE = "warner-survey";
const LONGEST_WAIT = 5_000; // milliseconds, before a kept file is taken instead
const LONGEST_RELOAD = 15_000; // until the page has to be back

const worker = /** @type {any} */ (globalThis);
const home = new URL("./", import.meta.url);
const FILES = ["", "survey.css", "survey.js", "form.js", "steps.js", "outbox.js", "memo.js",
  "warner.js", "study.json", "brand.css", "logo"];
const kept = new Set(FILES.map((name) => new URL(name, home).pathname));

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const url = new URL(event.request.url);
  const ours = url.origin === home.origin && kept.has(url.pathname);
  if (event.request.method === "GET" && ours) event.respondWith(fresh(event.request, url));
});

/**
 * A file from the server, or as it was when there was a connection.
 *
 * @param {Request} request
 * @param {URL} url
 */
async function fresh(request, url) {
  const cache = await caches.open(CACHE);
  try {
    const signal = AbortSignal.timeout(LONGEST_WAIT);
    // A page may not be fetched again as a navigation, so its address is.
    const reply = request.mode === "navigate"
      ? await fetch(url, { signal, credentials: "omit", cache: "no-cache" })
      : await fetch(request, { signal });
    if (reply.ok) await cache.put(url, reply.clone()).catch(() => {});
    return reply;
  } catch (error) {
    const isPage = url.pathname === home.pathname;
    const found = await cache.match(url) ?? (isPage ? await cache.match(home) : undefined);
    if (found) return found;
    throw error;
  }
}

// Answers of a page that is loaded again: in this memory alone, for seconds, each for its tab.
/** @type {Map<string, unknown>} */
const held = new Map();

worker.addEventListener("message", (/** @type {any} */ event) => {
  const { keep, take } = event.data;
  if (take !== undefined) {
    event.ports[0].postMessage(held.get(take) ?? null);
    held.delete(take);
  } else if (keep !== undefined) {
    const answers = event.data.held;
    held.set(keep, answers);
    event.waitUntil(new Promise((resolve) => {
      setTimeout(() => {
        if (held.get(keep) === answers) held.delete(keep);
        resolve(undefined);
      }, LONGEST_RELOAD);
    }));
  }
});

worker.addEventListener("sync", (/** @type {any} */ event) => {
  if (event.tag === SYNC) event.waitUntil(sendAll());
});

/** Send what waits. An error asks the browser to come back later. */
async function sendAll() {
  const waiting = (await all()).filter(({ state, outcome }) => (
    state === "pending" && [null, "unavailable", "busy"].includes(outcome)));
  for (const { key } of waiting) {
    const { sealed } = await send(key);
    const later = sealed?.outcome === "unavailable" || sealed?.outcome === "busy";
    if (sealed?.state === "pending" && later) throw new Error("not sent yet");
  }
}
