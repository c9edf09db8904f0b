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
  if (event.request.method === "GET" && ours) event.respondWith(fresh(event, url));
});

/**
 * A file from the server, or as it was when there was a connection.
 *
 * @param {any} event
 * @param {URL} url
 */
async function fresh(event, url) {
  const { request } = event;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), LONGEST_WAIT);
  try {
    const { signal } = patience;
    // A page may not be fetched again as a navigation, so its address is.
    const reply = request.mode === "navigate"
      ? await fetch(url, { signal, credentials: "omit", cache: "no-cache" })
      : await fetch(request, { signal });
    // A reply can stop in its middle. Half of a page is worse than the one that was kept.
    await reply.clone().arrayBuffer();
    if (reply.ok) event.waitUntil(store(url, reply.clone()));
    return reply;
  } catch (error) {
    const isPage = url.pathname === home.pathname;
    const found = await caches.match(url) ?? (isPage ? await caches.match(home) : undefined);
    if (found) return found;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Keep a file for times without a connection, where the browser has room for it.
 *
 * @param {URL} url
 * @param {Response} reply
 */
async function store(url, reply) {
  try {
    const cache = await caches.open(CACHE);
    await cache.put(url, reply);
  } catch {
    // The page works without it, as long as there is a connection.
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
  for (const { key, due = 0 } of waiting) {
    if (due > Date.now()) throw new Error("not due yet");
    const { sealed } = await send(key);
    const later = sealed?.outcome === "unavailable" || sealed?.outcome === "busy";
    if (sealed?.state === "pending" && later) throw new Error("not sent yet");
  }
}
