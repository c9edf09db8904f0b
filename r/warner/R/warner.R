# The door to the program warner: each function runs one of its commands with --json, and reads what
# it prints. All statistics are made there.

# The program: the option warner.program, the environment variable WARNER, or what the PATH has.
program <- function() {
  path <- getOption("warner.program", Sys.getenv("WARNER", Sys.which("warner")[[1]]))
  if (!nzchar(path)) {
    stop("warner: the program is not installed. In a shell: pip install \"warner[cli]\". ",
         "Elsewhere than on the PATH: options(warner.program = \"/path/to/warner\")", call. = FALSE)
  }
  path
}

# Options of a call as words of the command line: smallest_group = 5 is --smallest-group 5, TRUE is
# the flag alone, several values repeat the option, and values with names are one list of NAME=VALUE.
words_of <- function(options) {
  unlist(Map(function(name, value) {
    flag <- paste0("--", gsub("_", "-", name, fixed = TRUE))
    if (is.null(value) || identical(value, FALSE)) return(NULL)
    if (isTRUE(value)) return(flag)
    texts <- vapply(value, format, "", digits = 15, trim = TRUE, scientific = FALSE)
    if (!is.null(names(value))) texts <- paste(names(value), texts, sep = "=", collapse = ",")
    as.vector(rbind(flag, texts))
  }, names(options), options), use.names = FALSE)
}

# The environment of a program that is no part of R: R puts folders of libraries before all others, and
# a Python with libraries of its own then loads those of the system, or fails.
environment_of_program <- function() {
  lines <- "COLUMNS=10000"
  if (.Platform$OS.type != "unix") return(lines)
  ask <- '. "$R_HOME/etc/ldpaths"; printf %s "$R_LD_LIBRARY_PATH"'
  added <- paste(system2("sh", c("-c", shQuote(ask)), stdout = TRUE), collapse = "")
  path <- Sys.getenv("LD_LIBRARY_PATH")
  while (nzchar(added) && startsWith(path, added)) {  # an R that another R started has them twice
    path <- sub("^:", "", substring(path, nchar(added) + 1))
  }
  c(lines, paste0("LD_LIBRARY_PATH=", shQuote(path)))
}

# What a command prints, as data. Its notes become messages, its errors errors.
run <- function(command, files, options, arguments = NULL, allowed = 0L) {
  if (length(options) && (is.null(names(options)) || !all(nzchar(names(options))))) {
    stop("warner: options must be named, as in level = 0.9", call. = FALSE)
  }
  notes <- tempfile("notes")
  on.exit(unlink(notes))
  if (is.data.frame(files)) {
    table <- tempfile("data", fileext = ".csv")
    on.exit(unlink(table), add = TRUE)
    utils::write.csv(files, table, row.names = FALSE, na = "", fileEncoding = "UTF-8")
    files <- table
  }
  words <- c(command, path.expand(as.character(files)), arguments, words_of(options), "--json")
  printed <- suppressWarnings(
    system2(program(), shQuote(words), stdout = TRUE, stderr = notes,
            env = environment_of_program())
  )
  said <- readLines(notes, encoding = "UTF-8", warn = FALSE)
  status <- attr(printed, "status")
  text <- paste(printed, collapse = "\n")
  if (!is.null(status) && !(status %in% allowed && nzchar(text))) {
    from <- match(TRUE, startsWith(said, "Error: "))
    reason <- if (is.na(from)) c(said, status) else said[from:length(said)]
    stop("warner ", command, ": ", sub("^Error: ", "", paste(reason, collapse = "\n")), call. = FALSE)
  }
  for (note in said[nzchar(said)]) message(note)
  jsonlite::fromJSON(text, simplifyVector = FALSE)
}

# One entry of all rows as a vector: missing where a row lacks it.
entries <- function(rows, name) {
  values <- lapply(rows, function(row) if (is.null(row[[name]])) NA else row[[name]])
  plain <- vapply(values, function(value) length(value) == 1 && !is.list(value), NA)
  values[!plain] <- lapply(values[!plain], jsonlite::toJSON, auto_unbox = TRUE)
  if (any(vapply(values, is.character, NA))) values <- lapply(values, as.character)
  unlist(values, use.names = FALSE)
}

