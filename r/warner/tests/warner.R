# The frames agree with the CSV files that the same commands write, and mistakes are errors.
library(warner)

program <- getOption("warner.program", Sys.getenv("WARNER", Sys.which("warner")[[1]]))
# R CMD check states folders of libraries, which are not those of the program.
shell <- function(...) {
  status <- system2("env", c("-u", "LD_LIBRARY_PATH", shQuote(c(program, ...))), stdout = FALSE, stderr = FALSE)
  stopifnot(status == 0)
}
near <- function(a, b) stopifnot(isTRUE(all.equal(a, b, tolerance = 1e-12, check.attributes = FALSE)))
refused <- function(words, call) {
  said <- tryCatch({ force(call); "nothing" }, error = conditionMessage)
  if (!grepl(words, said, fixed = TRUE)) stop("expected: ", words, ", got: ", said)
}
SHAPE <- c("term", "estimate", "std.error", "conf.low", "conf.high")

folder <- tempfile("folder with blanks ")
dir.create(folder)
setwd(folder)
writeLines(c(
  "[public.ward]", 'values = ["north", "the \\"south\\""]',
  "[attributes.smokes]", 'values = ["never", "sometimes", "often"]',
  'mechanism = "RandomizedResponse"', "epsilon = 1.0",
  "[attributes.age]", "integers = [18, 30]", 'mechanism = "SquareWave"', "epsilon = 2.0"
), "study.toml")
set.seed(1)
people <- data.frame(
  smokes = sample(c("never", "sometimes", "often"), 2000, TRUE, c(7, 2, 1)),
  age = sample(18:30, 2000, TRUE), ward = sample(c("north", 'the "south"'), 2000, TRUE)
)
write.csv(people, "answers.csv", row.names = FALSE)
shell("randomize", "study.toml", "answers.csv", "-o", "reports.parquet", "--seed", "2")
shell("tally", "reports.parquet", "-o", "tally.json")
shell("tally", "reports.parquet", "--by", "ward", "-o", "groups.json")

# Estimates.
shell("estimate", "tally.json", "--level", "0.9", "-o", "shares.csv")
shares <- suppressMessages(warner_estimate("tally.json", level = 0.9))
written <- read.csv("shares.csv")
frame <- as.data.frame(shares)
stopifnot(identical(names(frame)[1:6], c("attribute", SHAPE)), nrow(frame) == 16)
stopifnot(identical(frame$term, written$value), identical(frame$attribute, written$attribute))
near(frame[c("estimate", "conf.low", "conf.high")], written[c("estimate", "low", "high")])
near(unname(coef(shares)), written$estimate)
near(confint(shares)["smokes:often", ], unlist(written[3, c("low", "high")]))
stopifnot(identical(colnames(confint(shares)), c("5 %", "95 %")), nobs(shares) == 2000)
refused("Pass level = 0.95 to warner_estimate", confint(shares, level = 0.95))
# Randomised response of three values at epsilon 1: the error of n reports, from its formula.
share <- unlist(lapply(shares$json[[1]]$unbiased, `[[`, "estimate"))
p <- exp(1) / (exp(1) + 2)
q <- 1 / (exp(1) + 2)
report <- q + (p - q) * share
near(signif(frame$std.error[1:3], 6), signif(sqrt(report * (1 - report) / 2000) / (p - q), 6))
stopifnot(is.na(frame$std.error[4:16]))
summaries <- suppressMessages(warner_estimate("tally.json", only = "age", summary = c("mean", "above:25")))
stopifnot(identical(as.data.frame(summaries)$term[14:15], c("mean", "share above 25")))

# Groups, and their differences.
apart <- suppressMessages(as.data.frame(warner_estimate("groups.json", by = "ward", only = "smokes")))
stopifnot(identical(unique(apart$ward), c("north", 'the "south"')), nrow(apart) == 6)
shell("estimate", "groups.json", "--by", "ward", "--only", "smokes", "-o", "apart.csv")
near(apart$std.error, read.csv("apart.csv")$error)
stopifnot(apart$std.error > 0)
shell("estimate", "groups.json", "--compare-groups", "--only", "smokes", "-o", "differences.csv")
differences <- suppressMessages(warner_estimate("groups.json", compare_groups = TRUE, only = "smokes"))
written <- read.csv("differences.csv")
near(as.data.frame(differences)[c("estimate", "std.error", "conf.low", "p.value", "p.adjusted")],
     written[c("difference", "error", "low", "p", "p_holm")])

