"""A poster of a survey: a page to print, with the address as a QR code."""

from __future__ import annotations

from collections.abc import Mapping

import segno
from markupsafe import Markup

from warner.collector.pages import render
from warner.collector.pages.wording import Words, WordsFile
from warner.collector.survey_document import fingerprint, questions_of
from warner.design.privacy_words import Strength
from warner.studies.study import Study


def poster(study: Study, url: str, translations: Mapping[str, WordsFile] | None = None) -> str:
    """The poster of a study at an address, in all its languages, with the page's fingerprint."""
    hardly = any(question.strength is Strength.NONE for question in questions_of(study))
    parts = [
        {
            "language": language,
            "words": (words := Words(language, translations)),
            "title": study.texts.title(language) or words.plain("untitled"),
            "badge": "badge_hardly" if hardly else "badge",
        }
        for language in study.languages
    ]
    code = Markup(segno.make(url, error="m").svg_inline(omitsize=True, border=2))
    return render(
        "poster",
        parts=parts,
        url=url,
        code=code,
        fingerprint=fingerprint(study),
        is_partly_public=bool(study.public),
    )