# Rows of JSON as a data frame. `columns` names the entries, as in c(term = "value").
frame <- function(rows, columns, ...) {
  present <- columns[vapply(columns, function(name) {
    any(vapply(rows, function(row) name %in% names(row), NA))
  }, NA)]
  data <- lapply(present, function(name) entries(rows, name))
  data <- c(list(...), data)
  as.data.frame(lapply(data, rep_len, length(rows)), stringsAsFactors = FALSE, optional = TRUE)
}

# Data frames below each other; what a frame lacks is missing.
below <- function(frames) {
  frames <- Filter(function(each) nrow(each) > 0, frames)
  names <- unique(unlist(lapply(frames, names)))
  whole <- lapply(frames, function(each) {
    each[setdiff(names, names(each))] <- NA
    each[names]
  })
  do.call(rbind, whole)
}

# First the columns of a tidy frame, each of them there, then all others.
tidied <- function(frame) {
  shape <- c("estimate", "std.error", "conf.low", "conf.high")
  for (name in setdiff(shape, names(frame))) frame[[name]] <- NA_real_
  frame$term <- as.character(frame$term)
  before <- seq_len(match("term", names(frame)))
  rest <- setdiff(names(frame)[-before], shape)
  rownames(frame) <- NULL
  frame[c(names(frame)[before], shape, rest)]
}

BOUNDS <- c(estimate = "estimate", std.error = "error", conf.low = "low", conf.high = "high")

result <- function(command, frame, json) {
  structure(list(command = command, frame = frame, json = json), class = "warner")
}

# The rows of one estimated question: shares, or means, and then the summaries asked for.
rows_of_estimate <- function(each) {
  name <- if (is.null(each$attribute)) "" else each$attribute
  if (identical(each$format, "warner-groups")) {
    columns <- setNames(unlist(each$columns), unlist(each$columns))
    of_groups <- c(columns, term = "value", BOUNDS, n = "reports", status = "status")
    return(frame(each$shares, of_groups, attribute = name))
  }
  if (identical(each$format, "warner-differences")) {
    columns <- c(group = "group", reference = "reference", term = "value", estimate = "difference",
                 std.error = "error", conf.low = "low", conf.high = "high", p.value = "p", p.adjusted = "p_holm")
    return(frame(each$differences, columns, attribute = name))
  }
  group <- unlist(each$group)
  shares <- frame(each$shares, c(term = "value", BOUNDS, people_about = "people_about"))
  means <- frame(each$mean, BOUNDS)
  if (nrow(means)) means$term <- if (nrow(means) == 1) "mean" else paste("mean", seq_len(nrow(means)))
  all <- below(list(shares, means, frame(each$summaries, c(term = "text", BOUNDS))))
  if (is.null(all)) return(data.frame())
  data.frame(c(list(attribute = name), as.list(group)), all, check.names = FALSE)
}

warner_estimate <- function(tally = NULL, ...) {
  json <- run("estimate", tally, list(...))
  result("estimate", tidied(below(lapply(json, rows_of_estimate))), json)
}

# The first levels of factors that are not the first in the alphabet, as COLUMN=VALUE.
first_levels <- function(data, formula) {
  right <- if (length(formula) == 3) all.vars(formula[[3]]) else character()
  named <- Filter(function(name) is.factor(data[[name]]), intersect(right, names(data)))
  first <- vapply(named, function(name) levels(droplevels(data[[name]]))[1], "")
  alphabetical <- vapply(named, function(name) {
    sort(levels(droplevels(data[[name]])), method = "radix")[1]
  }, "")
  paste(named, first, sep = "=")[first != alphabetical]
}

warner_regress <- function(reports, formula, ...) {
  options <- list(...)
  if (is.data.frame(reports)) {
    first <- tryCatch(first_levels(reports, stats::as.formula(formula)), error = function(e) character())
    columns <- function(texts) sub("=.*", "", texts)
    unnamed <- first[!columns(first) %in% columns(options$reference)]
    if (length(unnamed)) options$reference <- c(options$reference, unnamed)
  }
  if (inherits(formula, "formula")) formula <- paste(deparse(formula, 500L), collapse = " ")
  json <- run("regress", reports, options, formula)
  if (length(json$correlations)) {
    pairs <- c(first = "first", term = "second", BOUNDS)
    return(result("regress", tidied(frame(json$correlations, pairs)), json))
  }
  columns <- c(y.level = "value", term = "covariate", estimate = "estimate", std.error = "error",
               conf.low = "low", conf.high = "high", statistic = "z", p.value = "p")
  coefficients <- frame(json$coefficients, columns)
  coefficients$term[coefficients$term == "Intercept"] <- "(Intercept)"
  result("regress", tidied(coefficients), json)
}

