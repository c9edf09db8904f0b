// send() in Node, without the storage of a browser: which answers it refuses, and what it sends.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const [{ served }, ...cases] = JSON.parse(
  readFileSync(new URL("../vectors/draws.json", import.meta.url), "utf8")).cases;

const folder = mkdtempSync(join(tmpdir(), "warner-"));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "package.json"), '{"type": "module"}');
for (const name of ["warner.js", "send.js", "outbox.js", "memo.js"]) {
  cpSync(new URL(`../../src/warner/browser/${name}`, import.meta.url), join(folder, name));
}
const at = (name) => import(pathToFileURL(join(folder, name)));
globalThis.location = {}; // as in a page
const { send, survey } = await at("send.js");
const warner = await at("warner.js");

/**
 * A collector that serves `text()`, or cannot be reached where this is null, and is `open`, `closed` or
 * `not_open` by `status()`; the bodies it takes.
 */
async function collecting(text, act, status = () => "open") {
  const [bodies, real] = [[], globalThis.fetch];
  globalThis.fetch = async (url, request) => {
    if (text() === null) throw new TypeError("fetch failed");
    if (url.pathname.endsWith("study.json")) return new Response(text());
    if (url.pathname.endsWith("healthz")) return Response.json({ status: status() });
    bodies.push(request.body);
    const now = status();
    if (now === "closed") return Response.json({ error: "closed" }, { status: 410 });
    if (now === "slow") return Response.json({ error: "slow" }, { status: 408 });
    return Response.json({ accepted: 1 }, { status: 202 });
  };
  try {
    await act();
  } finally {
    globalThis.fetch = real;
  }
  return bodies;
}

const ANSWERS = { smokes: "café", drinks: 7, fit: null };
const PUBLIC = { ward: "north" };

/** What the bodies of reports are, and how many words were drawn, while `act` runs. */
async function watched(access, act) {
  const text = served.replace('"access":"invited"', `"access":"${access}"`);
  const [bodies, real] = [[], { fetch: globalThis.fetch, random: crypto.getRandomValues }];
  let drawn = 0;
  if (globalThis.navigator === undefined) globalThis.navigator = {};
  globalThis.fetch = async (url, request) => {
    if (url.pathname.endsWith("study.json")) return new Response(text);
    if (url.pathname.endsWith("spent")) return Response.json({ spent: 0 });
    if (url.pathname.endsWith("healthz")) return Response.json({ status: "open" });
    bodies.push(request.body);
    return Response.json({ accepted: 1 }, { status: 202 });
  };
  crypto.getRandomValues = (array) => {
    drawn += 1;
    return real.random.call(crypto, array);
  };
  try {
    await act(`https://${access}.example.org/`);
  } finally {
    globalThis.fetch = real.fetch;
    crypto.getRandomValues = real.random;
  }
  return { bodies, drawn };
}

const WRONG = [
  ["smokes", "Café"], ["smokes", null], ["smokes", undefined], ["drinks", 21], ["drinks", "7"],
  ["fit", "yes"], ["wine", 7],
];

for (const [name, answer] of WRONG) {
  test(`send: ${name} is never ${answer}, whichever question is drawn`, async () => {
    const { bodies, drawn } = await watched("open", async (collector) => {
      for (let i = 0; i < 20; i += 1) {
        await assert.rejects(
          send({ ...ANSWERS, [name]: answer }, { collector, public: PUBLIC }),
          (error) => error.code === "bad_answer" && error.place === name,
        );
      }
    });
    assert.equal(bodies.length, 0);
    assert.equal(drawn, 0);
  });
}

for (const { code, block, answers } of cases.filter((one) => one.code !== undefined).slice(0, 4)) {
  test(`send: the block ${block} of the code ${code}, with other answers and without them`, async () => {
    const { bodies } = await watched("invited", async (collector) => {
      for (const given of [{ ...ANSWERS, ...answers }, answers]) {
        assert.equal(await send(given, { collector, code, public: PUBLIC }), "sent");
      }
    });
    const survey = warner.checkSurvey(JSON.parse(served));
    for (const body of bodies) {
      assert.equal(body.length, 36 + warner.submissionLength(survey));
      assert.equal(warner.blockOf(survey, body.slice(36)), block);
    }
    assert.equal(bodies.length, 2);
  });
}

