// Makes the browser half: `node build.mjs` writes src/warner/browser/warner.js from its modules, and
// `node build.mjs FOLDER` lays the npm package out in a folder, where `npm pack` packs it.

import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const browser = join(root, "src/warner/browser");
const [folder] = process.argv.slice(2);

const NOTE = "// One file, made from modules/ by `make browser-module`; comments and types stand there.";

/** The text of one file that holds a module and all that it imports. */
function built() {
  const entry = join(browser, "modules/index.js");
  const { outputFiles } = buildSync({
    entryPoints: [entry], bundle: true, format: "esm", target: "es2022", charset: "utf8",
    write: false, absWorkingDir: browser,
  });
  const [head] = readFileSync(entry, "utf8").split("\n\nexport");
  return `${head}\n//\n${NOTE}\n// @ts-nocheck\n\n${outputFiles[0].text}`;
}

writeFileSync(join(folder ?? browser, "warner.js"), built());
if (folder !== undefined) {
  const about = JSON.parse(readFileSync(join(browser, "package.json"), "utf8"));
  const scripts = about.files.filter((name) => name.endsWith(".js") && name !== "warner.js");
  for (const name of scripts) cpSync(join(browser, name), join(folder, name));
  for (const path of [join(browser, "package.json"), join(browser, "README.md"), join(root, "LICENSE")]) {
    cpSync(path, join(folder, basename(path)));
  }
  for (const name of ["modules", "node"]) cpSync(join(browser, name), join(folder, name), { recursive: true });
  const compiler = join(here, "node_modules/typescript/bin/tsc");
  const sources = ["modules/index.js", ...scripts].map((name) => join(folder, name));
  execFileSync(process.execPath, [
    compiler, ...sources, "--ignoreConfig", "--allowJs", "--declaration", "--emitDeclarationOnly",
    "--lib", "es2022,dom", "--target", "es2022", "--module", "esnext",
    "--moduleResolution", "bundler", "--types", "", "--rootDir", folder,
    "--outDir", join(folder, "types"),
  ], { stdio: "inherit" });
}
