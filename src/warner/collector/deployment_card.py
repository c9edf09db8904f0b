"""The deployment card: what is protected, by how much, and who sees what, as JSON data.

Its fields are those that public registries of deployments of differential privacy ask for [1], from
the general ones (who, what for) over flavour, unit and parameters to accounting and implementation.
All numbers come from the integer thresholds that devices sample with.

[1] P. Nanayakkara et al.: Practitioners' Perspectives on a Differential Privacy Deployment
Registry, arXiv 2509.13509; C. Dwork, N. Kohli, D. Mulligan: Differential Privacy in Practice:
Expose your Epsilons!, 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from warner._core.errors import MismatchError, WarnerError
from warner._core.text import at_most
from warner.collector.live.state import LEVEL, LiveView, fewest_new, groups_come_late
from warner.collector.scripts import scripts_digest
from warner.collector.survey_document import (
    Question,
    different,
    draw_of,
    epsilon_of_all,
    questions_of,
)
from warner.design.privacy_words import (
    CHANGED_ALIKE,
    Strength,
    about_public,
    certainty,
    largest,
    odds,
    of_guarantee,
    of_mechanism,
    patterns_of,
)
from warner.design.shuffling import protects_all_alike, shuffled
from warner.mechanisms import Mechanism, OneOf
from warner.mechanisms.one_of import of_changed_answers
from warner.privacy.guarantees import Guarantee
from warner.reports.public_columns import SMALLEST_GROUP
from warner.studies.public import described as values_of
from warner.studies.study import Study

FORMAT, SCHEMA = "warner-deployment-card", 1

_IN_EACH_ROUND = " in each round, on the same question in all of them"


def deployment_card(study: Study, view: LiveView | None = None) -> dict[str, Any]:
    """The deployment card of a study that is served.

    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> card = deployment_card(study)
    >>> card["privacy"]["model"], card["privacy"]["epsilon_per_person"] <= 1.0
    ('local', True)
    >>> card["questions"][0]["in_words"][0][:51]
    'Of 100 people whose answer is “yes”, 73 send “yes”.'
    """
    collect, questions, draw = study.collect, list(questions_of(study)), draw_of(study)
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "deployment": {
            "title": study.title,
            "curator": collect.contact or None,
            "intended_use": study.texts.introduction(study.languages[0]) or None,
            "data_product": (
                "Estimates, with intervals, of how the answers to "
                f"{_counted(len(questions), 'question')} are distributed. Also the counts of "
                "randomised reports from which these estimates are computed."
            ),
            "region": None,
            "publication_date": None,
        },
        "privacy": _privacy(study),
        "design": None if draw is None else _design(draw, study),
        "questions": [_question(question, study) for question in questions],
        "unprotected": _unprotected(study, questions),
        "accounting": {
            "composition": (
                "The epsilons of the questions are added, and their sum is rounded up: this is "
                "basic composition. Each answer is changed with its own random numbers."
                if draw is None
                else (
                    f"Each person sends one report{_IN_EACH_ROUND * (study.round is not None)}. "
                    "The answers have no influence on which questions are chosen. Each choice of "
                    "questions has an epsilon, and the largest of these is the epsilon of the "
                    "study. Asking a person only some questions does not make epsilon smaller."
                )
            ),
            "repeats": (
                "Each submission is made once. If it has to be sent again, exactly the same bytes "
                "are sent. The id in these bytes makes sure that the submission counts once. So "
                "sending a submission again does not add to epsilon."
            ),
            "another_survey": (
                "If somebody answers this survey again on another device, or answers the same "
                "question in another survey, the two epsilons add up."
            ),
            "post_processing": (
                "Estimates are computed only from the counts of reports. So nothing that is done "
                "with the estimates weakens the guarantee."
            ),
            **({} if study.round is None else {"rounds": _rounds(study)}),
            "amplification": _amplification(study),
        },
        "who_sees_what": _who_sees_what(study, view),
        "retention": _retention(study),
        "publication": _publication(study, view),
        "implementation": {
            "software": "warner",
            "version": software_version(),
            "scripts_sha256": scripts_digest(),
            "randomness": "the device's cryptographic random number generator, 64 bits at a time",
            "arithmetic": (
                "Devices compare random 64-bit integers with fixed thresholds, which are integers "
                "too. No floating-point number decides what is sent, so epsilon is computed "
                "exactly from the thresholds."
            ),
            "check": (
                "The device computes from the thresholds how much each report can tell, and "
                "refuses a study if its reports tell more than the study says."
            ),
        },
        "study": {"sha256": study.digest, "languages": list(study.languages)},
    }


_SHUFFLED_DELTA = 1e-6
_WORTH_SAYING = 0.9  # the largest part of epsilon at which a step counts as better protection


def _rounds(study: Study) -> str:
    """What all reports of a person tell in a survey of several rounds."""
    of_all = epsilon_of_all(study)
    to_one = "" if draw_of(study) is None else " to the person's one question"
    return (
        f"This is round {study.round} of {study.rounds}. Each person's browser keeps a permanent "
        f"report on each answer{to_one}. In every round, the browser randomises this permanent "
        "report once more, and sends the result. While answers stay the same, all reports of "
        f"{study.rounds} rounds together have an epsilon of at most "
        f"{at_most(study.epsilon_of_rounds, 4)}. If answers change, epsilon is at most "
        f"{at_most(of_all, 4)} for any number of rounds. This larger epsilon compares two people "
        "whose answers change, and change back, in the same rounds. Whether and when an answer "
        "changed is not hidden in the long run. Whoever takes part in two browsers, or deletes "
        "what a browser keeps, tells more about their answers."
    )


def _amplification(study: Study) -> str:
    """What is promised against who sees only published steps, where people hide among all."""
    against_all = "The guarantee above holds against the collector itself."
    step, mechanisms = study.collect.step, list(study.mechanisms.values())
    guarantees = [mechanism.guarantee for mechanism in mechanisms]
    if (
        study.public
        or study.groups
        or study.round is not None  # a person is in a step of each round
        or not 1 < step < 1 / _SHUFFLED_DELTA
        or not all(protects_all_alike(promised) for promised in guarantees)
    ):
        return f"{against_all} Against others, no stronger guarantee is claimed."
    crowds = [shuffled(mechanism, step, _SHUFFLED_DELTA) for mechanism in mechanisms]
    epsilon = sum(crowd.epsilon for crowd in crowds)
    steps = f"{against_all} Results are published in steps of {step:,} reports."
    if not epsilon < _WORTH_SAYING * sum(promised.total for promised in guarantees):
        return f"{steps} Against others, such small steps hardly protect people better."
    return (
        f"{steps} Somebody who sees only the published results, and sent no report, learns less "
        f"about a person in such a step: epsilon is at most {epsilon:.3g}, with delta "
        f"{_SHUFFLED_DELTA * len(crowds):.6f}. The last step, at the closing, can have fewer "
        "people, even only one person. For people in this last step, only the guarantee above "
        "holds."
    )


def _counted(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"


def software_version() -> str:
    """The version of the installed package."""
    try:
        return version("warner")
    except PackageNotFoundError:
        return "unknown"


def _finite(value: float) -> float | None:
    """A number as JSON has it; None for infinity."""
    return value if math.isfinite(value) else None


def _flavour(guarantee: Guarantee) -> str:
    """The kind of differential privacy, by what the guarantee bounds."""
    if math.isinf(guarantee.total):
        return "no protection: a report can show the answer"
    if guarantee.delta is not None:
        name = "approximate differential privacy"
    elif guarantee.is_metric:
        name = "metric differential privacy"
    else:
        name = "pure differential privacy"
    return name if guarantee.sensitive is None else f"{name} of sensitive answers only"


def _privacy(study: Study) -> dict[str, Any]:
    """The guarantee of all that a person sends: all questions, and all rounds."""
    in_rounds, also = study.round is not None, []
    try:
        if in_rounds:
            most, together = of_changed_answers(study.permanent)
            also = [CHANGED_ALIKE] if most > 1 else []
        else:
            together = study.guarantee
        flavour = _flavour(together)
        seen = f"all reports of a person{' in all rounds' if in_rounds else ''}"
        words = [*of_guarantee(together, seen, several=True), *also]
    except MismatchError:
        flavours = dict.fromkeys(_flavour(m.guarantee) for m in study.mechanisms.values())
        flavour = "; ".join(flavours)
        words = [
            "No single statement covers all questions together. Read the statement on each "
            "question."
        ]
    epsilon, spent = epsilon_of_all(study), study.spent
    of_rounds = {
        "epsilon_per_round": spent["epsilon"],
        "epsilon_of_rounds_if_answers_stay": spent["epsilon_of_rounds"],
    }
    return {
        "model": "local",
        "flavour": flavour,
        "unit": (
            "one person, with all answers of "
            f"{'all rounds, even if the answers change' if in_rounds else 'one submission'}"
        ),
        "neighbouring": "any other answers of this person to all questions",
        "epsilon_per_person": _finite(epsilon),
        **(of_rounds if in_rounds else {}),
        "delta_per_person": study.delta,
        "budget": study.budget,
        "odds_per_person": odds(epsilon),
        "certainty_per_person": certainty(epsilon, study.delta),
        "in_words": words,
    }


def _design(draw: OneOf, study: Study) -> dict[str, Any]:
    """Which questions a person is asked, with the exact odds."""
    sizes = sorted({len(block) for block in draw.blocks})
    how_many = " or ".join(map(str, sizes))
    count = len(draw.domain.attributes)
    words = [
        f"Each person is asked {how_many} of {count} questions, chosen by chance with the odds "
        "below. The choice is made before anything is asked, so no answer affects it. A person "
        "who skips a question, reloads the page or comes back is asked the same questions."
    ]
    if study.collect.has_codes:
        words.append(
            "The questions of a person are computed from the invitation code, and are the same on "
            "every device. Whoever knows a code can compute these questions. Whoever gives out "
            "the codes could choose a code for a person, and with it the questions."
        )
    elif study.round is not None:
        words.append(
            "The browser stores the choice for all rounds. A browser that stores nothing cannot "
            "take part."
        )
    else:
        words.append(
            "The browser stores the choice. A browser that stores nothing chooses again whenever "
            "the page is reloaded, and the page says so. With such a browser, people can reload "
            "until they like the questions."
        )
    blocks = [
        {"questions": list(block), "odds": hex(width), "share": width / 2**64}
        for block, width in zip(draw.blocks, draw.odds, strict=True)
    ]
    return {"in_words": words, "odds_of": hex(2**64), "blocks": blocks}


def _words(mechanism: Mechanism, question: Question) -> list[str]:
    """What a report tells of an answer, as sentences."""
    if mechanism.domain == question.domain:
        return of_mechanism(mechanism)
    return of_guarantee(mechanism.guarantee, "a report on it and other questions together")


def _question(question: Question, study: Study) -> dict[str, Any]:
    """What is known of one question."""
    several = different(question.mechanisms)
    mechanism = max(several, key=lambda one: one.guarantee.total)
    promised, name = mechanism.guarantee, question.name
    return {
        "name": name,
        "text": study.labels.get(name, name),
        "domain": question.domain.spec(),
        "mechanism": ", ".join(dict.fromkeys(type(one).__name__ for one in several)),
        "references": [str(key) for key in getattr(mechanism, "references", ())],
        "flavour": _flavour(promised),
        "epsilon_requested": _finite(mechanism.requested),
        "epsilon_per_report": _finite(promised.epsilon),
        "epsilon_between_any_answers": _finite(promised.total),
        "delta": promised.delta,
        "sensitive": None if promised.sensitive is None else list(promised.sensitive),
        "silence": (
            "people can leave this question unanswered, and this is protected like an answer"
            if question.domain.nonresponse is not None
            else "people must answer this question"
        ),
        "in_words": list(dict.fromkeys(said for one in several for said in _words(one, question))),
        "reports": [line for one in several for line in patterns_of(one)],
        "odds_exactly": _odds(mechanism),
        "report_weight": question.weight,
    }


def _odds(mechanism: Mechanism) -> dict[str, Any] | None:
    """The largest ratio of probabilities of a report, as the exact fraction of the thresholds."""
    try:
        program = mechanism.device_program()
    except WarnerError:
        return None
    fraction = program.get("odds")
    return None if fraction is None else {**fraction, "at_most": program.get("odds_at_most")}


def _unprotected(study: Study, questions: Sequence[Question]) -> list[str]:
    """What epsilon says nothing about."""
    in_all = "" if study.round is None else " in all rounds together"
    sentences = [
        "The fact that somebody took part is not protected.",
        "The network and the running collector see the internet address that sent a report. To "
        "limit abuse, the collector holds the address in memory for at most ten minutes, scrambled "
        "(as a salted hash). It writes the address nowhere.",
    ]
    sentences += [
        f'The answers to "{question.name}" are hardly hidden: epsilon between two answers is '
        f"{largest(question.promised).total:.4g}{in_all}."
        for question in questions
        if question.strength is Strength.NONE
    ]
    if (draw := draw_of(study)) is not None:
        fewest = study.collect.step * min(draw.odds) / 2**64
        sentences.append(
            "It is not hidden which questions a person was asked: the report names these "
            f"questions, unchanged. Of the {study.collect.step:,} reports of a published step, "
            f"about {fewest:.2g} are on the questions that are chosen least often. Whoever "
            "compares the results of two steps sees what these reports added. If these reports "
            "are few, only epsilon protects each of them."
        )
    if study.public:
        columns = [f"{name} ({values_of(d)})" for name, d in study.public.items()]
        sentences.append(about_public(columns))
    if study.collect.access == "invited":
        sentences.append(
            "Invitation codes: the collector records that a code was used. Whoever sent the codes "
            "to people, and also runs the collector, can see whose submission arrives, but not the "
            "answers."
        )
    if (tokens := study.collect.tokens) is not None:
        sentences.append(
            "Invitation codes: the issuer records that a code was exchanged for a token. Nothing "
            "in a report is computed from the code. But whoever runs both the issuer and the "
            "collector, or has copies of both stores, can see which codes and which reports were "
            "added at about the same time, and so may guess which report belongs to which code. "
            "Whoever watches both programs while they run can also compare internet addresses and "
            "times. Each "
            f"report waits for a random time, at most {tokens.wait:,} seconds, which makes this "
            "harder but not impossible. So the issuer and the collector must be run by two "
            "parties who do not work together."
        )
    return sentences


def _who_sees_what(study: Study, view: LiveView | None) -> dict[str, str]:
    """What each party sees of a person."""
    public = ", the public columns" if study.public else ""
    number = "the random id of the report"
    if study.collect.tokens is not None:
        number = "the token, which does not show whose it is"
    return {
        "device": (
            "the answers, until they are randomised; then the randomised report, until it is sent"
        ),
        "network": "that an encrypted submission (HTTPS) of fixed length is sent, and when",
        "collector_process": (
            f"each randomised report{_drawn(study)}{public}, {number}, and the internet address "
            "of the sender. The address is kept for at most ten minutes, and only scrambled"
        ),
        "collector_store": f"counts of reports{' by public columns' if study.public else ''}, and "
        "random ids, in an order that does not show when a report was sent",
        "owner": (
            f"counts and estimates in steps of {study.collect.step:,} "
            f"reports{_owner_sees_groups(study, view)}; between steps, how many people are "
            "counted, and how many requests were refused for which reason"
        ),
        "public": "what the owner publishes",
        **({} if study.collect.tokens is None else {"issuer": _ISSUER}),
    }


_ISSUER = (
    "the invitation codes, which codes were exchanged, and from which internet address. The "
    "issuer sees no report, and nothing by which a report could be recognised"
)


def _drawn(study: Study) -> str:
    """What is seen of the draw, after a comma; "" where everybody is asked everything."""
    return "" if draw_of(study) is None else ", the names of the questions that it answers"


def _owner_sees_groups(study: Study, view: LiveView | None) -> str:
    """What the owner sees of groups by public columns, after a comma; "" where there are none."""
    if not study.public:
        return ""
    step = None if view is None else view.step
    if groups_come_late(study) if step is None else step.late_groups:
        return ", and, once the survey has closed, of the groups by public columns"
    few = fewest_new(study.collect.step)
    return (
        f" (each step adds either no report or at least {few} reports to a group by public columns)"
    )


def _retention(study: Study) -> dict[str, str]:
    """What is kept, and for how long."""
    closing = (
        "until the survey closes"
        if study.collect.keep_ids == "closed"
        else "after the survey closes as well"
    )
    return {
        "answers": "never leave the device",
        "reports": "not kept, only added to the counts",
        "ids_of_submissions": f"kept {closing}, so that no submission counts twice",
        "addresses_and_times": "not kept",
        "counts": "until the owner deletes them",
    }


def _publication(study: Study, view: LiveView | None) -> dict[str, Any]:
    """How results are published, and how far the survey is."""
    collect = study.collect
    now = {} if view is None else {"status": view.status, "published_reports": view.n}
    return {
        "planned_people": collect.people,
        "step": collect.step,
        "smallest_group": SMALLEST_GROUP,
        "opens": None if collect.opens is None else collect.opens.isoformat(),
        "closes": None if collect.closes is None else collect.closes.isoformat(),
        "access": collect.access,
        "intervals": (
            f"{100 * LEVEL:g} % intervals, which stay valid however often results are published"
        ),
        **now,
    }