for (const [only, left, words] of [
  [{}, "smokes", "has no answer"],
  [{ fit: true, drinks: undefined }, "drinks", "has no answer: null says that the person gave none"],
  [{ smokes: "café" }, "drinks", "has no answer: null says that the person gave none"],
  [{ ...ANSWERS, fit: undefined }, "fit", "has no answer: null says that the person gave none"],
]) {
  test(`send: without ${left}, given ${Object.keys(only)}, no device sends`, async () => {
    // Rejects a program that misses an answer only where its question is drawn.
    const { bodies, drawn } = await watched("open", async (collector) => {
      for (let i = 0; i < 20; i += 1) {
        await assert.rejects(
          send(only, { collector, public: PUBLIC }),
          (error) => error.code === "bad_answer" && error.place === left && error.message.endsWith(`${words}.`),
        );
      }
    });
    assert.equal(bodies.length, 0);
    assert.equal(drawn, 0);
  });
}

test("send: an answer to a question of the block is asked for", async () => {
  const { code, answers } = cases[0];
  const { bodies } = await watched("invited", async (collector) => {
    const [left] = Object.keys(answers);
    const { [left]: _, ...others } = { ...ANSWERS, ...answers };
    await assert.rejects(
      send(others, { collector, code, public: PUBLIC }), (error) => error.code === "bad_answer",
    );
  });
  assert.equal(bodies.length, 0);
});

test("send: an open page asks which study the collector has now", async () => {
  // Rejects a page that reads the survey once: the next week gets no report from it.
  const collector = "https://weeks.example.org/";
  const first = served.replace('"access":"invited"', '"access":"open"');
  const second = first.replace(warner.checkSurvey(JSON.parse(first)).layout, "5".repeat(64));
  let text = first;
  const bodies = await collecting(() => text, async () => {
    assert.equal(await send(ANSWERS, { collector, public: PUBLIC }), "sent");
    text = second;
    assert.equal(await send(ANSWERS, { collector, public: PUBLIC }), "sent");
  });
  const layouts = bodies.map((body) => Buffer.from(body.slice(4, 36)).toString("hex"));
  assert.deepEqual(layouts, [first, second].map((one) => JSON.parse(one).layout));
});

test("survey: without a connection it is the one that was read last", async () => {
  // Rejects a page that forgets the survey when its connection breaks, or when a network asks for a
  // login, and one that fetches nothing.
  const collector = "https://offline.example.org/";
  let text = served;
  await collecting(() => text, async () => {
    const before = await survey(null, collector);
    text = null;
    assert.deepEqual(await survey(null, collector), before);
    text = "<p>Log in</p>";
    await assert.rejects(survey(null, collector));
    text = null;
    assert.deepEqual(await survey(null, collector), before);
    await assert.rejects(survey(null, "https://never.example.org/"), TypeError);
  });
});

test("send: each call checks the digest of the survey that it gives", async () => {
  // Rejects a program that checks only the digest of its first call.
  const collector = "https://digest.example.org/";
  const text = served.replace('"access":"invited"', '"access":"open"');
  const digest = await warner.surveyDigest(new TextEncoder().encode(text));
  const bodies = await collecting(() => text, async () => {
    for (const given of [null, digest]) {
      assert.equal(await send(ANSWERS, { collector, public: PUBLIC, digest: given }), "sent");
    }
    await assert.rejects(
      send(ANSWERS, { collector, public: PUBLIC, digest: "000" }), (error) => error.code === "altered",
    );
  });
  assert.equal(bodies.length, 2);
});