# A regression.
shell("regress", "reports.parquet", "smokes ~ ward", "-o", "fit.csv")
written <- read.csv("fit.csv")
fit <- suppressMessages(warner_regress("reports.parquet", smokes ~ ward))
frame <- as.data.frame(fit)
stopifnot(identical(names(frame)[1:6], c("y.level", SHAPE)))
stopifnot(identical(frame$term[c(1, 3)], rep("(Intercept)", 2)))
near(frame[c("estimate", "std.error", "conf.low", "conf.high", "p.value")],
     written[c("estimate", "error", "low", "high", "p")])
near(AIC(fit), 2 * 4 - 2 * fit$json$log_likelihood)
near(sqrt(diag(vcov(fit))), frame$std.error)
stopifnot(identical(rownames(vcov(fit)), names(coef(fit))))
refused("only a regression has a covariance matrix", vcov(shares))
stopifnot(identical(fit$json, suppressMessages(warner_regress("reports.parquet", "smokes ~ ward"))$json))

# What people said on paper, from a data frame. Numbers of a model that R fits itself: with a design
# whose draw hardly changes an answer, the coefficients are close to those of glm on the answers.
people$said <- ifelse(people$smokes == "never", "no", "yes")
said <- warner_regress(people, said ~ age, design = "warner:999999/1000000")
direct <- glm(said == "yes" ~ age, binomial, people)
stopifnot(all(abs(coef(said) - coef(direct)) < 1e-3), nrow(as.data.frame(said)) == 2)
stopifnot(all(abs(as.data.frame(said)$std.error - sqrt(diag(vcov(direct)))) < 1e-4))
# The first level of a factor is the one that others are compared with, as in R.
people$half <- relevel(factor(ifelse(people$age < 24, "early", "late")), ref = "late")
said <- as.data.frame(warner_regress(people, said ~ half, design = "warner:999999/1000000"))
stopifnot(identical(said$term, c("(Intercept)", "half[T.early]")))
pairs <- warner_regress(people, ~ said + age, design = "said=warner:999999/1000000", correlation = TRUE)
stopifnot(abs(coef(pairs) - cor(people$said == "yes", people$age)) < 1e-3)

# Counts need no file: crosswise, of which same is .68, is (.68 - .75) / (.25 - .75).
counts <- warner_estimate(design = "crosswise:1/4", counts = c(same = 680, different = 320))
stopifnot(abs(coef(counts)[["yes"]] - 0.14) < 1e-6)
stopifnot(abs(as.data.frame(counts)$std.error - sqrt(.68 * .32 / 1000) / .5) < 1e-6)
said <- table(rep(c("same", "different"), c(680, 320)))
stopifnot(identical(coef(warner_estimate(design = "crosswise:1/4", counts = said)), coef(counts)))
refused("yes", warner_estimate(design = "crosswise:1/4", counts = c(yes = 680, no = 320)))

# A plan of a study and of a draft, and an audit.
writeLines(c("[attributes.smokes]", 'values = ["no", "yes"]', "epsilon = 1"), "draft.toml")
writeLines(c(readLines("draft.toml"), 'mechanism = "RandomizedResponse"'), "whole.toml")
plan <- as.data.frame(warner_plan("whole.toml"))
stopifnot("RandomizedResponse" %in% plan$term, plan$error > 0)
draft <- as.data.frame(suppressMessages(warner_plan("draft.toml", people = 3000)))
stopifnot(draft$epsilon == 1, draft$proposed, draft$people > 100)
cards <- as.data.frame(warner_plan(design = c("crosswise:1/4", "warner:2/3"), people = 300))
stopifnot(identical(cards$term, c("crosswise:1/4", "warner:2/3")))
stopifnot(abs(cards$width - 2 * 1.96 * .5 / sqrt(300) / c(.5, 1 / 3)) < 1e-3)
audit <- as.data.frame(warner_audit("study.toml"))
stopifnot(identical(audit$term, c("smokes", "age")), audit$epsilon <= audit$requested, audit$holds)
simulated <- as.data.frame(suppressMessages(warner_audit("reports.parquet")))
stopifnot(!simulated$holds, grepl("simulated", simulated$violation))

# Mistakes.
refused("none.json: does not exist", warner_estimate("none.json"))
refused("No such option '--colour'", warner_estimate("tally.json", colour = "red"))
refused("options must be named", warner_estimate("tally.json", 0.9))
writeLines(c("[attributes.a]", "vals = 3", "[attributes.b]", "epsilon = -1"), "wrong.toml")
refused("line 4", warner_plan("wrong.toml"))
options(warner.program = "")
refused("pip install", warner_audit("study.toml"))
options(warner.program = program)

# As packages of R ask for results.
if (requireNamespace("generics", quietly = TRUE)) {
  stopifnot(identical(generics::tidy(fit), as.data.frame(fit)))
  stopifnot(generics::glance(fit)$nobs == 2000, nrow(generics::glance(shares)) == 2)
}
stopifnot(identical(capture.output(print(fit))[1], capture.output(fit)[1]))
