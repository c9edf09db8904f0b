// send() in Node, without the storage of a browser: which answers it refuses, and what it sends.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const source = (path) => new URL(`../../src/warner/${path}`, import.meta.url);
const [{ served }, ...cases] = JSON.parse(
  readFileSync(new URL("../vectors/draws.json", import.meta.url), "utf8")).cases;

// The files lie side by side where they are served.
const folder = mkdtempSync(join(tmpdir(), "warner-"));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "package.json"), '{"type": "module"}');
for (const path of ["browser/warner.js", ...["send", "outbox", "memo"].map((name) => `collector/static/${name}.js`)]) {
  cpSync(source(path), join(folder, path.split("/").at(-1)));
}
const at = (name) => import(pathToFileURL(join(folder, name)));
const { send, survey } = await at("send.js");
const warner = await at("warner.js");

/** A collector that serves `text()`, or cannot be reached where this is null; the bodies it takes. */
async function collecting(text, act) {
  const [bodies, real] = [[], globalThis.fetch];
  globalThis.fetch = async (url, request) => {
    if (text() === null) throw new TypeError("fetch failed");
    if (url.pathname.endsWith("study.json")) return new Response(text());
    bodies.push(request.body);
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