/** The storage of a browser, as far as outbox.js and memo.js use it, while `act` runs. */
async function keeping(act) {
  const stores = { outbox: new Map(), draws: new Map(), memos: new Map(), keys: new Map() };
  const soon = (request, result) => {
    request.result = result;
    setTimeout(() => request.onsuccess?.());
    return request;
  };
  const store = (records) => ({
    get: (key) => soon({}, records.get(String(key))),
    index: () => ({
      count: (series) => soon({}, [...records.values()].filter((one) => one.series === series).length),
    }),
    add: (record, key = record.key ?? `${record.series},${record.code}`) => soon({}, records.set(key, record)),
    put: (record) => soon({}, records.set(record.key, record)),
    delete: (key) => soon({}, records.delete(key)),
  });
  const db = {
    transaction: (name) => {
      const open = { objectStore: () => store(stores[name]), abort() {} };
      setTimeout(() => open.oncomplete?.(), 20);
      return open;
    },
    close() {},
  };
  globalThis.indexedDB = { open: () => soon({}, db) };
  try {
    await act(stores.outbox);
  } finally {
    delete globalThis.indexedDB;
  }
}

const OPEN = served.replace('"access":"invited"', '"access":"open"');

test("send: of a closed survey nothing is made and nothing is sent", async () => {
  // Rejects a program that randomises the answers and sends the report before it hears of the closing.
  const collector = "https://closed.example.org/";
  await keeping(async (records) => {
    const bodies = await collecting(() => OPEN, async () => {
      for (let i = 0; i < 2; i += 1) {
        assert.equal(await send(ANSWERS, { collector, public: PUBLIC }), "closed");
      }
    }, () => "closed");
    assert.deepEqual([bodies.length, records.size], [0, 0]);
  });
});

test("send: a report that a closing refused is sent again when the survey is open again", async () => {
  // Rejects a program that sends it at every call, and one that never sends it.
  const collector = "https://closes.example.org/";
  await keeping(async (records) => {
    let states = ["open", "closed", "closed", "closed"]; // open when it is asked first, and closed then
    const bodies = await collecting(() => OPEN, async () => {
      const one = { collector, public: PUBLIC };
      for (let i = 0; i < 2; i += 1) assert.equal(await send(ANSWERS, one), "closed");
      assert.equal(records.size, 1);
      states = ["open"];
      assert.equal(await send(ANSWERS, one), "sent");
    }, () => (states.length > 1 ? states.shift() : states[0]));
    assert.equal(bodies.length, 2);
    assert.deepEqual(bodies[0], bodies[1]);
  });
});

test("send: a report that arrived too slowly is sent again", async () => {
  // Rejects a program that says "rejected" on a bad connection, and whose report is lost.
  const collector = "https://slow.example.org/";
  Object.assign(globalThis, { addEventListener: (_, over) => over(), removeEventListener: () => {} });
  try {
    await keeping(async () => {
      const states = ["open", "slow", "slow", "open"];
      const bodies = await collecting(() => OPEN, async () => {
        assert.equal(await send(ANSWERS, { collector, public: PUBLIC }), "sent");
      }, () => states.shift());
      assert.equal(bodies.length, 3);
      assert.equal(new Set(bodies.map((body) => body.toString())).size, 1);
    });
  } finally {
    delete globalThis.addEventListener;
    delete globalThis.removeEventListener;
  }
});

test("send: a report to a survey that stays closed is given up after a week", async () => {
  const collector = "https://week.example.org/";
  await keeping(async (records) => {
    const key = JSON.parse(OPEN).study;
    records.set(key, { key, study: key, state: "pending", outcome: "closed", body: new Uint8Array(9), made: 1 });
    await collecting(() => OPEN, async () => {
      assert.equal(await send(ANSWERS, { collector, public: PUBLIC }), "given-up");
    }, () => "closed");
    assert.equal(records.size, 0);
  });
});

for (const [columns, name, words] of [
  [undefined, "ward", 'ward: is a public column and has no value: pass it in public, as { public: { "ward": ... } }.'],
  [{ ward: null }, "ward", 'ward: is a public column and has no value: pass it in public, as { public: { "ward": ... } }.'],
  [{ ward: "north", extra: 1 }, "extra", "extra: is no public column of the survey: it has ward."],
  [{ ward: "west" }, "ward", 'ward: must be one of "north", "south".'],
]) {
  test(`send: the public columns ${JSON.stringify(columns)}, also where an earlier report was sent`, async () => {
    // Rejects a program that drops what it does not know, and one that says "already" first.
    const collector = "https://columns.example.org/";
    await keeping(async (records) => {
      const key = JSON.parse(OPEN).study;
      for (const state of [undefined, "sent"]) {
        if (state !== undefined) records.set(key, { key, state });
        const bodies = await collecting(() => OPEN, () => assert.rejects(
          send(ANSWERS, { collector, public: columns }),
          (error) => error.code === "bad_answer" && error.place === name && error.message === words,
        ));
        assert.equal(bodies.length, 0);
      }
    });
  });
}

