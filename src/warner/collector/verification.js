// What `warner collect verify` runs inside a page: of the collector, and of its own copy of warner.js.

(() => {
  /** Two answers to a question that are far apart. */
  const extremes = (question) => {
    const { domain } = question;
    if (domain.kind === "categorical") return [domain.values[0], domain.values.at(-1)];
    if (domain.kind !== "grid") return [domain.low, domain.high];
    const without = (domain.without ?? []).map(String);
    const cells = [];
    for (let i = 0; i < domain.rows * domain.columns; i += 1) {
      const cell = [Math.floor(i / domain.columns), i % domain.columns];
      if (!without.includes(String(cell))) cells.push(cell);
    }
    return [cells[0], cells.at(-1)];
  };

  const read = async (served, digest) => {
    const warner = await import("./warner.js");
    return { warner, survey: await warner.readSurvey(new TextEncoder().encode(served), digest) };
  };

  return {
    /** How a submission looks; a survey that must be refused throws. */
    async facts({ served, digest }) {
      const { warner, survey } = await read(served, digest);
      return { layout: survey.layout, length: warner.submissionLength(survey) };
    },

    /** How often each byte of a report had each value, and each report, for each answer drawn. */
    async draw({ served, digest, draws, milliseconds }) {
      const { warner, survey } = await read(served, digest);
      const named = (name) => survey.questions.find((question) => question.name === name);
      const two = (name) => extremes(named(name));
      // In several rounds, each report drawn here is of a device with a permanent report of its own.
      const memoOf = (name, program, i) => program.memo
        && warner.sample(program.memo, warner.encode({ ...named(name), program }, two(name)[i]));
      const drawn = survey.program === undefined
        ? survey.questions.map((question) => ({
          name: question.name,
          make: (i) => warner.randomize(
            question, two(question.name)[i], memoOf(question.name, question.program, i),
          ),
        }))
        : warner.blocks(survey.program).slice(0, 10).map(({ attributes, program }, block) => ({
          name: attributes.join(", "),
          make: (i) => warner.randomizeBlock(
            survey, block, Object.fromEntries(attributes.map((name) => [name, two(name)[i]])),
            { [attributes[0]]: memoOf(attributes[0], program, i) },
          ),
        }));
      const results = [];
      for (const { name, make } of drawn) {
        for (const i of [0, 1]) {
          const last = performance.now() + milliseconds / (2 * drawn.length);
          const { length } = make(i);
          const bytes = Array.from({ length }, () => new Array(256).fill(0));
          const reports = new Map();
          let n = 0;
          for (; n < draws / (2 * drawn.length); n += 1) {
            if (n % 256 === 0 && performance.now() > last) break;
            const report = make(i);
            report.forEach((byte, j) => { bytes[j][byte] += 1; });
            const key = String(report);
            if (reports.has(key) || reports.size < 4096) reports.set(key, (reports.get(key) ?? 0) + 1);
          }
          // Where reports are too many to be listed, their bytes speak.
          const listed = reports.size < 4096 ? Object.fromEntries(reports) : null;
          results.push({ name, n, bytes, reports: listed });
        }
      }
      return results;
    },

    /** Answer every question that is shown, with the first or the last answer. */
    answer({ served, last, code }) {
      const { questions, public: columns } = JSON.parse(served);
      const asked = new Map([...questions, ...columns].map((one) => [one.name, one]));
      const set = (control, value) => {
        if (control.type === "radio" || control.type === "checkbox") control.checked = true;
        else control.value = value;
        for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
      };
      for (const field of document.querySelectorAll("#questions fieldset")) {
        if (field.hidden) continue;
        const question = asked.get(field.dataset.question);
        const controls = [...field.querySelectorAll("input:not([id$=silence]), select")];
        if (question === undefined) set(controls[0], code);
        else if (field.dataset.kind === "choice" && controls[0].type === "radio") {
          set(controls[last ? question.domain.values.length - 1 : 0]);
        } else if (field.dataset.kind === "choice") {
          set(controls[0], String(last ? question.domain.values.length - 1 : 0));
        } else if (field.dataset.kind === "date") set(controls[0], last ? "2026-07-01" : "2026-01-05");
        else {
          const answer = extremes(question)[last ? 1 : 0];
          controls.forEach((control, i) => set(control, String([answer].flat()[i])));
        }
      }
    },

    /** The names of what the page keeps in this browser. */
    async stored() {
      const databases = (await indexedDB.databases()).map(({ name }) => name);
      return {
        databases,
        session: Object.keys(sessionStorage),
        local: Object.keys(localStorage),
        cookie: document.cookie,
      };
    },
  };
})()