warner_plan <- function(study = NULL, ...) {
  json <- run("plan", study, list(...))
  draft <- c(term = "mechanism", epsilon = "epsilon", share.width = "share_width",
             mean.width = "mean_width", people = "people")
  ranked <- c(term = "mechanism", error = "error", people = "people", influence = "influence",
              default.error = "default_error")
  designed <- c(term = "design", epsilon = "epsilon", share = "share", width = "width",
                people.for.width = "people_for_width", people = "people", power = "power")
  frames <- Map(function(name, each) {
    if (!is.null(each$design)) return(frame(list(each), designed, attribute = name))
    if (is.null(each$offers)) return(frame(each$results, ranked, attribute = name))
    offers <- frame(each$offers, draft, attribute = name)
    offers$proposed <- offers$epsilon == each$best$epsilon & offers$term == each$best$mechanism
    offers
  }, names(json), json)
  result("plan", below(unname(frames)), json)
}

warner_audit <- function(file, ...) {
  json <- run("audit", file, list(...), allowed = c(0L, 1L))
  audits <- json[vapply(json, function(each) !is.null(each$guarantee), NA)]
  columns <- c(mechanism = "mechanism", requested = "requested", epsilon = "epsilon",
               holds = "holds", violation = "violation", guarantee = "guarantee",
               influence = "influence")
  audit <- frame(unname(audits), columns)
  for (name in c("requested", "epsilon")) audit[[name]] <- as.numeric(audit[[name]])
  result("audit", cbind(term = names(audits), audit), json)
}

# ------------------------------------------------------------------------------------------------
# A result, as other packages of R ask for it.

as.data.frame.warner <- function(x, row.names = NULL, optional = FALSE, ...) x$frame

tidy.warner <- function(x, ...) x$frame

print.warner <- function(x, digits = 4L, ...) {
  print(x$frame, digits = digits, row.names = FALSE, ...)
  invisible(x)
}

# One row on the whole: of an estimate one for each question.
glance.warner <- function(x, ...) {
  about <- if (x$command == "regress") list(x$json) else unname(x$json)
  columns <- c(attribute = "attribute", nobs = "n", method = "method", status = "status",
               logLik = "log_likelihood", level = "level")
  frame(about, columns)
}

# The names of numbers: what tells a row from the others.
labels_of <- function(frame) {
  before <- frame[seq_len(match("term", names(frame)))]
  apart <- vapply(before, function(column) length(unique(column)) > 1, NA)
  apart["term"] <- TRUE
  do.call(paste, c(unname(as.list(before[apart])), sep = ":"))
}

coef.warner <- function(object, ...) {
  setNames(object$frame$estimate, labels_of(object$frame))
}

confint.warner <- function(object, parm, level, ...) {
  about <- if (object$command == "regress") object$json else object$json[[1]]
  made <- if (is.null(about$level)) about$interval$level else about$level
  if (!missing(level) && !isTRUE(all.equal(level, made))) {
    stop("warner: the intervals were made with level ", made, ". Pass level = ", level, " to warner_",
         object$command, call. = FALSE)
  }
  ends <- paste(format(100 * c((1 - made) / 2, (1 + made) / 2), trim = TRUE), "%")
  bounds <- as.matrix(object$frame[c("conf.low", "conf.high")])
  dimnames(bounds) <- list(labels_of(object$frame), ends)
  if (missing(parm)) bounds else bounds[parm, , drop = FALSE]
}

# Of the coefficients alone, which come first in the frame; standard deviations have none.
vcov.warner <- function(object, ...) {
  covariance <- object$json$covariance
  if (is.null(covariance)) stop("warner: only a regression has a covariance matrix", call. = FALSE)
  matrix <- do.call(rbind, lapply(covariance$matrix, unlist))
  names <- sub("(^|:)Intercept$", "\\1(Intercept)", unlist(covariance$names))
  dimnames(matrix) <- list(names, names)
  matrix
}

logLik.warner <- function(object, ...) {
  value <- object$json$log_likelihood
  if (is.null(value)) {
    stop("warner: only a regression by likelihood without a survey design has one", call. = FALSE)
  }
  structure(value, df = nrow(object$frame), nobs = object$json$n, class = "logLik")
}

nobs.warner <- function(object, ...) {
  about <- if (object$command == "regress") list(object$json) else unname(object$json)
  entries(about, "n")
}
