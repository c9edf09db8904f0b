// Among pages and names with the words of a search, guides come first and the reference last.
const ROOMS = [
  [/^(guides|recipes)\/(?!index)|^(which_door|first_study|study_of_groups|live)$/, 40],
  [/^(concepts\/(?!index)|extending$|designs$)/, 30],
  [/^(study_files|cli|mechanisms|estimators|collector|names)$/, 20],
  [/^(reference|papers)\/|^(changelog|references|methods)$/, 0],
];

var Scorer = {
  // The score of a result: what Sphinx gives, of which a title counts most, and the page's room. Who
  // types the name of a class wants its entry.
  score([page, title, , , score, , kind]) {
    if (kind === "object" && score >= 16 && /[a-z][A-Z]/.test(title.split(".").pop())) return score + 60;
    const room = ROOMS.find(([pattern]) => pattern.test(page));
    return score + (room ? room[1] : 10);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