test("send: what it does not know, and what is no address, is named", async () => {
  // Rejects a program that leaves a mistyped setting out.
  const collector = "https://settings.example.org/";
  await collecting(() => OPEN, async () => {
    await assert.rejects(
      send(ANSWERS, { collector, publik: PUBLIC }),
      { message: "publik: is unknown to send, which takes collector, public, code, digest, signal." },
    );
    for (const address of ["127.0.0.1:8000", "localhost:8000", "survey.example.org"]) {
      await assert.rejects(send(ANSWERS, { collector: address, public: PUBLIC }), {
        message: 'collector: must be the web address of the survey, such as "https://survey.example.org".',
      });
    }
  });
});

test("send: a bundle that names no collector is told so", async () => {
  // Rejects: "survey: must be JSON", of the app's own page.
  const text = readFileSync(join(folder, "send.js"), "utf8");
  const own = text.replaceAll("import.meta.url", '"https://app.example.org/assets/app.js"'); // as a bundler does
  writeFileSync(join(folder, "bundled.js"), own);
  const bundled = await at("bundled.js");
  for (const page of ["<!doctype html>", '{"error": "not_found"}']) {
    await collecting(() => page, async () => {
      await assert.rejects(bundled.send(ANSWERS), {
        code: "malformed", place: "collector",
        message: "collector: must be given, because https://app.example.org, from which this file was loaded, "
          + "serves no survey.",
      });
      await assert.rejects(bundled.send(ANSWERS, { collector: "https://survey.example.org" }), {
        code: "malformed", place: "survey",
        message: "survey: must be what a collector serves as study.json, and the address gave something else.",
      });
    });
  }
});

test("send: Node.js, which keeps nothing, is refused", async () => {
  // Rejects a program whose every call sends one more report of the same person.
  const { location } = globalThis;
  delete globalThis.location;
  try {
    const bodies = await collecting(() => OPEN, () => assert.rejects(
      send(ANSWERS, { collector: "https://node.example.org", public: PUBLIC }), {
        code: "malformed", place: "send",
        message: 'send: is for pages in browsers. In Node.js, import send from "warner-survey/node".',
      },
    ));
    assert.equal(bodies.length, 0);
  } finally {
    globalThis.location = location;
  }
});

test("send: a collector that cannot be reached is named", async () => {
  // Rejects: "fetch failed", of which nobody knows what it fetched.
  await collecting(() => null, () => assert.rejects(
    send(ANSWERS, { collector: "https://down.example.org/", public: PUBLIC }),
    (error) => error instanceof TypeError && error.code === "unavailable" && error.message
      === "https://down.example.org: cannot be reached, and this page has not read the survey before. Nothing "
      + "was sent; call again later.",
  ));
});

test("memo: an answer for which there is no room names its question, and no answer", async () => {
  // Rejects: "the answer to a question", of which a survey has many.
  const [{ served: text }] = JSON.parse(
    readFileSync(new URL("../vectors/rounds.json", import.meta.url), "utf8")).cases;
  const rounds = warner.checkSurvey(JSON.parse(text));
  const { permanentReports } = await at("memo.js");
  const answers = { drinks: null, hours: 1, place: [0, 0], fit: true };
  await keeping(async () => {
    for (const smokes of ["nie", "oft"]) await permanentReports(warner, rounds, { ...answers, smokes });
    await assert.rejects(permanentReports(warner, rounds, { ...answers, smokes: "café" }), {
      code: "memo_full", place: "smokes",
      message: "memo_full: smokes: would be one answer more than values in [repeat] lets a device report, so "
        + "nothing was sent",
    });
  });
});
